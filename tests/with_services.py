"""Starts throwaway servers for the tests, runs a command beside them, and takes them away again.

    python -m tests.with_services pytest -n auto

PostgreSQL, MariaDB and Redis come from installed packages, on free ports, with data in a temporary directory. One that is not
installed is named and left out: its tests are skipped, or fail where everything must run.
"""

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

BOUND = 60
"""Seconds that a server may take to start."""


class Missing(Exception):
    """A server is not installed here."""


def free_port() -> int:
    """A port that nothing listens at now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def quiet_port(address: str = "127.0.0.1") -> int:
    """A port that nothing listens at now, and that no connection is given by itself: it is still free after a restart."""
    while True:
        port = 20_000 + secrets.randbelow(10_000)
        with contextlib.suppress(OSError), socket.create_server((address, port)):
            return port


def binary(name: str, *places: str) -> str:
    """Where a program is. Raises `Missing`."""
    found = shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", *places)))
    if found is None:
        raise Missing(f"{name} is not installed")
    return found


def account(name: str) -> str | None:
    """The user that a server has to run as when we are root, which some refuse to be."""
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(name).pw_name if os.geteuid() == 0 else None
    raise Missing(f"there is no user {name}")


@contextmanager
def running(command: list[str], log: Path, answers: Callable[[], bool], user: str | None = None) -> Iterator[None]:
    """A server for the length of the block, once it answers."""
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, user=user, cwd="/")
    deadline = time.monotonic() + BOUND
    try:
        while not answers():
            if process.poll() is not None or time.monotonic() > deadline:
                raise Missing(f"{command[0]} did not start:\n{log.read_text()[-2000:]}")
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class PostgresServer:
    """A PostgreSQL server that can be stopped, killed and started again at the same addresses, with what is in it.

    `addresses` are those that it listens at; `trusted` is a network from which anyone may come in, besides this machine itself.
    """

    def __init__(self, home: Path, *, addresses: Sequence[str] = ("127.0.0.1",), trusted: str = "") -> None:
        places = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)
        self._home, self._user, self.port = home, account("postgres"), quiet_port()
        self._process: psutil.Popen | None = None
        if self._user:
            shutil.chown(home, self._user)
        self._data = str(home / "data")
        init = [binary("initdb", *places), "-D", self._data, "-U", "postgres", "-A", "trust", "--no-sync"]
        subprocess.run([*init, "-E", "UTF8", "--locale=C"], check=True, capture_output=True, user=self._user, cwd="/")
        if trusted:
            with (home / "data" / "pg_hba.conf").open("a") as rules:
                rules.write(f"host all all {trusted} trust\n")
        server = [binary("postgres", *places), "-D", self._data, "-p", str(self.port), "-k", str(home)]
        quick = ["-c", "fsync=off", "-c", "max_connections=300"]
        self._command = [*server, "-c", f"listen_addresses={','.join(addresses)}", *quick]
        at = ["-h", "127.0.0.1", "-p", str(self.port)]
        self._ready = [binary("pg_isready", *places), *at, "-q"]
        self._create = [binary("createdb", *places), *at, "-U", "postgres"]

    def url(self, database: str = "test", address: str = "127.0.0.1") -> str:
        """Where a database of it is."""
        return f"postgresql://postgres@{address}:{self.port}/{database}"

    def start(self) -> None:
        """Begin, and take connections. Raises `Missing` when it does not."""
        log = self._home / "log"
        with log.open("a") as output:
            self._process = psutil.Popen(self._command, stdout=output, stderr=subprocess.STDOUT, user=self._user, cwd="/")
        deadline = time.monotonic() + BOUND
        while subprocess.run(self._ready, check=False).returncode:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise Missing(f"postgres did not start:\n{log.read_text()[-2000:]}")
            time.sleep(0.05)

    def create(self, database: str) -> None:
        """Make a database."""
        subprocess.run([*self._create, database], check=True, capture_output=True)

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """End: by SIGINT with all connections cut off, by SIGQUIT or SIGKILL as a crash. Returns when nothing of it is left."""
        if self._process is None:
            return
        family = [self._process, *self._process.children(recursive=True)]
        self._process.send_signal(number)
        _, left = psutil.wait_procs(family, timeout=20)
        for process in left:
            process.kill()
        psutil.wait_procs(left, timeout=20)
        self._process = None


@contextmanager
def postgres(home: Path) -> Iterator[str]:
    """A PostgreSQL server: the URL of its database."""
    server = PostgresServer(home)
    try:
        server.start()
        server.create("test")
        yield server.url()
    finally:
        server.stop()


@contextmanager
def mariadb(home: Path) -> Iterator[str]:
    """A MariaDB server: the URL of its database."""
    user, port, data = account("mysql"), free_port(), home / "data"
    if user:
        shutil.chown(home, user)
    own = ["--no-defaults", f"--datadir={data}"]
    install = [binary("mariadb-install-db"), *own, "--auth-root-authentication-method=normal"]
    subprocess.run(install, check=True, capture_output=True, user=user, cwd="/")
    at = [f"--socket={home / 'socket'}", f"--port={port}", "--bind-address=127.0.0.1", "--innodb-flush-log-at-trx-commit=0"]
    ping = [binary("mariadb-admin"), "--no-defaults", f"--socket={home / 'socket'}", "-uroot", "ping"]

    def answers() -> bool:
        return subprocess.run(ping, check=False, capture_output=True).returncode == 0

    with running([binary("mariadbd"), *own, *at], home / "log", answers, user):
        make = [
            binary("mariadb"),
            "--no-defaults",
            f"--socket={home / 'socket'}",
            "-uroot",
            "-e",
            "create database if not exists test",
        ]
        subprocess.run(make, check=True, capture_output=True)
        yield f"mariadb://root@127.0.0.1:{port}/test"


@contextmanager
def redis(home: Path) -> Iterator[str]:
    """A Redis server: its URL."""
    port = free_port()
    server = [binary("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]

    def answers() -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
        return False

    with running([*server, "--dir", str(home)], home / "log", answers):
        yield f"redis://127.0.0.1:{port}/0"


SERVICES = {"ZENO_TEST_POSTGRES": postgres, "ZENO_TEST_MARIADB": mariadb, "ZENO_TEST_REDIS": redis}


def main() -> int:
    """Run the command given as arguments; its exit code."""
    with ExitStack() as closing:
        for variable, service in SERVICES.items():
            if os.environ.get(variable):
                continue
            # Short: the path of a socket has to fit into 100 characters.
            home = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="zeno-", ignore_cleanup_errors=True)))
            try:
                os.environ[variable] = closing.enter_context(service(home))
            except (Missing, OSError, subprocess.CalledProcessError) as error:
                sys.stderr.write(f"{service.__name__} is left out: {error}\n")
        return subprocess.run(sys.argv[1:], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
