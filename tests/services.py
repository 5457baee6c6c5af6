"""Servers that some tests need: where they are. A test is skipped where there is none, and fails for want of it on CI."""

import os
import shutil
import socket
from typing import NoReturn
from urllib.parse import urlsplit

import pytest


def postgres_url() -> str:
    """A PostgreSQL database that tests may make schemas in; `ZENO_TEST_POSTGRES` names another."""
    return _there("PostgreSQL", os.environ.get("ZENO_TEST_POSTGRES") or "postgresql://postgres@127.0.0.1:5432/test", 5432)


def mariadb_url() -> str:
    """A MariaDB database that tests may make databases beside; `ZENO_TEST_MARIADB` names another."""
    return _there("MariaDB", os.environ.get("ZENO_TEST_MARIADB") or "mariadb://root@127.0.0.1:3306/test", 3306)


def program(*names: str) -> str:
    """Where the first of these programs is that is installed."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        _missing(f"{names[0]} is not installed")
    return found


def _there(service: str, url: str, usual_port: int) -> str:
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname or "127.0.0.1", parts.port or usual_port), timeout=5):
            return url
    except OSError as error:
        _missing(f"{service} is not reachable at {parts.hostname}:{parts.port or usual_port} ({error})")


def _missing(reason: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
