"""HTTP on the loopback: GET and HEAD, pages, and the events that say what has changed.

A client must have called this host by a name of the loopback: a page from elsewhere whose name
was made to lead here (DNS rebinding) is refused. Nothing that a page loads comes from elsewhere.
"""

from __future__ import annotations

import json
import logging
import select
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from urllib.parse import SplitResult, parse_qs, urlsplit

from tare.core.errors import ConfigError
from tare.present.live import markup
from tare.present.live.catalogue import ResultsCatalogue
from tare.present.live.compared import ComparedStudies
from tare.present.live.views import OneStudy, Parts, Studies, View

log = logging.getLogger(__name__)

ADDRESS = "127.0.0.1"
LOOPBACK = frozenset({ADDRESS, "localhost", "[::1]"})
POLL_S = 0.5
"""How often files are looked at while somebody looks at a page."""
REST_S = 0.8
"""For so long nothing is looked at after something has changed: however fast trials come, a page is
drawn about once a second. Samples are stored up to a second after their trial; they too are then
on the page within two."""
BEAT_S = 10.0
"""Where nothing changes for so long, that is said: a page then knows that the server lives."""
QUIET_S = 30.0
"""A client that neither asks nor takes anything for so long is let go."""

_OWN = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "connect-src": "'self'",
    "img-src": "data:",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}
