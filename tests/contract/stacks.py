"""The stacks that have to keep the promises: every layer there is alone, and some that matter."""

import pytest

from tare.machines import layer

# sim runs nothing; a lab takes minutes to boot, and has tests of its own.
ALONE = [
    name if name == "host" else f"host/{name}"
    for name in layer.names()
    if name not in ("sim", "lab", "qemu")  # qemu is kvm or qemu-tcg, whichever works
]
MORE = [
    ("host/docker", {"docker": {"network": "bridge", "storage": "volume"}}),
    ("host/docker", {"docker": {"network": "none", "storage": "tmpfs"}}),
    ("host/docker", {"docker": {"runtime": "crun"}}),
    ("host/docker", {"docker": {"runtime": "runsc"}}),
    ("host/docker", {"docker": {"seccomp": False}}),
    ("host/podman", {"podman": {"runtime": "runc", "network": "none", "storage": "tmpfs"}}),
    ("host/libvirt", {"libvirt": {"uri": "lxc:///system"}}),
    ("host/ssh/docker", {}),
    ("host/qemu-tcg/docker", {}),
    ("host/qemu-tcg/gvisor", {}),
    ("host/qemu-tcg/lxc", {}),
    ("host/docker/bubblewrap", {"docker": {"privileged": True}}),
]


def _param(stack, settings, *more):
    words = [str(value) for given in settings.values() for value in given.values()]
    needs = stack.split("/")[1:] or ["root"]
    return pytest.param(
        (stack, settings),
        id="-".join([*stack.replace("-", "_").split("/"), *words]),
        marks=[pytest.mark.needs(capability) for capability in [*needs, *more]],
    )


ALONE_PARAMS = [_param(stack, {}) for stack in ALONE]
PARAMS = [*ALONE_PARAMS, *(_param(stack, settings) for stack, settings in MORE)]
