"""Requests to web addresses, through the address guard. Knows methods and headers; bodies are read next door.

A call is one request to one address: a redirect is told and not followed, because rules, people and the guard against what
others wrote judge a call by its address, and the next one may be one that they forbid.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from zeno.core.errors import EffectUnknown, ToolFailed
from zeno.core.messages import FilePart
from zeno.core.ports import ToolContext, ToolOutput
from zeno.core.trace import traceparent
from zeno.tools.addresses import Exceptions
from zeno.tools.builtin.http_body import Body, marked, read_body, saved, text_of
from zeno.tools.function import FunctionTool, tool
from zeno.tools.thread import in_thread

if TYPE_CHECKING:
    from httpx2 import URL, AsyncBaseTransport, AsyncClient, Response

Method = Literal["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]

MOST_BYTES = 10 * 1024 * 1024
_MOST_HEADER_CHARACTERS = 16_384
_CHANGING = {"POST", "PUT", "PATCH", "DELETE"}
_REDIRECTS = {301, 302, 303, 307, 308}
_OURS = re.compile(
    r"host|content-length|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|accept-encoding|proxy-.*", re.I
)
"""Headers that describe the connection, which is not the caller's."""
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_TOLD = ("last-modified", "etag", "retry-after", "www-authenticate", "allow", "link", "content-disposition")
_SENT = "http11.send_request_headers.started"


@dataclass(frozen=True)
class _Request:
    method: str
    url: "URL"
    headers: Mapping[str, str]
    body: bytes


@dataclass(kw_only=True)
class _Exchange:
    """How far a request has come: `sent` says that it left for its server. `deadline` is a time of the event loop."""

    deadline: float
    sent: bool = False

    async def trace(self, event: str, _info: object) -> None:
        """Listens to the connection."""
        if event == _SENT:
            self.sent = True


def http_request_tool(
    allowed: Sequence[str] = (),
    *,
    transport: "AsyncBaseTransport | None" = None,
    seconds: float = 30,
    most_bytes: int = MOST_BYTES,
) -> FunctionTool:
    """The tool `http_request`. `allowed` are internal hosts and networks that may be reached, as in `Exceptions.of`.

    `seconds` is how long a call may take in all, `most_bytes` how much of a body is read. Raises `ConfigError` for an entry of
    `allowed` that cannot be understood. `transport` replaces the guarded one.
    """
    exceptions = Exceptions.of(allowed)

    @tool(effect="danger", source="http", timeout=seconds + 10, untrusted=True)
    async def http_request(
        url: str,
        ctx: ToolContext,
        method: Method = "GET",
        headers: dict[str, str] = {},  # noqa: B006 (the tool copies its defaults)
        body: str = "",
    ) -> ToolOutput:
        """Send an HTTP request to a public web address and return its answer: status, headers and body.

        Use it to read a web page or to call a web API. HTML comes back as text, JSON in lines, files are saved in the folder
        downloads. A redirect is not followed: call again with the address that it leads to. Internal addresses are refused.
        A changing request (POST, PUT, PATCH, DELETE) is not sent again when its fate is unknown.

        Args:
            url: The whole address, beginning with https:// or http://.
            ctx: Where the call happens.
            method: "GET" reads; "POST", "PUT", "PATCH" and "DELETE" change something.
            headers: Request headers by name, for example {"Accept": "application/json"}.
            body: The request body of a changing method; JSON is recognised and labelled as such.
        """
        from httpx2 import AsyncClient

        from zeno.tools.egress import GuardedTransport

        request = _checked(method, url, headers, body)
        exchange = _Exchange(deadline=asyncio.get_running_loop().time() + seconds)
        guarded = transport or GuardedTransport(exceptions=exceptions)
        own = {"User-Agent": "zeno", "traceparent": traceparent(ctx.run_id)}
        async with (
            AsyncClient(transport=guarded, headers=own, trust_env=False, timeout=seconds) as client,
            aclosing(await _sent(client, request, exchange)) as response,
        ):
            content = await read_body(response, most_bytes, exchange.deadline)
            return await in_thread(partial(_output, request, response, content, ctx), "http")

    @http_request.verified_by
    async def verify(arguments: dict[str, Any], _ctx: ToolContext) -> ToolOutput | None:
        """A request that changes nothing may simply be sent again."""
        if arguments["method"] in _CHANGING:
            raise EffectUnknown("Whether the server acted on the request cannot be told from here.", code="interrupted")
        return None

    return http_request


async def _sent(client: "AsyncClient", request: _Request, exchange: _Exchange) -> "Response":
    """Raises `ToolFailed` when nothing can have been changed, and `EffectUnknown`."""
    from httpx2 import HTTPError

    from zeno.tools.egress import Refused

    try:
        async with asyncio.timeout_at(exchange.deadline):
            message = client.build_request(
                request.method,
                request.url,
                headers=dict(request.headers),
                content=request.body or None,
                extensions={"trace": exchange.trace},
            )
            return await client.send(message, stream=True, follow_redirects=False)
    except Refused as refusal:
        raise ToolFailed(
            f"{request.url.host} was not asked: {refusal.reason} Nothing was sent. Use a public address; the operator can "
            f"except an internal one.",
            code="address_refused",
        ) from None
    except (HTTPError, TimeoutError) as error:
        raise _lost(request, exchange, error) from None


