"""The ledger: written before, read after, and right whatever cut it short."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from tare.core.completed import Completed
from tare.core.errors import LayerError
from tare.machines.ledger import Ledger, Scope, Services, clean, leftovers
from tare.machines.machine import Host
from tare.machines.ssh import Connection


class Fake:
    """Keeps what it was asked; fails whatever ends in ``bad``."""

    def __init__(self, name="host", *, ephemeral=False):
        self.name, self.ephemeral, self.asked = name, ephemeral, []

    def undo_argv(self, argv):
        return ["through", self.name, *argv]

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        self.asked.append(list(argv))
        return Completed(tuple(argv), int(argv[-1] == "bad"), b"", b"stuck", 0.0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.jsonl"


@pytest.fixture
def ledger(path):
    made = Ledger(path)
    yield made
    made.close()


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_what_is_about_to_be_made_is_on_disk_with_its_undo(ledger, path):
    ledger.about_to_make("thing", "a", Fake("host/x"), ["rm", "a"])

    assert lines(path) == [
        {
            "id": 1,
            "what": "thing",
            "name": "a",
            "on": "host/x",
            "ephemeral": False,
            "undo": ["through", "host/x", "rm", "a"],
        }
    ]


def test_a_scope_removes_the_newest_first_and_only_once(ledger, path):
    machine, scope = Fake(), Scope(ledger)
    for name in "abc":
        scope.about_to_make("thing", name, machine, ["rm", name])

    scope.close()
    scope.close()

    assert machine.asked == [["rm", "c"], ["rm", "b"], ["rm", "a"]]
    assert leftovers(path) == []


def test_what_cannot_be_removed_stays_and_does_not_keep_the_rest(ledger, path):
    machine, scope = Fake(), Scope(ledger)
    for name in ("a", "bad", "c"):
        scope.about_to_make("thing", name, machine, ["rm", name])

    with pytest.raises(LayerError, match="could not remove thing bad on host: stuck"):
        scope.close()

    assert [left.name for left in leftovers(path)] == ["bad"]
    assert machine.asked[-1] == ["rm", "a"]


def test_what_was_in_a_machine_that_is_gone_is_no_leftover(ledger, path):
    ledger.about_to_make("thing", "inside", Fake(ephemeral=True), ["rm"])
    ledger.about_to_make("thing", "outside", Fake(), ["rm"])

    assert [left.name for left in leftovers(path)] == ["outside"]


def test_a_ledger_in_use_is_refused(ledger, path):
    with pytest.raises(LayerError, match="in use by a Tare session"):
        Ledger(path)
    with pytest.raises(LayerError, match="in use"):
        list(clean(path))


class Runs(Fake):
    """A machine on this host, so that its undo can be run later."""

    def host_argv(self, argv):
        return list(argv)

    def undo_argv(self, argv):
        return list(argv)


def test_a_dead_session_is_cleaned_up_newest_first(path, tmp_path):
    dead = Ledger(path)
    for name in "ab":
        (tmp_path / name).touch()
        remove = ["sh", "-c", f"echo {name} >> {tmp_path}/order; rm -f {tmp_path}/{name}"]
        dead.about_to_make("file", name, Runs(), remove)
    dead.about_to_make("file", "c", Runs(), ["sh", "-c", "echo locked >&2; exit 1"])
    dead.close()

    cleaned = {left.name: why for left, why in clean(path)}

    assert cleaned["a"] == cleaned["b"] == ""
    assert "locked" in cleaned["c"]
    assert (tmp_path / "order").read_text() == "b\na\n"
    assert [left.name for left in leftovers(path)] == ["c"]


@pytest.mark.parametrize("cut", [2, 10, 60])
def test_a_last_line_cut_short_is_skipped_and_not_continued(path, cut):
    dead = Ledger(path)
    for name in "ab":
        dead.about_to_make("file", name, Runs(), ["true"])
    dead.close()
    path.write_bytes(path.read_bytes()[:-cut])

    assert [left.name for left in leftovers(path)] == ["a"]
    assert [why for _, why in clean(path)] == [""]
    assert leftovers(path) == []


def test_a_reopened_ledger_gives_new_numbers(path):
    first = Ledger(path)
    first.about_to_make("thing", "a", Fake(), ["rm"])
    first.close()

    second = Ledger(path)
    entry = second.about_to_make("thing", "b", Fake(), ["rm"])
    second.close()

    assert entry.id == 2
    assert [left.name for left in leftovers(path)] == ["b", "a"]


def test_a_service_is_made_once_and_again_when_it_died(ledger):
    services, machine, alive = Services(ledger), Fake(), {1: True, 2: True}
    made = []

    def make(scope):
        made.append(len(made) + 1)
        scope.about_to_make("daemon", f"d{made[-1]}", machine, ["kill", f"d{made[-1]}"])
        return made[-1]

    def get(on):
        return services.once("daemon", on, make, alive.__getitem__)

    assert get(machine) == get(machine) == 1
    alive[1] = False
    assert get(machine) == 2
    assert machine.asked == [["kill", "d1"]]
    services.close()
    services.close()
    assert machine.asked == [["kill", "d1"], ["kill", "d2"]]


def test_each_machine_has_a_service_of_its_own(ledger):
    services, one, other = Services(ledger), Fake(), Fake()

    first = services.once("daemon", one, lambda scope: object(), lambda _: True)

    assert services.once("daemon", other, lambda scope: object(), lambda _: True) is not first


def test_services_of_two_machines_are_made_at_the_same_time(ledger):
    services, both = Services(ledger), Barrier(2)

    def make(scope):
        both.wait(timeout=20)
        return object()

    with ThreadPoolExecutor(2) as pool:
        made = [pool.submit(services.once, "d", Fake(), make, lambda _: True) for _ in range(2)]

    assert made[0].result() is not made[1].result()


def test_a_service_that_fails_to_start_is_removed_and_tried_again(ledger, path):
    services, machine = Services(ledger), Fake()

    def fails(scope):
        scope.about_to_make("daemon", "d", machine, ["kill", "d"])
        raise LayerError("no")

    with pytest.raises(LayerError, match=r"^no$"):
        services.once("daemon", machine, fails, lambda _: True)

    assert machine.asked == [["kill", "d"]]
    assert services.once("daemon", machine, lambda scope: 7, lambda _: True) == 7
    assert leftovers(path) == []


def test_services_in_machines_that_are_gone_are_only_noted(ledger, path):
    services, guest = Services(ledger), Fake("host/guest", ephemeral=True)
    services.once(
        "daemon",
        guest,
        lambda scope: scope.about_to_make("daemon", "d", guest, ["kill", "d"]),
        lambda _: True,
    )

    services.close()

    assert guest.asked == []
    assert lines(path)[-1] == {"gone": 1}


def test_names_in_any_script_survive(ledger, path):
    ledger.about_to_make("thing", "é\u2028\n", Host(), ["rm", "\u2028"])

    (left,) = leftovers(path)
    assert (left.name, left.undo) == ("é\u2028\n", ("rm", "\u2028"))


class Far(Fake):
    """A computer that is reached by ssh, or is not."""

    def __init__(self, address, status):
        super().__init__(f"host/{address}")
        self.connection = Connection("root", address, 22, "", "/run/x.ssh")
        self.status = status

    def undo_argv(self, argv):
        return self.connection.wrap(argv)

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        done = super().run(argv, stdin=stdin, timeout_s=timeout_s)
        return replace(done, returncode=self.status)


def test_a_computer_that_does_not_answer_is_asked_once(ledger, path):
    dead, live, full = Far("192.0.2.7", 255), Far("192.0.2.8", 0), Far("192.0.2.9", 1)
    scope = Scope(ledger)
    for name in ("a", "b"):
        for machine in (dead, live, full):
            scope.about_to_make("folder", name, machine, ["rm", name])

    with pytest.raises(
        LayerError, match=r"folder a on host/192\.0\.2\.7: .* did not answer before"
    ):
        scope.close()

    assert [len(machine.asked) for machine in (dead, live, full)] == [1, 2, 2]
    assert {left.name for left in leftovers(path)} == {"a", "b"}


def test_a_service_that_is_abandoned_stays_in_the_ledger(ledger, path):
    services, machine = Services(ledger), Fake()

    def make(scope):
        scope.about_to_make("thing", "a", machine, ["rm", "a"])
        return object()

    first = services.once("daemon", machine, make, lambda _: True)
    services.abandon("daemon", machine)

    assert services.once("daemon", machine, make, lambda _: True) is not first
    services.close()
    assert len(leftovers(path)) == 1
