"""A Redis of a test's own: nothing is kept, it can be stopped, killed and started again at the same address."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as NotThere

from tests.with_services import quiet_port

LIMIT = 20.0
"""Seconds in which it has to begin, or to end."""


class RedisServer:
    """A server at these addresses, of which the first is this machine's own."""

    def __init__(self, program: str, password: str = "", addresses: Sequence[str] = ("127.0.0.1",)) -> None:
        self.port, self._password = quiet_port(), password
        self.url = self.url_at(addresses[0])
        self._command = [program, "--port", str(self.port), "--bind", *addresses, "--save", "", "--appendonly", "no"]
        self._command += ["--requirepass", password] if password else []
        self._process: subprocess.Popen[bytes] | None = None

    def url_at(self, address: str) -> str:
        """Where it is to be had, from this address."""
        return f"redis://{f':{self._password}@' if self._password else ''}{address}:{self.port}/0"

    def start(self) -> None:
        """Begin, and take connections."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=Path("/"))
        end = time.monotonic() + LIMIT
        while True:
            with self.client() as client, contextlib.suppress(NotThere):
                if client.ping():
                    return
            if time.monotonic() > end or self._process.poll() is not None:
                raise RuntimeError("redis-server did not begin")
            time.sleep(0.02)

    def kill(self) -> None:
        """End at once, with everything that was in it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(LIMIT)
            self._process = None

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """It takes connections and does not answer, for the length of the block."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    @contextmanager
    def client(self) -> Iterator[Redis]:
        """A client, closed at the end."""
        client = Redis.from_url(self.url, socket_timeout=LIMIT)
        try:
            yield client
        finally:
            client.close()


@contextmanager
def redis_server(password: str = "", addresses: Sequence[str] = ("127.0.0.1",)) -> Iterator[RedisServer]:
    """A server for the length of the block. Without `redis-server` the test is skipped, and fails on CI."""
    program = shutil.which("redis-server")
    if program is None:
        reason = "redis-server is not installed"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    server = RedisServer(program, password, addresses)
    server.start()
    try:
        yield server
    finally:
        server.kill()
