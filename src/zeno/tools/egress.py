"""The address guard: a transport of httpx2 that reaches public addresses and the operator's exceptions, and no others.

A name is resolved once, every address it has is judged, and the connection goes to a judged address: what the name says a
moment later does not matter. One internal address refuses the whole name, because a name that points outside and inside at once
is how a resolver is turned against its user. Knows hosts; knows nothing of what is asked of them.
"""

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import httpx2

from zeno.tools.addresses import Address, Exceptions, is_plain, is_public
from zeno.tools.thread import in_thread

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host name, for a port. Raises `OSError` when it has none."""

RESOLVE_SECONDS = 10.0
MOST_ATTEMPTS = 4
"""Addresses of one name that are tried in turn."""


class Refused(httpx2.RequestError):
    """A request that was not made, because its destination is not to be reached. `reason` is a sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


async def resolved(host: str, port: int) -> Sequence[str]:
    """The addresses of a name, from the system's resolver, within `RESOLVE_SECONDS`."""
    async with asyncio.timeout(RESOLVE_SECONDS):
        found = await in_thread(lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM), "resolve")
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(kw_only=True)
class GuardedTransport(httpx2.AsyncBaseTransport):
    """A transport that judges before it connects, and connects to what it judged.

    The name stays in the Host header and is what the certificate must be for. Proxies of the environment are not used, and no
    connection is kept: it would be known by its address, and serve another name that has the same one. Raises `Refused`, and
    `httpx2.ConnectError` when a host cannot be found or reached; nothing has been sent then.
    """

    exceptions: Exceptions = field(default_factory=Exceptions)
    resolve: Resolve = resolved
    verify: ssl.SSLContext | bool = True
    _inner: httpx2.AsyncHTTPTransport = field(init=False, repr=False)

    def __post_init__(self) -> None:
        limits = httpx2.Limits(max_keepalive_connections=0)
        self._inner = httpx2.AsyncHTTPTransport(verify=self.verify, limits=limits)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request to the first address of its host that takes the connection."""
        host, port = checked_host(request.url)
        failure: httpx2.RequestError = httpx2.ConnectError(f"{host} has no address")
        for address in (await self._judged(host, port))[:MOST_ATTEMPTS]:
            pinned = httpx2.Request(
                request.method,
                request.url.copy_with(host=str(address)),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": host},
            )
            try:
                return await self._inner.handle_async_request(pinned)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def aclose(self) -> None:
        """Close what is open."""
        await self._inner.aclose()

    async def _judged(self, host: str, port: int) -> list[Address]:
        try:
            found = [ipaddress.ip_address(address) for address in await self.resolve(host, port)]
        except TimeoutError:
            raise httpx2.ConnectError(f"the address of {host} was not found in {RESOLVE_SECONDS:g} s") from None
        except OSError as error:
            raise httpx2.ConnectError(f"the address of {host} was not found: {error.strerror or error}") from None
        if self.exceptions.names(host, port):
            return found
        inside = [address for address in found if not (is_public(address) or self.exceptions.holds(address))]
        if inside:
            raise Refused(f"{host} is in an internal or reserved network ({inside[0]}).")
        return found


def checked_host(url: httpx2.URL) -> tuple[str, int]:
    """Host and port of an address that may be asked for at all. Raises `Refused`."""
    if url.scheme not in ("http", "https"):
        raise Refused(f"Only http:// and https:// are supported, not {url.scheme or 'an address without a scheme'!r}.")
    if url.userinfo:
        raise Refused("The address holds a user name or password. Give credentials in the Authorization header.")
    host = url.raw_host.decode("ascii").lower()
    port = (443 if url.scheme == "https" else 80) if url.port is None else url.port
    if not is_plain(host):
        raise Refused(f"{host!r} is not a plain host name or address.")
    if not 0 < port < 65536:
        raise Refused(f"There is no port {port}.")
    return host, port
