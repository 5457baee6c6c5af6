"""A PostgreSQL of a benchmark's own whose commits are on disk: that of the tests is quick because its are not.

Knows how a server is started, and nothing of what is measured.
"""

import contextlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
from tests.with_services import account, binary, free_port, running

PLACES = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)


class Postgres:
    """A server on loopback that nobody else uses."""

    def __init__(self, port: int) -> None:
        self._url = f"postgresql://postgres@127.0.0.1:{port}"

    @contextmanager
    def database(self, name: str) -> Iterator[str]:
        """A fresh database, compared by a language's rules as most installations have it: its URL."""
        # Rules of a language, not of bytes: the latter allow some indexes more than the former.
        made = f"create database {name} template template0 encoding 'UTF8' locale_provider icu icu_locale 'en-US'"
        self._do(made)
        try:
            yield f"{self._url}/{name}"
        finally:
            self._do(f"drop database {name} with (force)")

    def cpu(self) -> float:
        """Seconds of processor time that all its processes have used, also those that have ended."""
        with psycopg.connect(f"{self._url}/postgres") as connection:
            file = connection.execute("show data_directory").fetchone()
        assert file
        server = psutil.Process(int(Path(str(file[0]), "postmaster.pid").read_text().splitlines()[0]))
        seconds = 0.0
        for process in server.children():
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                seconds += times.user + times.system
        own = server.cpu_times()
        return seconds + float(own.user + own.system + own.children_user + own.children_system)

    def _do(self, statement: str) -> None:
        with psycopg.connect(f"{self._url}/postgres", autocommit=True) as connection:
            connection.execute(statement)


@contextmanager
def postgres(*, on_disk: bool = True) -> Iterator[Postgres]:
    """A server for the length of the block; raises `Missing` where none is installed."""
    user = account("postgres")
    with tempfile.TemporaryDirectory(prefix="zeno-", ignore_cleanup_errors=True) as place:
        home, port = Path(place), free_port()
        if user:
            shutil.chown(home, user)
        made = [binary("initdb", *PLACES), "-D", f"{home}/data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"]
        subprocess.run(made, check=True, capture_output=True, user=user, cwd="/")
        given = {"listen_addresses": "127.0.0.1", "max_connections": "100", "fsync": "on" if on_disk else "off"}
        command = [binary("postgres", *PLACES), "-D", f"{home}/data", "-p", str(port), "-k", str(home)]
        command += [word for name, value in given.items() for word in ("-c", f"{name}={value}")]
        ready = [binary("pg_isready", *PLACES), "-h", "127.0.0.1", "-p", str(port), "-q"]
        with running(command, home / "log", lambda: subprocess.run(ready, check=False).returncode == 0, user):
            yield Postgres(port)


def told(words: str) -> None:
    """Say on the error stream how far it has come."""
    sys.stderr.write(f"{words}\n")