_REPORT = {
    "sandbox": "allow-scripts allow-popups allow-downloads",
    "default-src": "'none'",
    "script-src": "'unsafe-inline'",
    "style-src": "'unsafe-inline'",
    "img-src": "data:",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
"""A report is one file and may have been brought from elsewhere: it reaches no other page."""
_FILE = {"sandbox": "", "default-src": "'none'", "frame-ancestors": "'none'"}

_TYPES = {".html": "text/html", ".svg": "image/svg+xml", ".png": "image/png", ".csv": "text/csv"}


class PageServer(ThreadingHTTPServer):
    """Serves a catalogue; a thread for each client, none of which keeps the process alive."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, catalogue: ResultsCatalogue, port: int) -> None:
        self.catalogue = catalogue
        super().__init__((ADDRESS, port), Visit)

    def handle_error(self, request: object, client_address: object) -> None:
        """Return what is a bug; that a client has gone is none."""
        if isinstance(error := sys.exception(), ConnectionError | TimeoutError):
            log.debug("%s has gone: %s", client_address, error)
        else:
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    @property
    def address(self) -> str:
        """Where the first page is."""
        return f"http://{ADDRESS}:{self.server_address[1]}/"


@contextmanager
def serving(catalogue: ResultsCatalogue, port: int) -> Iterator[PageServer]:
    """Open the port, or raise ConfigError; 0 is any that is free."""
    try:
        server = PageServer(catalogue, port)
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"cannot listen on port {port} of {ADDRESS}: {error}; give another with --port"
        ) from error
    with server:
        yield server


class Visit(BaseHTTPRequestHandler):
    """One connection of one client."""

    server: PageServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = f"tare/{version('tare')}", ""
    timeout = QUIET_S

    def do_GET(self) -> None:
        """Answer, or say in a sentence why not."""
        if not self._is_called_by_loopback():
            self._say(HTTPStatus.FORBIDDEN, "This page is for this host alone.")
            return
        try:
            url = urlsplit(self.path)
            followed = urlsplit(parse_qs(url.query).get("page", ["/"])[0])
        except ValueError:
            self._say(HTTPStatus.BAD_REQUEST, "That is no address of a page.")
            return
        self._answer(url, followed)

    do_HEAD = do_GET  # noqa: N815 - the name is http.server's

    def do_POST(self) -> None:
        """Refuse what could change anything; its body is not read."""
        self.close_connection = True
        self._say(HTTPStatus.METHOD_NOT_ALLOWED, "This server only reads.", {"Allow": "GET, HEAD"})

    do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_POST  # noqa: N815 - the names are http.server's

    def log_message(self, format: str, *args: object) -> None:
        """Log as all of Tare does."""
        log.debug(format, *args)

    def _is_called_by_loopback(self) -> bool:
        name, _, port = self.headers.get("Host", "").rpartition(":")
        host = name if port.isdigit() else self.headers.get("Host", "")
        return host.lower() in LOOPBACK

    def _answer(self, url: SplitResult, followed: SplitResult) -> None:
        """Answer; ``followed`` is the page whose events are asked for, if they are."""
        match url.path.split("/")[1:]:
            case ["live.css"]:
                self._send("text/css", markup.style())
            case ["live.js"]:
                self._send("text/javascript", markup.script())
            case ["files", name, *inner]:
                path = markup.unquoted("/".join(inner))
                self._file(self.server.catalogue.file(markup.unquoted(name), path))
            case ["events"]:
                self._events(self._view(followed))
            case _:
                self._page(self._view(url))

    def _view(self, url: SplitResult) -> View | None:
        catalogue = self.server.catalogue
        if url.scheme or url.netloc:  # a page of another server
            return None
        match url.path.split("/")[1:]:
            case [""]:
                return Studies(catalogue)
            case ["study", name]:
                return OneStudy(catalogue, markup.unquoted(name))
            case ["compare"]:
                names = map(markup.unquoted, parse_qs(url.query).get("with", []))
                return ComparedStudies(catalogue, tuple(dict.fromkeys(names)))
            case _:
                return None

    def _page(self, view: View | None) -> None:
        seen = view.look() if view else None
        if view is None or seen is None:
            self._say(HTTPStatus.NOT_FOUND, "There is no such page, or no such study by now.")
            return
        self._send("text/html", view.page(seen))

    def _say(
        self, status: HTTPStatus, sentence: str, headers: dict[str, str] | None = None
    ) -> None:
        self._send("text/html", markup.problem(status.phrase, sentence), status, headers)

    def _send(
        self,
        kind: str,
        text: str,
        status: HTTPStatus = HTTPStatus.OK,
        headers: dict[str, str] | None = None,
    ) -> None:
        content = text.encode(errors="replace")
        self._begin(status, kind, _OWN, {"Content-Length": str(len(content)), **(headers or {})})
        if self.command != "HEAD":
            self.wfile.write(content)

    def _begin(
        self, status: HTTPStatus, kind: str, policy: dict[str, str], headers: dict[str, str]
    ) -> None:
        self.send_response(status)
        is_text = kind.startswith(("text/", "image/svg"))
        self.send_header("Content-Type", f"{kind}; charset=utf-8" if is_text else kind)
        header = "; ".join(f"{name} {value}".strip() for name, value in policy.items())
        self.send_header("Content-Security-Policy", header)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _file(self, path: Path | None) -> None:
        """Send a file that a report shows or links to, as nothing that could do anything."""
        try:
            file = path.open("rb") if path else None
        except OSError:
            file = None
        if path is None or file is None:
            self._say(HTTPStatus.NOT_FOUND, "There is no such file, or it is not to be shown.")
            return
        with file:
            self.close_connection = True  # so its end is the end: it may grow meanwhile
            kind = _TYPES.get(path.suffix, "text/plain")
            policy = _REPORT if kind == "text/html" else _FILE
            self._begin(HTTPStatus.OK, kind, policy, {"Connection": "close"})
            if self.command != "HEAD":
                shutil.copyfileobj(file, self.wfile)

    def _events(self, view: View | None) -> None:
        """Send the parts of a page that have changed, until the client goes.

        Files are looked at here and nowhere else, so nobody looking costs nothing.
        """
        if view is None:
            self._say(HTTPStatus.NOT_FOUND, "There is no such page.")
            return
        self.close_connection = True
        self._begin(HTTPStatus.OK, "text/event-stream", _OWN, {"Connection": "close"})
        if self.command == "HEAD":
            return
        gone = select.poll()
        gone.register(self.connection, select.POLLIN)
        said_s = time.monotonic()
        for changed, rest_s in changes(view):
            if changed or time.monotonic() - said_s >= BEAT_S:
                event = json.dumps(changed, ensure_ascii=False)  # encoded as the page itself was
                self.wfile.write(f"data: {event}\n\n".encode(errors="replace"))
                said_s = time.monotonic()
            # Nothing more is asked on such a connection: what can be read is its end.
            if gone.poll(1000 * rest_s):
                return


def changes(view: View) -> Iterator[tuple[Parts, float]]:
    """Look again and again; gives the parts that have changed, and how long to rest then."""
    before: object = ()
    sent: Parts = {}
    while True:
        seen = view.look()
        if seen == before:
            yield {}, POLL_S
            continue
        parts, before = view.parts(seen), seen
        changed = {name: part for name, part in parts.items() if sent.get(name) != part}
        sent = {**sent, **changed}
        yield changed, REST_S
