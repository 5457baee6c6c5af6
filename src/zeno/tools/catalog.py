"""Which tools there are: the ones that ship, then the user's own, by name."""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from zeno.core.errors import ConfigError
from zeno.core.ports import Tool
from zeno.tools.builtin.ask import ask_user
from zeno.tools.builtin.calculator import calculate
from zeno.tools.builtin.dns import dns_tool
from zeno.tools.builtin.files import delete_file, read_file, write_temporary_file
from zeno.tools.builtin.http import http_request_tool
from zeno.tools.builtin.mail import MailServer, send_email_tool
from zeno.tools.builtin.qr import generate_qr_code
from zeno.tools.builtin.sql.tools import list_tables_tool, sql_execute_tool, sql_query_tool
from zeno.tools.builtin.tables.tools import query_table, read_table
from zeno.tools.builtin.weather import weather_tool
from zeno.tools.builtin.word.tools import generate_word_report
from zeno.tools.function import FunctionTool, lint


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What the shipped tools need to know of where they are.

    `now` is the time in milliseconds. Tools on databases and mail ship where there are any: `databases` are SQLAlchemy URLs by
    name. `http_allowed` are internal hosts and networks that web requests may reach.
    """

    weather_forecast_url: str
    weather_geocoding_url: str
    dns_nameservers: Sequence[str] = ()
    dns_port: int = 53
    now: Callable[[], int]
    http_allowed: Sequence[str] = ()
    databases: Mapping[str, str] = field(default_factory=dict, repr=False)
    mail: MailServer | None = None


def toolset(surroundings: Surroundings, modules: Sequence[str]) -> dict[str, Tool]:
    """All tools by name. Raises `ConfigError` for a module that cannot be loaded, a name taken twice, a vague tool."""
    tools: dict[str, Tool] = {}
    for tool in (*_shipped(surroundings), *(tool for name in modules for tool in _of_module(name))):
        if tool.spec.name in tools:
            raise ConfigError("tool_twice", tool=tool.spec.name)
        lint(tool.spec)
        tools[tool.spec.name] = tool
    return tools


def _shipped(surroundings: Surroundings) -> tuple[Tool, ...]:
    databases, mail = surroundings.databases, surroundings.mail
    return (
        read_table,
        query_table,
        generate_word_report,
        read_file,
        write_temporary_file,
        delete_file,
        calculate,
        generate_qr_code,
        ask_user,
        weather_tool(surroundings.weather_forecast_url, surroundings.weather_geocoding_url),
        dns_tool(list(surroundings.dns_nameservers), surroundings.dns_port),
        http_request_tool(surroundings.http_allowed),
        *((sql_query_tool(databases), list_tables_tool(databases), sql_execute_tool(databases)) if databases else ()),
        *((send_email_tool(mail, surroundings.now),) if mail else ()),
    )


def _of_module(name: str) -> Iterator[Tool]:
    """The tools that a module of the user's defines."""
    try:
        module = _from_file(Path(name).expanduser()) if name.endswith(".py") else importlib.import_module(name)
    except ConfigError:
        raise
    except Exception as error:
        raise ConfigError("tool_module_broken", module=name, reason=f"{type(error).__name__}: {error}") from error
    found = [value for value in vars(module).values() if isinstance(value, FunctionTool)]
    if not found:
        raise ConfigError("tool_module_empty", module=name)
    yield from found


def _from_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"zeno_tools_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ConfigError("tool_module_broken", module=str(path), reason="not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
