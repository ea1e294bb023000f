"""A simulated layer that does what a test tells it to.

``plot`` is called at every verb with the instance and the verb, for a command ``run`` and its argv.
What it raises is raised there; what it gives is given instead of what the simulation would give.
"""

from dataclasses import dataclass

from tare.machines.layers import sim

plot = None
made = []


def told(instance, verb, argv=()):
    return plot(instance, verb, tuple(argv)) if plot is not None else None


@dataclass(frozen=True, kw_only=True)
class Layer(sim.Layer):
    def probe(self, outer, userland):
        told(None, "probe")
        return super().probe(outer, userland)

    def create(self, outer, site):
        path = f"{site.folder}/{site.name}"
        undo = told(None, "undo") or ["rm", "-f", path]
        site.scope.about_to_make("file", path, outer, undo)
        outer.run(["touch", path])
        instance = Instance(outer, site, self)
        instance.path, instance.number = path, len(made)
        made.append(instance)
        return instance


class Instance(sim.Instance):
    def __init__(self, outer, site, of):
        super().__init__(outer, site, of)
        self.machine = Machine(self, self.machine)

    def start(self):
        told(self, "start")

    def stop(self, *, hard=False):
        told(self, "kill" if hard else "stop")

    def ready(self):
        told(self, "ready")

    def pause(self):
        told(self, "pause")

    def resume(self):
        told(self, "resume")

    def inside(self):
        return told(self, "inside") or super().inside()

    def threads(self):
        return told(self, "threads")


class Machine:
    def __init__(self, instance, simulated):
        self.instance, self.simulated = instance, simulated
        self.name, self.ephemeral = simulated.name, simulated.ephemeral

    def host_argv(self, argv):
        return self.simulated.host_argv(argv)

    def undo_argv(self, argv):
        return self.simulated.undo_argv(argv)

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        answer = told(self.instance, "run", argv)
        return answer or self.simulated.run(argv, stdin=stdin, timeout_s=timeout_s)
