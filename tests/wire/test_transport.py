"""The wire: framing of events, patience, connections, and errors without secrets."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.stubs.chat_server import ChatServer, chat_server, delta
from tests.wire.chat import KEY, RUN_ID, asked, text
from zeno.core.errors import ModelUnavailable
from zeno.models.transport import Timeouts, Transport


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as state:
        yield state


def transport(url: str, timeouts: Timeouts = Timeouts()) -> Transport:  # noqa: B008 - a frozen value
    return Transport(base_url=url, headers={"x-api-key": KEY}, secrets=(KEY,), timeouts=timeouts, family="test")


def events(server: ChatServer, *pieces: bytes) -> list[bytes]:
    """The events in these pieces."""

    async def collect() -> list[bytes]:
        wire = transport(server.url)
        try:
            return [payload async for payload in wire.events("/chat/completions", b"{}", RUN_ID)]
        finally:
            await wire.close()

    server.sends(*pieces)
    return asyncio.run(collect())


def failure(url: str, timeouts: Timeouts = Timeouts()) -> ModelUnavailable:  # noqa: B008 - a frozen value
    async def fail() -> None:
        wire = transport(url, timeouts)
        try:
            async for _ in wire.events("/chat/completions", b"{}", RUN_ID, "m"):
                pass
        finally:
            await wire.close()

    with pytest.raises(ModelUnavailable) as raised:
        asyncio.run(fail())
    return raised.value


FRAMES = [
    (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
    (b"data:a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
    (b": ping\n\ndata: a\n\n: ping\n\n", [b"a"]),
    (b"event: x\nid: 7\nretry: 10\ndata: a\n\n", [b"a"]),
    (b"data: a\ndata: b\n\n", [b"a\nb"]),
    (b"data: a\n\ndata: [DONE]\n\n", [b"a", b"[DONE]"]),
    (b"data: a\n\ndata: b", [b"a", b"b"]),
    (b"data:\n\ndata: a\n\n", [b"a"]),
    ("data: \u2028\x0b\x85\n\n".encode(), ["\u2028\x0b\x85".encode()]),
    (b"", []),
]


@pytest.mark.parametrize(("whole", "wanted"), FRAMES)
def test_events_are_cut_at_line_feeds_only(server: ChatServer, whole: bytes, wanted: list[bytes]) -> None:
    assert events(server, whole) == wanted
    assert events(server, *(bytes([byte]) for byte in whole)) == wanted, "byte by byte"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT", "date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 30),
        ({"retry-after": "Wed, 21 Oct 2015 07:27:30 GMT", "date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, 0),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_how_long_to_wait_is_read_from_the_answer(server: ChatServer, headers: dict[str, str], seconds: float | None) -> None:
    server.extra_headers |= headers
    server.refuses(429, "wait")
    error = failure(server.url)
    assert (error.code, error.retryable, error.retry_after) == ("model_busy", True, seconds)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_passing_troubles_may_be_tried_again(server: ChatServer, status: int) -> None:
    server.refuses(status, "later")
    assert failure(server.url).retryable


@pytest.mark.parametrize(
    ("status", "body"), [(400, "bad"), (401, "who"), (413, "long"), (429, '{"code": "insufficient_quota"}'), (301, "")]
)
def test_lasting_troubles_may_not(server: ChatServer, status: int, body: str) -> None:
    server.refuses(status, body)
    error = failure(server.url)
    assert not error.retryable
    assert error.params["model"] == "m"


def test_secrets_are_blanked_out_of_long_and_short_answers(server: ChatServer) -> None:
    server.refuses(400, f"{KEY} " * 200)
    assert KEY[:9] not in str(failure(server.url))
    server.refuses(400, "x" * 495 + KEY)
    assert KEY[:3] not in str(failure(server.url)), "nor the half that is left after cutting"


def test_an_address_is_shown_without_its_password(server: ChatServer) -> None:
    error = failure("http://user:hunter2@127.0.0.1:9/v1")
    assert error.code == "model_unreachable"
    assert "hunter2" not in str(error)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9/v1", "nonsense", "http://", "ftp://127.0.0.1/v1", "http://127.0.0.1:99999/v1"]
)
def test_an_address_where_nobody_is_is_said_to_be_so(url: str) -> None:
    assert failure(url).code == "model_unreachable"


def test_silence_before_and_between_events_has_an_end(server: ChatServer) -> None:
    server.hang = True
    server.sends()
    assert failure(server.url, Timeouts(first=0.2)).code == "model_timeout"
    server.sends(b"data: a\n\n")
    error = failure(server.url, Timeouts(first=30, between=0.2))
    assert (error.code, error.retryable) == ("model_timeout", True)
    server.sends(b"data: a\n\n")
    assert failure(server.url, Timeouts(total=0.3)).code == "model_timeout"


def test_a_proxy_is_not_asked_for_an_endpoint_on_this_machine(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    server.says(delta(content="ok"))
    assert text(asked(server)) == "ok"


def test_an_endpoint_elsewhere_is_asked_through_the_proxy(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    server.refuses(404, "through the proxy")
    assert failure("http://models.invalid/v1").params["reason"] == "through the proxy"
    assert server.paths == ["http://models.invalid/v1/chat/completions"]


def test_a_kept_connection_that_was_closed_meanwhile_is_replaced() -> None:
    """As by llama.cpp, which promises to keep connections and closes each one behind a streamed reply."""
    head, event = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n", b"data: a\n\n"
    heard: list[int] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(0)
        while await reader.readuntil(b"{}"):
            heard[-1] += 1
            if heard[-1] > 1:
                break
            writer.write(head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(event), event))
        writer.close()

    async def ask_twice() -> list[list[bytes]]:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
            wire = transport(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1")
            try:
                return [[event async for event in wire.events("/chat/completions", b"{}", RUN_ID)] for _ in range(2)]
            finally:
                await wire.close()

    assert asyncio.run(ask_twice()) == [[b"a"], [b"a"]]
    assert heard[0] == 2, "the second request went over the connection of the first one"
    assert heard[1:] == [1]


def test_json_is_got(server: ChatServer) -> None:
    async def get() -> object:
        wire = transport(server.url)
        try:
            return await wire.get("/models")
        finally:
            await wire.close()

    assert asyncio.run(get()) == {"object": "list", "data": [{"id": "nomic-embed-text"}, {"id": "tiny-chat"}]}
    assert "hunter" not in repr(transport("http://x")), "the key is in no repr"
    assert KEY not in repr(transport("http://x"))
