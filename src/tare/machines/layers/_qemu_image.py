"""A virtual machine from a disk image of the user's own, which boots by its own loader."""

from __future__ import annotations

from tare.core.errors import LayerError
from tare.machines.layers._qemu_guest import TOLD, Guest

KEY_S = 30.0
"""A key may be put there a moment later than sshd is started; after that it is never let in."""
# A system with a service manager of its own has commands for that, which only root may give.
OWN_WAY = 'echo "$1" && { [ "$(id -u)" = 0 ] && exec "$0" || exec sudo -n "$0"; }'


class Own(Guest):
    """A guest of the user's own: it is ready when its sshd lets the user in."""

    boot = ""
    """The kernel's name for the boot before a reboot, which is over when it is another."""

    def reboot(self, *, hard: bool = False) -> None:
        """See Instance.reboot."""
        self.boot = self._boot()
        if not self.boot:
            raise LayerError(f"the guest {self.site.name} does not answer; {self._last_words()}")
        super().reboot(hard=hard)

    def _await_boot(self) -> None:
        limit_s, user = self.site.deadline_s, self.connection.user
        self._connect(limit_s, f"has no sshd that answers within {limit_s:.0f} s", self._answers)
        self._connect(KEY_S, f"did not let {user} in within {KEY_S:.0f} s")
        self.workdir = f"/var/tmp/{self.site.name}"  # noqa: S108 - on the disk, and its name is ours

    def _answers(self, refused: LayerError | None) -> bool:
        """Say whether the sshd of a new boot answers, be it by letting nobody in."""
        if refused is not None:
            return "Permission denied" in str(refused)
        if self._boot() not in ("", self.boot):
            return True
        self._hang_up()
        return False

    def _boot(self) -> str:
        """Ask which boot it is; what is just going down may not say."""
        return self.machine.run(["cat", "/proc/sys/kernel/random/boot_id"]).stdout.decode()

    def _tell_system(self, signal: str) -> None:
        command = {"TERM": "poweroff", "INT": "reboot"}[signal]
        self.tell_inside(["sh", "-c", OWN_WAY, command, TOLD])

    def _refuse_killed(self) -> None:
        """What its console says is its own affair."""
