"""Owners of leases: a name for this process by which its neighbours can tell, without waiting, that it has died."""

import functools
import os
import socket
from pathlib import Path

import psutil


@functools.cache
def this_process() -> str:
    """The name of this process: where it runs, its number, and when it began (numbers are used again)."""
    return f"{_place()} {os.getpid()} {psutil.Process().create_time():.2f}"


def is_dead(owner: str) -> bool:
    """Whether `owner` was a process of this place that is no more. Of another place nothing is known: False."""
    place, _, rest = owner.partition(" ")
    number, _, began = rest.partition(" ")
    if place != _place() or not number.isdigit():
        return False
    try:
        process = psutil.Process(int(number))
        return f"{process.create_time():.2f}" != began or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
    except psutil.AccessDenied:
        return False


@functools.cache
def _place() -> str:
    """Host, boot and process namespace: two containers may share a host's name, but not its process numbers."""
    parts = [socket.gethostname()]
    boot = Path("/proc/sys/kernel/random/boot_id")
    namespace = Path("/proc/self/ns/pid")
    if boot.exists() and namespace.is_symlink():
        parts += [boot.read_text().strip(), str(namespace.readlink())]
    return "/".join(parts).replace(" ", "-")