def _lost(request: _Request, exchange: _Exchange, error: Exception) -> ToolFailed:
    reason = "it took too long" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
    where = f"{request.method} {_shown(request.url)}"
    if not exchange.sent:
        return ToolFailed(
            f"{where} was not sent: {request.url.host} cannot be reached ({reason}). Check the address, or try again later.",
            code="unreachable",
        )
    if request.method in _CHANGING:
        return EffectUnknown(
            f"{where} was sent, but no answer came back ({reason}). Whether it took effect is unknown: check before trying "
            f"again.",
            code="no_answer",
        )
    return ToolFailed(f"{where} got no answer ({reason}). Try again later.", code="no_answer")


def _checked(method: str, url: str, headers: dict[str, str], body: str) -> _Request:
    """Raises `ToolFailed` for a request that cannot be sent as it is."""
    from httpx2 import URL, InvalidURL

    try:
        address = URL(url.strip())
    except InvalidURL as error:
        raise ToolFailed(
            f"{url[:200]!r} is not an address: {error}. Give one such as https://example.com/.", code="bad_url"
        ) from None
    for name, told in headers.items():
        if not _NAME.fullmatch(name) or not told.isascii() or not told.replace("\t", " ").isprintable():
            raise ToolFailed(f"The header {name!r} has characters that no header has. Nothing was sent.", code="bad_header")
        if _OURS.fullmatch(name):
            raise ToolFailed(f"The header {name} is set by the connection. Leave it out. Nothing was sent.", code="bad_header")
    if sum(len(name) + len(told) for name, told in headers.items()) > _MOST_HEADER_CHARACTERS:
        raise ToolFailed(f"The headers have more than {_MOST_HEADER_CHARACTERS} characters.", code="bad_header")
    if body and method not in _CHANGING:
        raise ToolFailed(f"{method} has no body. Leave it out, or use POST. Nothing was sent.", code="bad_arguments")
    try:
        content = body.encode()
    except UnicodeEncodeError:
        raise ToolFailed("The body holds half a character (a lone surrogate). Correct it.", code="bad_text") from None
    typed = any(name.lower() == "content-type" for name in headers)
    return _Request(method, address, headers if typed or not body else headers | {"Content-Type": _type_of(content)}, content)


def _type_of(content: bytes) -> str:
    try:
        msgspec.json.decode(content)
    except msgspec.DecodeError:
        return "text/plain; charset=utf-8"
    return "application/json"


def _output(request: _Request, response: "Response", body: Body, ctx: ToolContext) -> ToolOutput:
    """What the model reads: the conclusion, then what came from outside, marked as such."""
    content_type = re.sub(r"[^\w.+/-].*", "", response.headers.get("content-type", ""))[:100] or "no type"
    size = _size(len(body.content))
    lines = [f"{request.method} {_shown(request.url)} answered {_status(response)}, {content_type}, {size}."]
    told = [f"{name}: {response.headers[name][:300]}" for name in _TOLD if name in response.headers]
    if response.status_code in _REDIRECTS and "location" in response.headers:
        lines.append(_how_to_go_on(request, response.status_code))
        told.insert(0, f"location: {_location(request, response)}")
    text = text_of(body.content, response.headers.get("content-type", "")) if body.content else ""
    file: FilePart | None = None
    if text is None and body.ended == "whole":
        try:
            file = saved(ctx.workspace, response, body.content)
        except (OSError, ToolFailed) as error:
            lines.append(f"The body is a file that could not be saved: {error}")
        else:
            lines.append(f"The body was saved as {file.path} ({file.size} bytes).")
    if body.ended != "whole":
        why = "is larger than is read" if body.ended == "too_large" else "broke off before its end"
        lines.append(f"The body {why}; " + ("this is its beginning." if text else "it was not saved."))
    outside = "\n".join([*told, *(["", text] if text else [])]).strip()
    return ToolOutput(
        "\n".join([*lines, *([marked(outside, request.url.host)] if outside else [])]), files=(file,) if file else ()
    )


def _how_to_go_on(request: _Request, status: int) -> str:
    """What to do about a redirect, by the rules that browsers follow."""
    becomes_get = request.method == "POST" if status in (301, 302) else status == 303 and request.method != "HEAD"
    method = "GET without a body" if becomes_get else request.method
    return (
        f"It redirects to the location below, which was not asked, because each address is judged by itself. To go on, call "
        f"http_request again with that address and {method}; send no secret of {request.url.host} to another host."
    )


def _location(request: _Request, response: "Response") -> str:
    """Where a redirect leads, as a whole address if it is one."""
    from httpx2 import InvalidURL

    location: str = response.headers["location"]
    try:
        return str(request.url.join(location))
    except InvalidURL:
        return location


def _status(response: "Response") -> str:
    """The code with its usual phrase; the server's own phrase is not repeated."""
    try:
        return f"{response.status_code} {HTTPStatus(response.status_code).phrase}"
    except ValueError:
        return str(response.status_code)


def _size(count: int) -> str:
    if count < 1024:
        return f"{count} bytes"
    return f"{count / 1024:.1f} KB" if count < 1024 * 1024 else f"{count / 1024 / 1024:.1f} MB"


def _shown(url: "URL") -> str:
    """The address, without anything that could be a password."""
    return str(url.copy_with(username=None, password=None) if url.userinfo else url)[:1000]
