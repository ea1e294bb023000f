"""The promises of the layer ``xen``, in a lab with Debian as its dom0."""

import pytest

from lab.promises import PROMISES, VERBS
from tare.machines.machine import text

XEN = {"hypervisor": "xen"}


@pytest.fixture(scope="module", params=["pv", "pvh"])
def opened(request, open_in_lab):
    """See test_contract."""
    stack, layers = open_in_lab("lab/xen", lab=XEN, xen={"type": request.param})
    yield "lab/xen", stack, layers[-1], layers[1:]
    stack.close()


@pytest.fixture(scope="module")
def dom0(open_in_lab):
    stack, _ = open_in_lab("lab", lab=XEN)
    yield stack.machine
    stack.close()


def test_dom0_is_up_and_there_is_memory_for_guests(dom0):
    names = [line.split()[0] for line in text(dom0, ["xl", "list"]).splitlines()[1:]]
    known = text(dom0, ["xl", "info"]).splitlines()
    facts = {key.strip(): value.strip() for key, _, value in (one.partition(":") for one in known)}

    assert names == ["Domain-0"]
    assert facts["xen_version"].startswith("4.17")
    assert {"pv", "hvm", "hap"} <= set(facts["virt_caps"].split())
    assert int(facts["free_memory"]) > 2048


def test_it_is_no_host_for_kvm(dom0):
    assert dom0.run(["test", "-e", "/dev/kvm"]).returncode != 0


def test_the_cache_of_the_host_is_seen_there(dom0):
    assert text(dom0, ["ls", "/run/tare-shared"]).split() == ["guest", "userland"]
    assert dom0.run(["touch", "/run/tare-shared/guest/x"]).returncode != 0


globals().update(PROMISES | VERBS)  # after what has to find dom0 alone
