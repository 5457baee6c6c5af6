"""A web server on loopback that answers with the bytes it is given, and can break off where a real one would not."""

import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

RESETS = b""
"""An answer that is none: the connection is closed when the request has been read."""


@dataclass
class Asked:
    """A request as it arrived; `headers` have lower-case names."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class WebServer:
    """`answers` are whole HTTP responses by path; other paths get 404. `hold` keeps a connection open until it is set."""

    port: int = 0
    scheme: str = "http"
    answers: dict[str, bytes] = field(default_factory=dict)
    requests: list[Asked] = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)
    hold: threading.Event | None = None

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.requests]


def reply(body: bytes | str = b"", status: str = "200 OK", *headers: str) -> bytes:
    """A whole response; the length is told unless the headers say otherwise."""
    content = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", *headers]
    if not any(line.lower().startswith(("content-length", "transfer-encoding")) for line in headers):
        lines.append(f"Content-Length: {len(content)}")
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode() + content


def redirect(location: str, status: str = "302 Found") -> bytes:
    """A response that sends on."""
    return reply(b"", status, f"Location: {location}")


@contextmanager
def web_server(tls: ssl.SSLContext | None = None) -> Iterator[WebServer]:
    """The server, for the length of the block."""
    stub = WebServer(scheme="https" if tls else "http")

    class Answering(socketserver.StreamRequestHandler):
        timeout = 30

        def handle(self) -> None:
            line = self.rfile.readline().decode("latin-1").split()
            if len(line) < 2:
                return
            headers = {}
            while (header := self.rfile.readline().decode("latin-1").strip()) != "":
                name, _, told = header.partition(":")
                headers[name.lower()] = ", ".join(filter(None, (headers.get(name.lower()), told.strip())))
            body = self.rfile.read(int(headers.get("content-length", "0")))
            stub.requests.append(Asked(line[0], line[1], headers, body))
            stub.asked.set()
            if stub.hold is not None:
                stub.hold.wait(30)
            self.wfile.write(stub.answers.get(line[1].partition("?")[0], reply("nothing here", "404 Not Found")))

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def get_request(self) -> tuple[object, object]:  # type: ignore[override]
            connection, address = self.socket.accept()
            if tls is None:
                return connection, address
            return tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

        def handle_error(self, request: object, client_address: object) -> None:
            pass  # clients that go away are what the tests are about

    with Server(("127.0.0.1", 0), Answering) as server:
        stub.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield stub
        finally:
            if stub.hold is not None:
                stub.hold.set()
            server.shutdown()
            thread.join(10)
