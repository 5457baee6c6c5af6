"""The wire to a model's endpoint: one POST, one stream of server-sent events, failures by name. It knows no provider's JSON.

Source of the framing: "Server-sent events" of the HTML standard. aiohttp is used because its parser is written in C: on the
same local server a request costs a quarter, and a streamed token half, of what the pure Python clients take.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from zeno.core.errors import ModelUnavailable
from zeno.core.trace import traceparent
from zeno.models.patience import Patience

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

OK = 200
MOST_BYTES = 64 << 20
"""The longest single event that is accepted, in bytes."""

_CODES = {401: "model_unauthorized", 403: "model_unauthorized", 404: "model_not_found", 429: "model_busy"}
_DOCUMENTS = {"application/json", "text/html"}
"""Types of answers that are one whole: of a server that does not stream, or of one that is no model's."""
_PASSING = {408, 409, 425, 429, 500, 502, 503, 504, 529}
"""Statuses that say nothing against the request itself; 529 is Anthropic's "overloaded"."""


_TOO_LONG = re.compile(
    r"context.{0,3}(?:length|size|window).{0,40}exce|exce.{0,40}context.{0,3}(?:length|size|window)|"
    r"maximum context length|prompt is too long|too many (?:input )?tokens",
    re.IGNORECASE | re.DOTALL,
)
"""How endpoints say that a conversation does not fit their model."""


@dataclass(frozen=True, kw_only=True)
class Timeouts:
    """Patience in seconds: to connect, until the first event, between two pieces after it, and for the whole reply."""

    connect: float = 10
    first: float = 120
    between: float = 60
    total: float = 900


