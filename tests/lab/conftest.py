"""The contract's places and eyes, for stacks in a lab; everything here carries the mark ``lab``.

A place is a module's, not the session's, and with it the lab: two labs at once are too many.
"""

from pathlib import Path

import pytest

from contract.conftest import _place, own_place, settles, traces_fixture
from tare.machines import layer

__all__ = ["own_place", "settles", "traces_fixture"]

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.lab)
            item.add_marker(pytest.mark.needs("lab"))


@pytest.fixture(scope="module")
def place():
    with _place() as made:
        yield made


@pytest.fixture(scope="module")
def open_in_lab(place):
    """Open a stack such as ``lab/kvm``, with settings by layer; gives it and its layers."""

    def open_in_lab(path, **settings):
        layers = [layer.load(name, **settings.get(name, {})) for name in path.split("/")]
        return place.open(layers, place.site(deadline_s=300.0)), layers

    return open_in_lab
