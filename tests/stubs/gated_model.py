"""A model's endpoint on loopback that speaks the Chat Completions wire format and writes on only when it is let."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BOUND = 60.0
"""Seconds that it waits at a gate; a test that has failed opens none."""


@dataclass(frozen=True)
class Gate:
    """A place in an answer at which the model waits until it is let on. `reached` says that it is there."""

    reached: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)

    def wait(self) -> None:
        """Return when the model has come here."""
        assert self.reached.wait(BOUND), "the model never came here"

    def open(self) -> None:
        """Let it go on."""
        self.opened.set()


@dataclass(frozen=True)
class Paced:
    """Pieces of text, so many a second."""

    pieces: tuple[str, ...]
    per_second: float


Piece = str | tuple[str, str] | Gate | Paced | dict[str, Any]
"""Text; `("thinking", text)`; a gate; paced text; or a tool call as `{"name": ..., "arguments": {...}}`."""


@dataclass
class GatedModel:
    """Answers one request after the other with what it was given; asked once more, it says that it has nothing to say."""

    answers: list[list[Piece]] = field(default_factory=list)
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def says(self, *pieces: Piece) -> None:
        """Answer the next request with these."""
        self.answers.append(list(pieces))

    def taken(self, request: dict[str, Any]) -> list[Piece]:
        """What is said to this request."""
        with self._lock:
            self.asked.append(request)
            return self.answers.pop(0) if self.answers else ["I have nothing to say."]


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    body = {"model": "gated", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


def _chunks(pieces: list[Piece]) -> Iterator[bytes]:
    calls = 0
    for piece in pieces:
        match piece:
            case str():
                yield _chunk({"content": piece})
            case ("thinking", text):
                yield _chunk({"reasoning_content": text})
            case Gate():
                piece.reached.set()
                piece.opened.wait(BOUND)
            case Paced(texts, per_second):
                began = time.monotonic()
                for number, text in enumerate(texts):
                    time.sleep(max(0.0, began + number / per_second - time.monotonic()))
                    yield _chunk({"content": text})
            case {"name": name, "arguments": arguments}:
                function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
                yield _chunk({"tool_calls": [{"index": calls, "id": f"c{calls}", "type": "function", "function": function}]})
                calls += 1
    yield _chunk({}, "tool_calls" if calls else "stop")
    usage = {"prompt_tokens": 100, "completion_tokens": 20}
    yield b"data: " + json.dumps({"model": "gated", "choices": [], "usage": usage}).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


@contextmanager
def gated_model() -> Iterator[GatedModel]:
    """The endpoint, for as long as the block lasts."""
    state = GatedModel()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("application/json", json.dumps({"data": [{"id": "gated"}]}).encode())

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            pieces = state.taken(json.loads(self.rfile.read(length)))
            # Whoever asked may have gone, as when a run is stopped.
            with contextlib.suppress(OSError):
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                for chunk in _chunks(pieces):
                    self.wfile.write(chunk)
                    self.wfile.flush()

        def _answer(self, media_type: str, body: bytes) -> None:
            self.send_response(200)
            self.send_header("content-type", media_type)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield state
    finally:
        for answer in state.answers:
            for piece in answer:
                if isinstance(piece, Gate):
                    piece.open()
        server.shutdown()
        server.server_close()
