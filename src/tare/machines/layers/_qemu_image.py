"""A virtual machine from a disk image of the user's own, which boots by its own loader."""

from __future__ import annotations

from tare.core.errors import LayerError
from tare.machines.layers._qemu_guest import SIGNALLED, Guest

KEY_S = 30.0
"""How long sshd may refuse the key: it may be installed a moment after sshd has started."""
# A system with a service manager of its own has commands for that, which only root may give.
OWN_WAY = 'echo "$1" && { [ "$(id -u)" = 0 ] && exec "$0" || exec sudo -n "$0"; }'


class Own(Guest):
    """A guest of the user's own: it is ready when its sshd accepts the user's login."""

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
        self.workdir = f"/var/tmp/{self.site.name}"  # noqa: S108 - on the disk, and its name is Tare's

    def _answers(self, refused: LayerError | None) -> bool:
        """Return whether the sshd of a new boot answers, be it by letting nobody in."""
        if refused is not None:
            return "Permission denied" in str(refused)
        if self._boot() not in ("", self.boot):
            return True
        self._hang_up()
        return False

    def _boot(self) -> str:
        """Return the id of the boot; a system that is shutting down may not answer."""
        return self.machine.run(["cat", "/proc/sys/kernel/random/boot_id"]).stdout.decode()

    def _tell_system(self, signal: str) -> None:
        command = {"TERM": "poweroff", "INT": "reboot"}[signal]
        self.tell_inside(["sh", "-c", OWN_WAY, command, SIGNALLED])

    def _refuse_killed(self) -> None:
        """Accept any end: the console of a user's own image is not known."""
