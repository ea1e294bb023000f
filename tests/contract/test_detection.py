"""What shows inside a stack that was opened for real is what was declared, and nothing else is."""

import pytest

from tare.machines import detection
from tare.machines.machine import Host


def needing(stack, wrong):
    names = stack.split("/")[1:] or ["root"]
    marks = [pytest.mark.needs(name) for name in names]
    marks += [pytest.mark.slow] if len(names) > 1 else []
    return pytest.param(stack, wrong, id=stack, marks=marks)


def declared(layers):
    return [detection.Declared(made.name, made.detected_as()) for made in layers]


@pytest.mark.parametrize(
    ("stack", "wrong"),
    [
        needing("host", "host/docker"),
        needing("host/docker", "host"),
        needing("host/qemu-tcg", "host/docker"),
        needing("host/qemu-tcg/docker", "host/qemu-tcg"),
    ],
)
def test_what_shows_inside_is_what_was_declared(place, layers_of, stack, wrong):
    layers, outside = layers_of(stack), detection.detect(Host())
    opened = place.open(layers)
    try:
        inside = detection.detect(opened.machine)
    finally:
        opened.close()

    assert detection.disagreements(declared(layers), outside, inside) == []
    if stack != "host":
        assert [step.layer for step in inside][-len(layers) :] == stack.split("/")[1:]
    assert all(step.evidence for step in inside)
    told = detection.disagreements(declared(layers_of(wrong)), outside, inside)
    assert told
    assert all(line.startswith(f"{wrong} is declared, but ") for line in told)
