"""A network of a process's own (Linux), with wires to this machine's that can be cut and mended.

It knows nothing of who lives there. Making one takes root and `ip` (Debian's package iproute2).
"""

import os
import secrets
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NoReturn

import pytest

NETWORK = "198.18.0.0/15"
"""Where all wires lie: addresses that are set aside for trials and never routed."""


@dataclass(frozen=True)
class Wire:
    """A wire between this machine (`near`) and the namespace (`far`)."""

    device: str
    near: str
    far: str
    network: str

    def cut(self) -> None:
        """From now on nothing passes, and nobody is told."""
        _ip("link", "set", self.device, "down")

    def mend(self) -> None:
        """Let pass again."""
        _ip("link", "set", self.device, "up")


@dataclass(frozen=True)
class Namespace:
    """A network in which a process sees its wires and a loopback of its own, and nothing else."""

    name: str
    wires: list[Wire] = field(default_factory=list)

    @property
    def prefix(self) -> Sequence[str]:
        """What goes before the command of a process that is to live here."""
        return ("ip", "netns", "exec", self.name)

    def wire(self) -> Wire:
        """One wire more."""
        number = secrets.randbelow(2**15)
        network, near, far = (f"198.{18 + number // 2**14}.{number // 64 % 256}.{number % 64 * 4 + end}" for end in range(3))
        made = Wire(f"z{number}n", near, far, f"{network}/30")
        ends = {
            made.device: f"02:00:{secrets.token_bytes(4).hex(':')}",
            f"z{number}f": f"02:01:{secrets.token_bytes(4).hex(':')}",
        }
        here, there = ends
        own = ("type", "veth", "peer", "name", there, "address", ends[there], "netns", self.name)
        _ip("link", "add", here, "address", ends[here], *own)
        self.wires.append(made)
        _ip("address", "add", f"{near}/30", "dev", here)
        _ip("-n", self.name, "address", "add", f"{far}/30", "dev", there)
        _ip("-n", self.name, "link", "set", there, "up")
        # Never asked for again: silence would be noticed at once otherwise.
        _ip("-n", self.name, "neighbour", "add", near, "lladdr", ends[here], "dev", there, "nud", "permanent")
        # While it is cut, nothing that is meant for it may find another way out of this machine.
        _ip("route", "add", "blackhole", made.network, "metric", "4096")
        made.mend()
        return made


@contextmanager
def namespace() -> Iterator[Namespace]:
    """A namespace for the length of the block. Where none may be made the test is skipped, and fails on CI."""
    made = Namespace(f"zeno-{secrets.token_hex(4)}")
    try:
        _ip("netns", "add", made.name)
        _ip("-n", made.name, "link", "set", "lo", "up")
    except (OSError, subprocess.CalledProcessError) as error:
        _impossible(f"no network namespace can be made here: {getattr(error, 'stderr', '') or error}")
    try:
        yield made
    finally:
        # The wires go with it.
        _ip("netns", "delete", made.name)
        for wire in made.wires:
            _ip("route", "delete", "blackhole", wire.network, "metric", "4096")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def _impossible(reason: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
