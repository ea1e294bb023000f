"""Stand-ins for tests of how programs are called: nothing is run, and what was asked is kept."""

from tare.core.completed import Completed


class Fake:
    """A machine whose answers, (status, output), are chosen by the words in a command.

    What has no such word goes well and says nothing.
    """

    name, ephemeral = "host", False

    def __init__(self, **answers):
        self.answers, self.asked, self.written = answers, [], b""

    def host_argv(self, argv):
        return list(argv)

    def undo_argv(self, argv):
        return list(argv)

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        self.asked.append(list(argv))
        self.written += stdin
        returncode, stdout, *stderr = self.answer(argv)
        return Completed(tuple(argv), returncode, stdout, b"".join(stderr), 0.0)

    def answer(self, argv):
        """Give status and output of a command, and its errors if it has any."""
        found = [self.answers[word] for word in argv if word in self.answers]
        return found[0] if found else (0, b"")

    def calls(self, tool):
        """List the commands that call a tool, each from its name on."""
        return [argv[argv.index(tool) :] for argv in self.asked if tool in argv]


class Userland:
    """One that was built."""

    id = "1a2b"

    def tree(self, machine):
        return "/cache/tree"

    def tar(self, machine):
        return "/cache/tree.tar"


class Printing:
    """A machine on which every command prints the same."""

    name = "host/fake"

    def __init__(self, stdout, returncode=0):
        self.stdout, self.returncode = stdout, returncode

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        return Completed(tuple(argv), self.returncode, self.stdout, b"", 0.0)
