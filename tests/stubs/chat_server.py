"""A model's endpoint on loopback that speaks the Chat Completions wire format and remembers what it was asked."""

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class ChatServer:
    """Answers one after the other: a status with a body, or the raw bytes of an event stream, cut as they are given."""

    answers: list[tuple[int, Iterable[bytes]]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    url: str = ""
    models: tuple[str, ...] = ("nomic-embed-text", "tiny-chat")
    closed_early: threading.Event = field(default_factory=threading.Event)
    hang: bool = False
    keep_alive: bool = False
    """Whether replies are chunked and connections stay open; then a reply can also break off."""
    cut: bool = False
    """Whether the connection breaks where a reply would end."""
    connections: int = 0
    content_type: str = "text/event-stream"
    extra_headers: dict[str, str] = field(default_factory=dict)

    def says(self, *chunks: dict[str, Any], done: bool = True) -> None:
        """Answer the next request with these chunks."""
        lines = [b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n" for chunk in chunks]
        self.answers.append((200, [*lines, b"data: [DONE]\n\n"] if done else lines))

    def sends(self, *pieces: bytes) -> None:
        """Answer the next request with these bytes, one write each."""
        self.answers.append((200, list(pieces)))

    def refuses(self, status: int, body: str) -> None:
        """Answer the next request with an error."""
        self.answers.append((status, [body.encode()]))


def delta(**fields: Any) -> dict[str, Any]:
    """A chunk with one choice."""
    finish = fields.pop("finish_reason", None)
    return {"model": "tiny-chat", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def call_delta(index: int | None, call_id: str | None = None, name: str | None = None, arguments: str = "") -> dict[str, Any]:
    """A chunk with a fragment of a tool call."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    fragment: dict[str, Any] = {"function": function} | ({"id": call_id} if call_id else {})
    return delta(tool_calls=[fragment if index is None else fragment | {"index": index}])


def usage(prompt: int, completion: int, cached: int = 0) -> dict[str, Any]:
    """The trailing chunk that holds usage and no choices."""
    details = {"cached_tokens": cached}
    return {
        "choices": [],
        "usage": {"prompt_tokens": prompt, "completion_tokens": completion, "prompt_tokens_details": details},
    }


def shared(first: bytes, second: bytes) -> bytes:
    """The bytes with which two requests begin alike."""
    differs = next((at for at, (one, other) in enumerate(zip(first, second, strict=False)) if one != other), len(first))
    return first[:differs]


@contextmanager
def chat_server() -> Iterator[ChatServer]:
    """The endpoint, for as long as the block lasts."""
    state = ChatServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            state.connections += 1

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            body = json.dumps({"object": "list", "data": [{"id": name} for name in state.models]}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            state.bodies.append(self.rfile.read(int(self.headers["content-length"])))
            state.requests.append(json.loads(state.bodies[-1]))
            state.paths.append(self.path)
            state.headers.append({name.lower(): value for name, value in self.headers.items()})
            status, pieces = state.answers.pop(0)
            if "date" in state.extra_headers:
                self.send_response_only(status)
            else:
                self.send_response(status)
            self.send_header("content-type", state.content_type if status == 200 else "application/json")
            self.send_header(*(("transfer-encoding", "chunked") if state.keep_alive else ("connection", "close")))
            for name, value in state.extra_headers.items():
                self.send_header(name, value)
            self.end_headers()
            for piece in pieces:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if state.keep_alive else piece)
                self.wfile.flush()
            if state.hang and self.connection.recv(1) == b"":
                state.closed_early.set()
            if state.keep_alive and not state.cut:
                self.wfile.write(b"0\r\n\r\n")
            self.close_connection = state.cut or not state.keep_alive

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
