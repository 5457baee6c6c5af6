"""Hosts: under which names the server may be asked, where it may listen, and whose word counts on who is asking.

A page of another site can make its own name point at this machine (DNS rebinding); the name it asks for gives it away.
"""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from zeno.core.errors import ConfigError, Invalid
from zeno.server.problems import problem
from zeno.settings import ServerSettings

LEAST_TOKEN = 16
"""Characters of a token that may be asked for from other machines."""

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?")
_UNSPECIFIED = {"0.0.0.0", "::", ""}  # noqa: S104 - to know it, not to listen there


def ensure_safe_to_listen(settings: ServerSettings) -> None:
    """Raise `ConfigError` when other machines could reach the one user's server with a token that nobody chose."""
    chosen = len(settings.token.get_secret_value())
    if settings.auth == "local" and not _is_loopback(settings.host) and chosen < LEAST_TOKEN:
        raise ConfigError("token_required", host=settings.host, least=LEAST_TOKEN)


class HostCheck:
    """Refuses requests for names that the server does not have.

    With accounts and no names configured any name will do: there a browser carries nothing that another name could use.
    """

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._allowed = [name.lower().rstrip(".") for name in settings.allowed_hosts]
        self._any = "*" in self._allowed or (settings.auth == "team" and not self._allowed)
        if settings.host not in _UNSPECIFIED:
            self._allowed.append(settings.host.lower())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._any or self._has(scope):
            await self._app(scope, receive, send)
        else:
            await problem(Invalid("host_not_allowed"), scope)(scope, receive, send)

    def _has(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"host"]
        match = _HOST.fullmatch(given[0].decode("latin-1").lower()) if len(given) == 1 else None
        if match is None:
            return False
        name = match["name"].strip("[]").rstrip(".")
        return _is_loopback(name) or any(_fits(name, allowed) for allowed in self._allowed)


@dataclass(frozen=True)
class TrustedProxies:
    """Believes what proxies of the operator's say about where a request comes from, and nobody else."""

    app: ASGIApp
    networks: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        if scope["type"] == "http" and client and self._trusts(client[0]):
            scope = {**scope, **self._told(scope, client[0])}
        await self.app(scope, receive, send)

    def _told(self, scope: Scope, nearest: str) -> dict[str, object]:
        stations = _listed(scope, b"x-forwarded-for")
        schemes = [scheme.lower() for scheme in _listed(scope, b"x-forwarded-proto")]
        # From the nearest outwards: the first that is not a proxy of ours is as far as anyone can be believed.
        for station in reversed(stations):
            address = _address(station)
            if address is None:
                break
            nearest = address
            if not self._trusts(address):
                break
        told: dict[str, object] = {"client": (nearest, 0)}
        if schemes and schemes[-1] in {"http", "https"}:
            told["scheme"] = schemes[-1]
        return told

    def _trusts(self, station: str) -> bool:
        try:
            address = ipaddress.ip_address(station)
        except ValueError:
            return False
        return any(address in network for network in self.networks)


def _listed(scope: Scope, header: bytes) -> list[str]:
    values = b",".join(value for name, value in scope["headers"] if name == header).decode("latin-1").split(",")
    return [value.strip() for value in values if value.strip()]


def _address(station: str) -> str | None:
    """The address in `1.2.3.4`, `1.2.3.4:5`, `::1` or `[::1]:5`."""
    bare = station[1:].partition("]")[0] if station.startswith("[") else station
    bare = bare.partition(":")[0] if bare.count(":") == 1 else bare
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        return None


def _fits(name: str, allowed: str) -> bool:
    return name.endswith(allowed[1:]) if allowed.startswith("*.") else name == allowed


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"
