"""Which network addresses are public, which hosts are excepted, which names are plain. Knows no connection, asks nobody."""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from zeno.core.errors import ConfigError

Address = IPv4Address | IPv6Address

_CLOSED_4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "168.63.129.16/32",  # Azure's host: looks public, answers every machine with its secrets
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ),
    )
)
"""The special-purpose networks of IANA's registry; what the standard library takes for global changes with its version."""
_UNICAST = IPv6Network("2000::/3")
"""All of IPv6 that is given to the public so far."""
_CLOSED_6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments, with Teredo, which holds IPv4 addresses
            "2001:db8::/32",
            "2002::/16",  # 6to4: holds an IPv4 address
            "3fff::/20",
        ),
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")
"""Holds an IPv4 address: it is how networks without IPv4 reach the rest, so what it holds is judged."""
_LABELS = re.compile(r"(?:(?!-)[a-z0-9_-]{1,63}(?<!-)\.)*(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")
_ENTRY = re.compile(r"(?:\[(?P<six>[^\]]+)\]|(?P<host>[^:\[\]]+))(?::(?P<port>\d{1,5}))?")


@dataclass(frozen=True)
class Exceptions:
    """What may be reached although it is internal: `hosts` by name or address, with `None` for all ports; and networks."""

    hosts: frozenset[tuple[str, int | None]] = frozenset()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def of(cls, entries: Sequence[str]) -> "Exceptions":
        """From settings: "host", "host:port", "[IPv6]:port" or "network/prefix". Raises `ConfigError` for anything else."""
        hosts: set[tuple[str, int | None]] = set()
        networks: list[IPv4Network | IPv6Network] = []
        for entry in entries:
            try:
                if "/" in entry:
                    networks.append(ipaddress.ip_network(entry.strip()))
                else:
                    hosts.add(_host_and_port(entry.strip()))
            except ValueError:
                raise ConfigError("http_allowed_invalid", entry=entry) from None
        return cls(frozenset(hosts), tuple(networks))

    def names(self, host: str, port: int) -> bool:
        """Whether the host is excepted as it is written."""
        return bool(self.hosts & {(host, None), (host, port)})

    def holds(self, address: Address) -> bool:
        """Whether the address lies in an excepted network."""
        return any(address in network for network in self.networks)


def is_public(address: Address) -> bool:
    """Whether an address is one that everybody in the world may reach, whatever its notation hides."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _CLOSED_4)
    if address in _NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
    return address in _UNICAST and not any(address in network for network in _CLOSED_6)


def is_plain(host: str) -> bool:
    """Whether a host, in lower case and ASCII, is a usual name or an address in its usual form.

    Other notations of a number are read differently by different programs, and so are a dot at the end and zones.
    """
    try:
        ipaddress.ip_address(host)
    except ValueError:
        last = host.rpartition(".")[2]
        return len(host) <= 253 and bool(_LABELS.fullmatch(host)) and not _NUMBER.fullmatch(last)
    return "%" not in host


def _host_and_port(entry: str) -> tuple[str, int | None]:
    """Raises `ValueError`."""
    try:
        address = ipaddress.ip_address(entry)
    except ValueError:
        pass
    else:
        return str(address), None
    found = _ENTRY.fullmatch(entry)
    if found is None:
        raise ValueError(entry)
    host = str(IPv6Address(found["six"])) if found["six"] else found["host"].encode("idna").decode("ascii").lower()
    port = int(found["port"]) if found["port"] else None
    if not is_plain(host) or port == 0 or (port or 1) > 65535:
        raise ValueError(entry)
    return host, port
