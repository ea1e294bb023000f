"""What all web server workloads share: nginx, apache or lighttpd with one static page.

The three servers are configured alike, in the foreground and in a directory of their own: equal
numbers of processes (apache with threads in them), sendfile, one length of queue, keep-alive on
request, no compression, no log of requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tare.core.model import Better, Metric, MetricRole, Unit
from tare.work import workload
from tare.work.roles import PEER, Role
from tare.work.workload import PORT, SERVER
from tare.work.workloads import at_least, one_of

Server = Literal["apache", "lighttpd", "nginx"]

PAGE = f"{SERVER}:{PORT}/page"
FAILED = Metric("failed", Unit.RATIO, Better.LOWER, MetricRole.FAILED)
QUANTILES = {
    50: Metric("latency_p50", Unit.SECOND, Better.LOWER),
    90: Metric("latency_p90", Unit.SECOND, Better.LOWER),
    99: Metric("latency_p99", Unit.SECOND, Better.LOWER),
}

PACKAGES = ("apache2", "lighttpd", "nginx-light")

# Bytes that nothing below can shrink.
MAKE_PAGE = 'head -c "$0" /dev/urandom > page'
COMMANDS: Mapping[Server, str] = {
    "apache": 'exec apache2 -d "$PWD" -f server.conf -DFOREGROUND',
    "lighttpd": "exec lighttpd -D -f server.conf",
    "nginx": 'exec nginx -p "$PWD" -c server.conf -e stderr',
}
# Each takes more connections at once than any of our clients opens. Apache alone refuses to serve
# as root; nginx and lighttpd stay root, which needs no second user in a sandbox.
CONFIGURATIONS: Mapping[Server, str] = {
    "apache": """\
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
ServerName localhost
Listen 0.0.0.0:{port}
ListenBacklog 1024
User www-data
Group www-data
PidFile server.pid
DefaultRuntimeDir .
ErrorLog /proc/self/fd/2
DocumentRoot .
EnableSendfile On
KeepAlive On
KeepAliveTimeout 60
MaxKeepAliveRequests 0
StartServers {workers}
ServerLimit {workers}
ThreadsPerChild 64
MaxRequestWorkers {threads}
MinSpareThreads 1
MaxSpareThreads {threads}
AsyncRequestWorkerFactor 64
""",
    "lighttpd": """\
server.port = {port}
server.document-root = var.CWD
server.max-worker = {workers}
server.max-fds = 16384
server.max-connections = 8192
server.listen-backlog = 1024
server.network-backend = "sendfile"
server.max-keep-alive-idle = 60
server.max-keep-alive-requests = 1000000
""",
    "nginx": """\
user root;
daemon off;
worker_processes {workers};
worker_rlimit_nofile 16384;
pid server.pid;
events { worker_connections 8192; }
http {
    access_log off;
    sendfile on;
    keepalive_timeout 60;
    keepalive_requests 1000000;
    client_body_temp_path temp;
    proxy_temp_path temp;
    fastcgi_temp_path temp;
    uwsgi_temp_path temp;
    scgi_temp_path temp;
    server { listen {port} backlog=1024; root .; }
}
""",
}
THREADS = 64
"""Of each of apache's processes; the other servers' processes have one and poll."""


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """A page of ``page_bytes`` served by ``workers`` processes to clients at the peer.

    The number of workers is fixed, because each server would choose it by the CPUs that it sees.
    """

    server: Server = "nginx"
    workers: int = 2
    page_bytes: int = 10240
    keep_alive: bool = True

    def __post_init__(self) -> None:
        one_of(self, server=Server)
        at_least(self, workers=1, page_bytes=1)

    def place(self) -> str:
        """See Workload.place."""
        return PEER

    def roles(self) -> Sequence[Role]:
        """See Workload.roles."""
        text = CONFIGURATIONS[self.server].replace("{workers}", str(self.workers))
        text = text.replace("{threads}", str(THREADS * self.workers)).replace("{port}", PORT)
        server = Role(
            name="server",
            command=["sh", "-c", COMMANDS[self.server]],
            setup=["sh", "-c", MAKE_PAGE, str(self.page_bytes)],
            files={"server.conf": text},
        )
        return (server,)
