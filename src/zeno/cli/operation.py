"""`zeno prune`, `zeno backup` and `zeno restore`: what whoever runs an installation does now and then."""

import sys
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from zeno import __version__
from zeno.app import App
from zeno.cli.edge import enter
from zeno.i18n import text
from zeno.runs.clock import iso, now
from zeno.stores.backup import Backups, Held


def prune(requested: str | None, *, dry_run: bool, as_json: bool) -> int:
    """Delete what is kept no longer by the settings, or with `dry_run` count it."""

    async def work(app: App, language: str) -> int:
        pruned = await app.pruning.prune(dry_run=dry_run)
        _show(language, "would_prune" if dry_run else "pruned", msgspec.structs.asdict(pruned), as_json=as_json)
        return 0

    return enter(requested, work)


def back_up(requested: str | None, file: Path, *, as_json: bool) -> int:
    """Write everything into one file."""

    async def work(app: App, language: str) -> int:
        held = await _backups(app).save(file, at=now(), version=__version__)
        _show(language, "backed_up", _figures(held), as_json=as_json)
        return 0

    return enter(requested, work)


def bring_back(requested: str | None, file: Path, *, as_json: bool) -> int:
    """Bring back what a backup holds."""

    async def work(app: App, language: str) -> int:
        about, held = await _backups(app).restore(file)
        origin = {"created_at": iso(about.created_at), "version": about.version}
        _show(language, "restored", origin | _figures(held), as_json=as_json)
        return 0

    return enter(requested, work)


def _backups(app: App) -> Backups:
    return Backups(database=app.runs.database, workspaces=app.workspaces)


def _figures(held: Held) -> dict[str, Any]:
    counts = {name: held.rows.get(name, 0) for name in ("sessions", "runs")}
    return counts | {"rows": sum(held.rows.values()), "files": held.files, "bytes": held.bytes, "left_out": held.left_out}


def _show(language: str, title: str, figures: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(msgspec.json.encode(figures).decode() + "\n")
        return
    table = Table(title=text(language, f"cli.operation.{title}"), title_justify="left", box=None, pad_edge=False)
    table.show_header = False
    for name, figure in figures.items():
        table.add_row(text(language, f"cli.operation.{name}"), str(figure))
    Console(highlight=False).print(table)
