"""`zeno doctor`: tries the model out, or the installation itself, and says what works and what to do about the rest."""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from zeno.app import App
from zeno.cli.draw import plain
from zeno.cli.edge import EXIT_CODES, complain, enter
from zeno.core.errors import RunError
from zeno.core.ports import ToolContext
from zeno.core.scope import LOCAL
from zeno.i18n import LANGUAGES, catalogue, text
from zeno.models.probe import trial
from zeno.models.profile import Profile
from zeno.models.registry import profile_key
from zeno.runs.clock import new_id

BROKEN = 4
"""Exit code when a part of the installation does not work."""


def doctor(requested: str | None, model: str | None, *, offline: bool, as_json: bool) -> int:
    """Try out a model (default: the one that runs would use), or with `offline` the installation."""

    async def work(app: App, language: str) -> int:
        name = model or (await app.agent(None, language=language)).model
        if offline or name == "offline":
            return await _check_installation(app, language, as_json=as_json)
        return await _try_model(app, language, name, as_json=as_json)

    return enter(requested, work)


async def _try_model(app: App, language: str, name: str, *, as_json: bool) -> int:
    choice = app.models.choice(name)
    try:
        profile = (await trial(app.models, choice, new_id())).profile
    except RunError as error:
        complain(language, error)
        return EXIT_CODES["model_failed"]
    if as_json:
        sys.stdout.write(msgspec.json.encode(profile).decode() + "\n")
    else:
        _print_profile(language, profile_key(choice), profile)
    return 0


def _print_profile(language: str, key: str, profile: Profile) -> None:
    table = Table(title=plain(key), title_justify="left", box=None, pad_edge=False, show_header=False)
    for name in profile.__struct_fields__:
        value = getattr(profile, name)
        said = name in {"tools", "parallel_calls", "json_mode", "usage"} and text(
            language, f"cli.doctor.{'yes' if value else 'no'}"
        )
        shown = said or (", ".join(value) if isinstance(value, tuple) else str(value or text(language, "cli.doctor.unknown")))
        table.add_row(text(language, f"cli.doctor.{name}"), Text(plain(shown)))
    console = Console(highlight=False)
    console.print(table)
    console.print(text(language, "cli.doctor.native" if profile.tools else "cli.doctor.prompted"))


async def _check_installation(app: App, language: str, *, as_json: bool) -> int:
    checks: dict[str, Callable[[], Awaitable[None]]] = {
        "database": lambda: _listed(app),
        "workspace": lambda: asyncio.to_thread(_writable, app.workspaces),
        "catalogues": lambda: asyncio.to_thread(_spoken),
        "embeddings": lambda: asyncio.to_thread(_embedded),
        "tables": lambda: _called(app, "query_table", '{"path": "t.csv", "measures": [{"function": "sum", "column": "n"}]}'),
        "reports": lambda: _called(
            app, "generate_word_report", '{"title": "t", "sections": [{"heading": "h", "bullets": ["b"]}]}'
        ),
    }
    faults: dict[str, str] = {}
    for name, check in checks.items():
        try:
            await check()
        except Exception as error:  # noqa: BLE001 - whatever is broken is what is to be told
            faults[name] = f"{type(error).__name__}: {error}"[:300]
    if as_json:
        sys.stdout.write(msgspec.json.encode({name: faults.get(name, "") for name in checks}).decode() + "\n")
    else:
        _print_checks(language, list(checks), faults)
    return BROKEN if faults else 0


def _print_checks(language: str, names: list[str], faults: dict[str, str]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    for name in names:
        mark = Text("✗", "red") if name in faults else Text("✓", "green")
        table.add_row(mark, text(language, f"cli.doctor.{name}"), Text(plain(faults.get(name, ""))))
    console = Console(highlight=False)
    console.print(table)
    console.print(text(language, "cli.doctor.broken" if faults else "cli.doctor.sound"))


async def _listed(app: App) -> None:
    await app.runs.newest(LOCAL, 1)


def _writable(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=directory) as file:
        file.write(b"x")


def _spoken() -> None:
    first, second = (set(catalogue(language)) for language in LANGUAGES)
    if first != second:
        raise ValueError(", ".join(sorted(first ^ second)))


def _embedded() -> None:
    from zeno.models.embedding import BundledEmbedder

    asked, near, far = BundledEmbedder().embed(["sales by channel", "按渠道的销售额", "a recipe for soup"])
    if asked @ near <= asked @ far:
        raise ValueError("the bundled model confuses meanings")


async def _called(app: App, name: str, arguments: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        await asyncio.to_thread(Path(directory, "t.csv").write_text, "n\n1\n2\n")
        await app.tools[name].call(msgspec.json.decode(arguments), ToolContext(new_id(), "check", Path(directory)))
