"""The userland's image is imported once, and the next daemon has it when it starts."""

import pytest

from tare.machines import layer
from tare.machines.backends import docker as engine
from tare.machines.machine import Host, check
from tare.machines.stack import open_stack


class Notes(Host):
    """This host, where it is noted what was imported."""

    def __init__(self):
        super().__init__()
        self.imported = []

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        self.imported += argv[-1:] if "import" in argv else []
        return super().run(argv, stdin=stdin, timeout_s=timeout_s)


@pytest.mark.needs("docker")
def test_a_daemon_has_the_image_that_the_one_before_imported(own_place, traces, settles):
    host = Notes()
    first = engine.serving(host, own_place.site())
    if not first.own:
        pytest.skip("the daemon of this host is not ours to start")
    first.image(own_place.userland)
    own_place.services.close()
    host.imported.clear()
    kept = own_place.userland.folder / "docker"
    [tree] = kept.glob("overlay2/*/diff")

    site = own_place.site()
    stack = open_stack(host, [layer.load("docker")], site)
    check(stack.machine, ["sh", "-c", "echo changed > /etc/hostname.new; rm /etc/debian_version"])
    stack.close()
    own_place.services.close()

    assert host.imported == []
    assert (tree / "etc/debian_version").exists()
    assert not (tree / "etc/hostname.new").exists()
    assert settles(lambda: not traces(own_place.id + "-docker")), traces(own_place.id + "-docker")
