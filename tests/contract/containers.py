"""What holds for every container that shares the host's kernel, whatever made it."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


class Broken:
    """A userland without a shell, so without anything that could be the first process."""

    def __init__(self, folder):
        self.folder = folder

    def tree(self, machine):
        return str(self.folder)


def assert_a_killed_init_ends_all(place, layers, init_of, traces, settles):
    """See that its commands end with it, and that it is left like any other."""
    site = place.site()
    stack = place.open(layers, site)
    begun = Path(site.folder, f"{site.name}-0", "data", "begun")

    with ThreadPoolExecutor() as pool:
        script = "touch /data/begun; exec sleep 300"
        running = pool.submit(stack.machine.run, ["sh", "-c", script], timeout_s=60)
        assert settles(begun.exists)
        os.kill(init_of(stack), signal.SIGKILL)
        done = running.result()

    assert done.returncode != 0
    assert not done.timed_out
    assert stack.machine.run(["true"]).returncode != 0
    stack.close()
    assert settles(lambda: not traces(site.name)), traces(site.name)
