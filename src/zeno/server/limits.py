"""Limits around all routes: how large and how many requests may be, and what browsers may do with the replies.

Nothing here holds a reply back, and what a stream of events sends passes through one plain function.
"""

import hashlib
import ipaddress
import math
import re
from collections import OrderedDict
from collections.abc import Awaitable, Iterable

from limits import RateLimitItem, parse
from limits.aio.storage import MemoryStorage, Storage
from limits.aio.strategies import FixedWindowRateLimiter
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zeno.core.errors import Invalid, TooMany
from zeno.runs.clock import now
from zeno.server.hosts import HostCheck, TrustedProxies
from zeno.server.problems import problem
from zeno.server.proof import expect_proof
from zeno.settings import ServerSettings

API = "/api/"
LOGIN = "/api/v1/login"
UPLOADS = re.compile(r"/api/v1/sessions/[^/]+/files/.+")
"""The paths that files are sent to."""

SECURITY_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), serial=(), usb=()"),
    (
        b"content-security-policy",
        # Formulas, charts and the page's parts set styles as they are drawn; of scripts there are none but the page's own.
        b"default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:;"
        b" font-src 'self' data:; connect-src 'self'; frame-src 'none'; object-src 'none'; base-uri 'none';"
        b" form-action 'self'; frame-ancestors 'none'",
    ),
)

MOST_REMEMBERED = 10_000
"""Credentials whose owner is remembered, so that they count on the owner and not on the address."""


def wrapped(app: ASGIApp, settings: ServerSettings, counts: Storage | None = None) -> ASGIApp:
    """The application within all limits. `counts` keeps how often who has asked; default: this process's memory."""
    guarded: ASGIApp = BodyLimit(app, settings.max_body, settings.max_upload)
    guarded = RateLimit(guarded, parse(settings.rate_limit), parse(settings.login_rate_limit), counts or MemoryStorage())
    if settings.cors_origins:
        guarded = CORSMiddleware(
            guarded,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID"],
            expose_headers=["Location", "Retry-After", "X-Request-Id"],
        )
    guarded = HostCheck(guarded, settings)
    if settings.trusted_proxies:
        guarded = TrustedProxies(guarded, [ipaddress.ip_network(network) for network in settings.trusted_proxies])
    return SecurityHeaders(guarded)


class SecurityHeaders:
    """Tells browsers to be strict with every reply, and to keep none of the API's."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        private = scope["path"].startswith(API)

        # Not a coroutine: each chunk of a stream costs one comparison more, and no frame that is awaited.
        def sending(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                message["headers"] = _strict(message.get("headers", ()), private=private)
            return send(message)

        await self._app(scope, receive, sending)


class BodyLimit:
    """Refuses bodies that say they are too large, and cuts off those that turn out to be."""

    def __init__(self, app: ASGIApp, usual: int, upload: int) -> None:
        self._app = app
        self._usual = usual
        self._upload = upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = self._upload if UPLOADS.fullmatch(scope["path"]) else self._usual
        if _content_length(scope) > most:
            await problem(Invalid("body_too_large", most=most), scope)(scope, receive, send)
        elif scope["method"] in {"GET", "HEAD"}:
            # Routes read no bodies of these, and streams of events are such.
            await self._app(scope, receive, send)
        else:
            await _Counted(self._app, most, scope, receive, send).answer()


class _Counted:
    """One request whose body is counted as it arrives."""

    def __init__(self, app: ASGIApp, most: int, scope: Scope, receive: Receive, send: Send) -> None:
        self._app = app
        self._most = most
        self._scope = scope
        self._receive = receive
        self._send = send
        self._size = 0
        self._started = False

    async def answer(self) -> None:
        try:
            await self._app(self._scope, self._receiving, self._sending)
        except Exception:
            # What the application makes of a caller that is gone has been answered already.
            if self._size <= self._most:
                raise

    async def _receiving(self) -> Message:
        if self._size > self._most:
            return {"type": "http.disconnect"}
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size <= self._most:
            return message
        if not self._started:
            answer = problem(Invalid("body_too_large", most=self._most), self._scope)
            await answer(self._scope, self._receive, self._send)
        return {"type": "http.disconnect"}

    async def _sending(self, message: Message) -> None:
        if self._size <= self._most or self._started:
            self._started = True
            await self._send(message)


class RateLimit:
    """Counts requests to the API: for each user, for each address while nobody is known, and attempts to log in."""

    def __init__(self, app: ASGIApp, usual: RateLimitItem, logins: RateLimitItem, counts: Storage) -> None:
        self._app = app
        self._usual = usual
        self._logins = logins
        self._limiter = FixedWindowRateLimiter(counts)
        self._owners: OrderedDict[bytes, str] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(API):
            await self._app(scope, receive, send)
            return
        credential = _credential(scope)
        if scope["path"].rstrip("/") == LOGIN:
            limit, caller = self._logins, f"login {_station(scope)}"
        else:
            limit, caller = self._usual, self._owners.get(credential, "") or f"address {_station(scope)}"
        if not await self._limiter.hit(limit, caller):
            reset = (await self._limiter.get_window_stats(limit, caller)).reset_time
            wait = max(1, math.ceil(reset - now() / 1000))
            await problem(TooMany("rate_limited", retry_after=wait), scope)(scope, receive, send)
            return
        proof = expect_proof(scope)
        try:
            await self._app(scope, receive, send)
        finally:
            self._remember(credential, proof.principal)

    def _remember(self, credential: bytes, owner: str) -> None:
        """A credential counts on its owner from its second request on: only then is it known to be one."""
        self._owners.pop(credential, None)
        if owner:
            self._owners[credential] = owner
            if len(self._owners) > MOST_REMEMBERED:
                self._owners.popitem(last=False)


def _strict(given: Iterable[tuple[bytes, bytes]], *, private: bool) -> list[tuple[bytes, bytes]]:
    headers = list(given)
    if private:
        headers = [(name, value) for name, value in headers if name != b"cache-control" or b"no-store" in value]
    names = {name for name, _ in headers}
    more = (*SECURITY_HEADERS, (b"cache-control", b"no-store")) if private else SECURITY_HEADERS
    return headers + [header for header in more if header[0] not in names]


def _content_length(scope: Scope) -> int:
    given = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    return int(given) if given.isdigit() else 0


def _credential(scope: Scope) -> bytes:
    """What the request proves itself with, as a hash: the secret itself is kept nowhere."""
    given = [value for name, value in scope["headers"] if name in {b"authorization", b"cookie"}]
    return hashlib.sha256(b"\n".join(given)).digest() if given else b""


def _station(scope: Scope) -> str:
    """The caller's address; of an IPv6 one the network, for each caller has as many of those as it likes."""
    client = scope.get("client")
    try:
        address = ipaddress.ip_address(client[0]) if client else None
    except ValueError:
        address = None
    if isinstance(address, ipaddress.IPv6Address) and not address.ipv4_mapped:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address or "unknown")
