import pytest

from tare.results.stats.power import blocks_needed, detectable


@pytest.mark.parametrize("n", [8, 20, 100])
def test_so_many_blocks_are_needed_as_show_an_effect(n):
    assert blocks_needed(0.02, detectable(0.02, n)) == pytest.approx(n, rel=0.03)


def test_without_spread_the_first_look_shows_everything():
    assert detectable(0, 8) == 0
    assert blocks_needed(0, 0.01) == 8
