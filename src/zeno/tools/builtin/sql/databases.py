"""Which databases there are, by the names that the operator gave them. Knows addresses and drivers; passwords stay here."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

from zeno.core.errors import ConfigError
from zeno.tools.builtin.sql.session import Session

if TYPE_CHECKING:
    from sqlalchemy import URL

_DRIVERS = {
    "postgresql": ("postgresql+psycopg", "psycopg", "psycopg[binary]"),
    "mysql": ("mysql+pymysql", "pymysql", "pymysql"),
    "mariadb": ("mysql+pymysql", "pymysql", "pymysql"),
}
"""The driver that is used, whatever the address says; its module; the package to install."""


@dataclass(frozen=True)
class Database:
    """A database that tools may ask. `kind` is the first word of its address."""

    name: str
    kind: str
    url: "URL" = field(repr=False)

    def open(self, *, writes: bool, seconds: float) -> Session:
        """A connection to it, in the thread that will use it. Raises `NotReached` when there is none to be had."""
        if self.kind == "sqlite":
            from zeno.tools.builtin.sql.sqlite import SqliteSession

            return SqliteSession(str(Path(self.url.database or "").expanduser()), writes=writes, seconds=seconds)
        if self.kind == "postgresql":
            from zeno.tools.builtin.sql.postgres import PostgresSession

            return PostgresSession(self._arguments(), writes=writes, seconds=seconds)
        from zeno.tools.builtin.sql.mysql import MySqlSession

        return MySqlSession(self._arguments(), writes=writes, seconds=seconds)

    def safe(self, text: str) -> str:
        """The text without the password, in whatever form it stands in an address."""
        password = str(self.url.password or "")
        for form in filter(None, (password, quote(password, safe=""), quote_plus(password))):
            text = text.replace(form, "***")
        return text

    def _arguments(self) -> dict[str, Any]:
        """What the driver wants to be called with."""
        dialect: Any = self.url.get_dialect()
        _, arguments = dialect(dbapi=dialect.import_dbapi()).create_connect_args(self.url)
        return dict(arguments)


def configured(databases: Mapping[str, str]) -> dict[str, Database]:
    """The databases of the settings, by name. Raises `ConfigError`; nothing is connected to."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    found = {}
    for name, address in databases.items():
        try:
            url = make_url(address)
            kind = url.get_backend_name()
        except (ArgumentError, ValueError):
            raise ConfigError("sql_url_invalid", database=name) from None
        if kind == "sqlite":
            if not url.database or url.database.startswith((":memory:", "file:")):
                raise ConfigError("sql_url_invalid", database=name)
        elif kind in _DRIVERS:
            driver, module, package = _DRIVERS[kind]
            if importlib.util.find_spec(module) is None:
                raise ConfigError("sql_driver_missing", database=name, package=package)
            url = url.set(drivername=driver)
        else:
            raise ConfigError("sql_unsupported", database=name, kind=kind, known=", ".join(("sqlite", *_DRIVERS)))
        found[name] = Database(name, kind, url)
    return found
