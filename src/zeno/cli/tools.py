"""`zeno tools`: what the agent can do."""

import sys

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from zeno.app import App
from zeno.cli.edge import enter
from zeno.core.errors import NotFound
from zeno.core.ports import ToolSpec
from zeno.i18n import catalogue, text


def show_tools(requested: str | None, name: str | None, *, as_json: bool) -> int:
    """List the tools, or show one with the schema of its arguments."""

    async def work(app: App, language: str) -> int:
        if name is not None and name not in app.tools:
            raise NotFound("tool_not_found", tool=name, known=", ".join(app.tools))
        specs = [tool.spec for tool in app.tools.values() if name in (None, tool.spec.name)]
        if as_json:
            sys.stdout.write(msgspec.json.format(msgspec.json.encode(specs)).decode() + "\n")
        elif name is None:
            Console().print(_listing(language, specs))
        else:
            _print_one(language, specs[0])
        return 0

    return enter(requested, work)


def _listing(language: str, specs: list[ToolSpec]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("tool", "effect", "purpose"):
        table.add_column(text(language, f"cli.column.{column}"), no_wrap=column != "purpose")
    for spec in specs:
        effect = text(language, f"cli.effect.{spec.effect}")
        table.add_row(Text(spec.name, "bold cyan"), effect, Text(_purpose(language, spec)))
    return table


def _purpose(language: str, spec: ToolSpec) -> str:
    """The words for people where the tool is one that ships, and not another of its name; else its own."""
    words, prefix = catalogue(language), f"tools.{spec.name}.parameters."
    described = {key.removeprefix(prefix) for key in words if key.startswith(prefix)}
    own = " ".join(spec.description.split())
    return words.get(f"tools.{spec.name}.purpose", own) if described == set(spec.parameters["properties"]) else own


def _print_one(language: str, spec: ToolSpec) -> None:
    console = Console(highlight=False)
    console.print(Text.assemble((spec.name, "bold cyan"), f"  {text(language, f'cli.effect.{spec.effect}')}"))
    console.print(Text(spec.description))
    console.print_json(msgspec.json.encode(spec.parameters).decode())
