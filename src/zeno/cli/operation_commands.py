"""`zeno prune`, `zeno backup`, `zeno restore`: the commands and their options; what they do is in `operation`."""

from pathlib import Path
from typing import Annotated

import typer

from zeno.cli.options import Language, Say


def add_operation(app: typer.Typer, requested: str | None, say: Say) -> None:
    """The three commands."""

    @app.command(help=say("prune"))
    def prune(
        dry_run: Annotated[bool, typer.Option("--dry-run", help=say("dry_run"))] = False,
        json: Annotated[bool, typer.Option("--json", help=say("json_list"))] = False,
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.operation import prune as delete_old

        raise typer.Exit(delete_old(requested, dry_run=dry_run, as_json=json))

    @app.command(help=say("backup"))
    def backup(
        file: Annotated[Path, typer.Argument(help=say("backup_file"), show_default=False)],
        json: Annotated[bool, typer.Option("--json", help=say("json_list"))] = False,
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.operation import back_up

        raise typer.Exit(back_up(requested, file, as_json=json))

    @app.command(help=say("restore"))
    def restore(
        file: Annotated[Path, typer.Argument(help=say("restore_file"), show_default=False)],
        json: Annotated[bool, typer.Option("--json", help=say("json_list"))] = False,
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.operation import bring_back

        raise typer.Exit(bring_back(requested, file, as_json=json))
