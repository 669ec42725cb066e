"""A run's page while the run goes on: served to this machine alone, read only."""

import hmac
import logging
import secrets
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError, named_line, traceback_lines
from fedkin.report.live import Live, Pages
from fedkin.runs.output_files import as_bytes

HERE = "127.0.0.1"
PATIENCE = 10.0  # seconds that a request may take to arrive
AT_ONCE = 8  # requests
AGAIN = 10  # seconds after which the browser asks again
FAILED = "The page could not be made: the terminal of fedkin watch says why."
LOG = logging.getLogger("fedkin")
HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def _say(what: str, error: Exception) -> None:
    """One line on the terminal; with --verbose the lines of code that the error came through."""
    LOG.error("error: %s: %s", what, named_line(error))
    for line in traceback_lines(error):
        LOG.debug("%s", line)


class Watch(ThreadingHTTPServer):
    """Serves ``Live`` under ``address``: to who knows its token, on this machine."""

    daemon_threads = True
    allow_reuse_address = False

    def __init__(self, folder: Path, port: int = 0, live: Pages | None = None) -> None:
        """Bind the address; nothing is served before ``serve_forever``.

        Args:
            folder: A run directory, a folder of runs, or a deployment.
            port: 0 is any free one.
            live: What makes the page, where it is not that of the folder's runs.

        Raises:
            FedkinError: Where there is nothing to show, or the port cannot be used.
        """
        self.live = live or Live(Path(folder))
        self.token = secrets.token_urlsafe(24)
        self.room = threading.BoundedSemaphore(AT_ONCE)
        try:
            super().__init__((HERE, port), _Request)
        except OSError as error:
            raise FedkinError(f"port {port} cannot be used: {error.strerror}") from None

    @property
    def address(self) -> str:
        """The page's address, with its token: http://127.0.0.1:PORT/TOKEN/."""
        return f"http://{HERE}:{self.server_port}/{self.token}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own, or not at all where AT_ONCE are being answered.

        Args:
            request: The connection.
            client_address: Whose it is.
        """
        if not self.room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and make room for another request.

        Args:
            request: The connection.
            client_address: Whose it is.
        """
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who goes away in the middle of an answer is nobody's mistake; what else fails is said.

        Args:
            request: The connection.
            client_address: Whose it is.
        """
        error = sys.exc_info()[1]
        if isinstance(error, Exception) and not isinstance(error, ConnectionError | TimeoutError):
            _say("a request was not answered", error)


class _Request(BaseHTTPRequestHandler):
    server: Watch
    timeout = PATIENCE
    server_version, sys_version = "fedkin", ""

    def do_GET(self) -> None:
        """The page; everything else is not found, and nothing is ever written."""
        # Another site's name that leads here (DNS rebinding) is no name of this server.
        names = {f"{HERE}:{self.server.server_port}", f"localhost:{self.server.server_port}"}
        if self.headers.get("Host") not in names:
            self._answer(HTTPStatus.FORBIDDEN, "This host is not served.")
        elif not hmac.compare_digest(self.path.encode(), f"/{self.server.token}/".encode()):
            self._answer(
                HTTPStatus.NOT_FOUND, "Not found: open the whole address that fedkin watch printed."
            )
        else:
            try:
                text, changes = self.server.live.page()
            except FedkinError as error:
                self._answer(HTTPStatus.SERVICE_UNAVAILABLE, str(error), again=True)
            except Exception as error:  # a mistake of fedkin's, which the browser shall not hide
                _say("the page could not be made", error)
                self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, FAILED, again=True)
            else:
                self._answer(HTTPStatus.OK, text, again=changes)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What is no request of HTTP: the library's own page would repeat it."""
        self.close_connection = True
        self._answer(HTTPStatus(code), "Not understood.")

    def _answer(self, status: HTTPStatus, text: str, again: bool = False) -> None:
        body, page = as_bytes(text), status == HTTPStatus.OK
        self.send_response(status)
        for name, value in HEADERS.items():
            plain = name == "Content-Type" and not page
            self.send_header(name, "text/plain; charset=utf-8" if plain else value)
        if again:
            self.send_header("Refresh", str(AGAIN))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the address holds the token."""
