"""A lab, and a guest of KVM in it, are loaded and served from outside."""

from real.small import run, trials
from tare.core.model import Status

ENDS = {"under_test": ["server", "client"], "time": "1 s"}
PAGE = {"server": "nginx", "clients": 2, "requests": 60}


def test_a_guest_in_a_lab_is_reached_by_the_peer(tmp_path):
    rows = [{"netperf_rr": ENDS}, {"web_ab": PAGE}]
    results = run(tmp_path / "results", ["host", "lab/kvm"], rows, blocks=1)

    found = [(one.status, one.reason) for platform, one in trials(results) if platform != "host"]
    assert len(found) == 3
    assert {status for status, _ in found} <= {Status.OK, Status.SUSPECT}, found


def test_a_lab_is_the_peer(tmp_path):
    rows = [
        {
            "command": {
                "run": "curl -sSf http://{server}:{port}/",
                "install": "curl",
                "serve": "python3 -m http.server {port}",
                "server_under_test": False,
            }
        }
    ]
    results = run(tmp_path / "results", ["host"], rows, blocks=1, peer="lab")

    found = [(one.status, one.reason) for _, one in trials(results)]
    assert {status for status, _ in found} <= {Status.OK, Status.SUSPECT}, found
