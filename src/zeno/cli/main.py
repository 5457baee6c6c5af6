"""`zeno`: the commands and their options. What they do is imported when they are called, so that `--help` is quick."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from zeno.cli.account_commands import add_keys, add_users
from zeno.cli.operation_commands import add_operation
from zeno.cli.options import Language, Say
from zeno.i18n import detect, text


def main() -> None:
    """Run the command line; the exit code says how it went."""
    requested = _requested_language(sys.argv[1:])
    build(detect(requested, os.environ), requested)()


def build(language: str, requested: str | None = None) -> typer.Typer:
    """The command line with its help in `language`; the commands speak the one `requested`, else that of the settings."""
    say = _speaker(language)
    app = typer.Typer(
        help=say("about"), no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
    )

    @app.callback()
    def every(
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
        version: Annotated[bool, typer.Option("--version", help=say("version"), is_eager=True, callback=_version)] = False,
    ) -> None:
        pass

    for add in (
        _add_run,
        _add_chat,
        _add_tools,
        _add_runs,
        _add_trace,
        _add_approvals,
        _add_decisions,
        _add_serve,
        _add_worker,
        _add_doctor,
        add_users,
        add_keys,
        add_operation,
    ):
        add(app, requested, say)
    return app


def _add_run(app: typer.Typer, requested: str | None, say: Say) -> None:
    @app.command(help=say("run"))
    def run(
        task: Annotated[str, typer.Argument(help=say("task"), show_default=False)] = "",
        file: Annotated[list[Path] | None, typer.Option("--file", "-f", help=say("file"))] = None,
        out: Annotated[Path | None, typer.Option("--out", "-o", help=say("out"))] = None,
        agent: Annotated[str | None, typer.Option("--agent", "-a", help=say("agent"))] = None,
        model: Annotated[str | None, typer.Option("--model", "-m", help=say("model"))] = None,
        max_steps: Annotated[int | None, typer.Option("--max-steps", min=1, max=1000, help=say("max_steps"))] = None,
        json: Annotated[bool, typer.Option("--json", help=say("json"))] = False,
        yes: Annotated[bool, typer.Option("--yes", "-y", help=say("yes"))] = False,
        resume: Annotated[str | None, typer.Option("--resume", help=say("resume"), metavar="RUN")] = None,
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.run import Wish, run_task

        files = tuple(file or ())
        wish = Wish(task, files, out, agent, model, max_steps, as_json=json, allow_danger=yes, resume=resume)
        raise typer.Exit(run_task(requested, wish))


def _add_chat(app: typer.Typer, requested: str | None, say: Say) -> None:
    @app.command(help=say("chat"))
    def chat(
        agent: Annotated[str | None, typer.Option("--agent", "-a", help=say("agent"))] = None,
        model: Annotated[str | None, typer.Option("--model", "-m", help=say("model"))] = None,
        file: Annotated[list[Path] | None, typer.Option("--file", "-f", help=say("file"))] = None,
        yes: Annotated[bool, typer.Option("--yes", "-y", help=say("yes"))] = False,
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.chat import chat as converse

        raise typer.Exit(converse(requested, agent=agent, model=model, files=tuple(file or ()), allow_danger=yes))


def _add_tools(app: typer.Typer, requested: str | None, say: Say) -> None:
    @app.command(help=say("tools"))
    def tools(
        name: Annotated[str | None, typer.Argument(help=say("tool_name"), show_default=False)] = None,
        json: Annotated[bool, typer.Option("--json", help=say("json_list"))] = False,
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.tools import show_tools

        raise typer.Exit(show_tools(requested, name, as_json=json))


def _add_runs(app: typer.Typer, requested: str | None, say: Say) -> None:
    @app.command(help=say("runs"))
    def runs(
        most: Annotated[int, typer.Option("--most", "-n", min=1, max=1000, help=say("most"))] = 20,
        json: Annotated[bool, typer.Option("--json", help=say("json_list"))] = False,
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.runs import show_runs

        raise typer.Exit(show_runs(requested, most, as_json=json))


def _add_trace(app: typer.Typer, requested: str | None, say: Say) -> None:
    @app.command(help=say("trace"))
    def trace(
        run: Annotated[str, typer.Argument(help=say("run_id"), metavar="RUN", show_default=False)],
        json: Annotated[bool, typer.Option("--json", help=say("json_list"))] = False,
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.runs import show_trace

        raise typer.Exit(show_trace(requested, run, as_json=json))


def _add_approvals(app: typer.Typer, requested: str | None, say: Say) -> None:
    @app.command(help=say("approvals"))
    def approvals(
        json: Annotated[bool, typer.Option("--json", help=say("json_list"))] = False,
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.approvals import show_approvals

        raise typer.Exit(show_approvals(requested, as_json=json))


def _add_decisions(app: typer.Typer, requested: str | None, say: Say) -> None:
    @app.command(help=say("approve"))
    def approve(
        approval: Annotated[str, typer.Argument(help=say("approval_id"), metavar="APPROVAL", show_default=False)],
        arguments: Annotated[str | None, typer.Option("--arguments", help=say("arguments"), metavar="JSON")] = None,
        reason: Annotated[str, typer.Option("--reason", help=say("reason"))] = "",
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.approvals import decide, edited

        raise typer.Exit(decide(requested, approval, edited(arguments, reason)))

    @app.command(help=say("deny"))
    def deny(
        approval: Annotated[str, typer.Argument(help=say("approval_id"), metavar="APPROVAL", show_default=False)],
        reason: Annotated[str, typer.Option("--reason", help=say("reason"))] = "",
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.approvals import decide
        from zeno.core.decisions import Denied

        raise typer.Exit(decide(requested, approval, Denied(reason)))

    @app.command(help=say("answer"))
    def answer(
        approval: Annotated[str, typer.Argument(help=say("approval_id"), metavar="APPROVAL", show_default=False)],
        words: Annotated[str, typer.Argument(help=say("answer_text"), show_default=False)] = "",
        choose: Annotated[list[str] | None, typer.Option("--choose", help=say("choose"))] = None,
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.approvals import decide
        from zeno.core.decisions import Answered
        from zeno.core.ports import Answer

        raise typer.Exit(decide(requested, approval, Answered(Answer(tuple(choose or ()), words))))


def _add_serve(app: typer.Typer, requested: str | None, say: Say) -> None:
    @app.command(help=say("serve"))
    def serve(
        host: Annotated[str | None, typer.Option("--host", help=say("host"))] = None,
        port: Annotated[int | None, typer.Option("--port", min=0, max=65535, help=say("port"))] = None,
        worker: Annotated[bool | None, typer.Option("--worker/--no-worker", help=say("with_worker"))] = None,
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.serve import serve as serve_until_stopped

        raise typer.Exit(serve_until_stopped(requested, host, port, worker=worker))


def _add_worker(app: typer.Typer, requested: str | None, say: Say) -> None:
    @app.command(help=say("worker"))
    def worker(
        concurrency: Annotated[int | None, typer.Option("--concurrency", min=1, help=say("concurrency"))] = None,
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.worker import work

        raise typer.Exit(work(requested, concurrency))


def _add_doctor(app: typer.Typer, requested: str | None, say: Say) -> None:
    @app.command(help=say("doctor"))
    def doctor(
        model: Annotated[str | None, typer.Argument(help=say("doctor_model"), show_default=False)] = None,
        offline: Annotated[bool, typer.Option("--offline", help=say("doctor_offline"))] = False,
        deployment: Annotated[bool, typer.Option("--deployment", help=say("doctor_deployment"))] = False,
        json: Annotated[bool, typer.Option("--json", help=say("json_list"))] = False,
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.deployment import examine_deployment
        from zeno.cli.doctor import doctor as examine

        if deployment:
            raise typer.Exit(examine_deployment(requested, as_json=json))
        raise typer.Exit(examine(requested, model, offline=offline, as_json=json))


def _speaker(language: str) -> Say:
    return lambda key: text(language, f"cli.help.{key}")


def _requested_language(arguments: Sequence[str]) -> str | None:
    """The language named on the command line: the help texts need it before the options are parsed."""
    for position, argument in enumerate(arguments):
        if argument == "--lang":
            return next(iter(arguments[position + 1 :]), None)
        if argument.startswith("--lang="):
            return argument.removeprefix("--lang=")
    return None


def _version(wanted: Any) -> None:
    if wanted:
        from zeno import __version__

        typer.echo(f"zeno {__version__}")
        raise typer.Exit