@dataclass(kw_only=True)
class Transport:
    """One endpoint. `headers` hold the key; `secrets` are blanked out of every error; `family` names the protocol.

    Connections stay open between requests and belong to the event loop of the first one. An endpoint on this machine is asked
    directly; others through the proxy, and with the certificates, that the usual environment variables name.
    """

    base_url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    timeouts: Timeouts = Timeouts()
    family: str
    _session: "ClientSession | None" = field(default=None, init=False, repr=False)

    async def events(self, path: str, body: bytes, run_id: str, model: str = "") -> AsyncGenerator[bytes, None]:
        """The data of each event that answers the POST of `body`, to the end of the reply, so that the connection lives on.

        A reply that is no stream but one JSON document comes as one event. Closing the generator closes the connection at once.
        Raises `ModelUnavailable`; `model` is named in it.
        """
        told = False
        async with self._exchange("POST", path, body, run_id, model) as response:
            reading = response.content.iter_any().__aiter__()
            framing = _Document() if response.content_type in _DOCUMENTS else Events()
            patience = Patience(response.close)
            try:
                while True:
                    patience.wait(self.timeouts.between if told else self.timeouts.first)
                    piece = await anext(reading, b"")
                    patience.rest()
                    if patience.expired:
                        raise TimeoutError
                    for payload in framing.take(piece) if piece else framing.end():
                        told = True
                        yield payload
                    if not piece:
                        return
                    if framing.held > MOST_BYTES:
                        raise self.unavailable("model_protocol_error", "an event without end", model)
            except Exception:
                if patience.expired:
                    # The connection broke because it was closed from this side.
                    raise TimeoutError from None
                raise
            finally:
                patience.end()

    async def get(self, path: str) -> Any:
        """The JSON at `path`. Raises `ModelUnavailable`."""
        async with self._exchange("GET", path) as response, asyncio.timeout(self.timeouts.first):
            text = await response.read()
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError:
            raise self.unavailable("model_protocol_error", text[:16384].decode("utf-8", "replace")) from None

    async def close(self) -> None:
        """Let go of the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    @property
    def endpoint(self) -> str:
        """The address as it may be shown: without a name and password in it."""
        parts = urlsplit(self.base_url)
        return self.safe(urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])))

    @asynccontextmanager
    async def _exchange(
        self, method: str, path: str, body: bytes | None = None, run_id: str = "", model: str = ""
    ) -> "AsyncIterator[ClientResponse]":
        """A request and its accepted answer; whatever goes wrong until it is read becomes `ModelUnavailable`."""
        import aiohttp

        trace = {"traceparent": traceparent(run_id)} if run_id else {}
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self.timeouts.first):
                    response = await stack.enter_async_context(await self._answer(method, path, body, trace))
                    if response.status != OK:
                        raise await self._refused(response, model)
                yield response
        except aiohttp.ConnectionTimeoutError:
            raise self.unavailable("model_unreachable", "connecting took too long", model, retryable=True) from None
        except TimeoutError:
            raise self.unavailable("model_timeout", "", model, retryable=True) from None
        except aiohttp.ClientConnectorError as error:
            passing = not isinstance(error, aiohttp.ClientSSLError)
            raise self.unavailable("model_unreachable", str(error), model, retryable=passing) from None
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError, ValueError) as error:
            raise self.unavailable("model_unreachable", str(error) or "no address", model) from None
        except (aiohttp.ClientError, OSError) as error:
            reason = str(error) or type(error).__name__
            raise self.unavailable("model_connection_lost", reason, model, retryable=True) from None

    async def _answer(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> "ClientResponse":
        """The head of the answer; asked for once more where a kept connection turns out to be closed.

        llama.cpp promises to keep its connections and closes each one behind a streamed reply.
        """
        import aiohttp

        def asked() -> Awaitable["ClientResponse"]:
            return self._opened().request(method, self.base_url + path, data=body, headers=headers, allow_redirects=False)

        try:
            return await asked()
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError):
            return await asked()

    def _opened(self) -> "ClientSession":
        if self._session is None:
            import aiohttp

            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
                cookie_jar=aiohttp.DummyCookieJar(),
                # Compressed events would wait in the compressor's buffer.
                headers={"content-type": "application/json", "accept-encoding": "identity", "user-agent": "zeno"}
                | {**self.headers},
                timeout=aiohttp.ClientTimeout(total=self.timeouts.total, connect=self.timeouts.connect),
                trust_env=urlsplit(self.base_url).hostname not in {"localhost", "127.0.0.1", "::1"},
            )
        return self._session

    async def _refused(self, response: "ClientResponse", model: str) -> ModelUnavailable:
        """The error of an answer that is not 200, with the head of what the endpoint says."""
        try:
            # Much more than is shown: a key at the end must not be cut into one that is not recognised.
            data = await response.content.readexactly(16384)
        except asyncio.IncompleteReadError as end:
            data = end.partial
        return self.refused(response.status, data.decode("utf-8", "replace"), model, _retry_after(response.headers))

    def refused(self, status: int, reason: str, model: str = "", retry_after: float | None = None) -> ModelUnavailable:
        """The error for an HTTP status, whether it came as one or inside a stream."""
        # A used-up account also answers 429, and waiting does not fill it.
        passing = status in _PASSING and "insufficient_quota" not in reason
        code = "context_exceeded" if _TOO_LONG.search(reason) else _CODES.get(status, "model_http_error")
        return self.unavailable(code, reason, model, retryable=passing, retry_after=retry_after, status=status)

    def unavailable(
        self, code: str, reason: str, model: str = "", *, retryable: bool = False, retry_after: float | None = None, **more: int
    ) -> ModelUnavailable:
        """An error that names the endpoint and the model, and holds no secret."""
        named = {"endpoint": self.endpoint, "model": model, "reason": self.safe(reason)[:500]}
        return ModelUnavailable(code, retryable=retryable, retry_after=retry_after, **named, **more)

    def safe(self, text: str) -> str:
        """`text` without the secrets: some servers repeat the key in their errors."""
        for secret in filter(None, self.secrets):
            text = text.replace(secret, "***")
        return text


class Events:
    """Cuts bytes into the data of events. Only line feeds cut: JSON may contain whatever else looks like the end of a line."""

    def __init__(self) -> None:
        self._rest = b""
        self._lines: list[bytes] = []

    @property
    def held(self) -> int:
        return len(self._rest)

    def take(self, piece: bytes) -> Iterator[bytes]:
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                self._lines.append(line[5:].strip())
            elif self._lines and line in {b"", b"\r"}:
                payload = b"\n".join(self._lines)
                self._lines.clear()
                if payload:
                    yield payload

    def end(self) -> Iterator[bytes]:
        """What is left: many servers do not close their last event."""
        return self.take(b"\n\n")


class _Document:
    """The whole body as one event."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.held = 0

    def take(self, piece: bytes) -> Iterable[bytes]:
        self._pieces.append(piece)
        self.held += len(piece)
        return ()

    def end(self) -> Iterable[bytes]:
        return [b"".join(self._pieces)]


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the endpoint asks to wait: a number or a date, which is counted from the endpoint's own clock."""
    try:
        if "retry-after-ms" in headers:
            seconds = float(headers["retry-after-ms"]) / 1000
        elif headers.get("retry-after", "").strip()[:1].isalpha():
            seconds = (parsedate_to_datetime(headers["retry-after"]) - parsedate_to_datetime(headers["date"])).total_seconds()
        else:
            seconds = float(headers["retry-after"])
    except (KeyError, ValueError, TypeError):
        return None
    return max(0.0, seconds) if isfinite(seconds) else None
