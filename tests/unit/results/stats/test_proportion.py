import pytest

from tare.results.stats.proportion import mcnemar_exact, wilson


@pytest.mark.parametrize(
    ("k", "n", "ends"),
    [
        (81, 263, (0.2553, 0.3662)),
        (15, 148, (0.0624, 0.1605)),
        (0, 20, (0, 0.1611)),
        (1, 29, (0.0061, 0.1718)),
    ],
)
def test_wilson_as_newcombe_tabulates_it(k, n, ends):
    """Newcombe (1998), table I, method 3."""
    found = wilson(k, n)
    assert found.value == k / n
    assert found.interval == pytest.approx(ends, abs=5e-5)
    others = wilson(n - k, n).interval
    assert (1 - others.high, 1 - others.low) == pytest.approx(found.interval)


def test_no_trial_has_no_share():
    assert wilson(0, 0) is None
    with pytest.raises(ValueError, match="3 of 2 is no share"):
        wilson(3, 2)


def test_mcnemar_of_the_transplanted():
    """Fagerland, Lydersen and Laake (2013), table 1: 7 and 1 discordant pairs, exact p = 0.070."""
    assert mcnemar_exact(1, 7) == mcnemar_exact(7, 1) == pytest.approx(0.070, abs=5e-4)


def test_failures_on_both_sides_say_nothing():
    assert mcnemar_exact(0, 0) == 1
    assert mcnemar_exact(4, 4) == 1
    with pytest.raises(ValueError, match="negative"):
        mcnemar_exact(-1, 3)
