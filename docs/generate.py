"""Writes what is made from the code. Run it after changing settings, events, endings, errors, tools, routes or texts.

`docs/reference.md` is for people, `docs/openapi.json` for programs, `web/src/i18n/catalogue.gen.json` the texts that the page
shares with the command line.
"""

import asyncio
import json
import re
import tempfile
import typing
from collections.abc import Iterator
from pathlib import Path

import msgspec
from pydantic import BaseModel

from zeno.app import opened
from zeno.cli.edge import BAD_CONFIGURATION, BAD_REQUEST, EXIT_CODES
from zeno.core.commands import Command
from zeno.core.endings import Ending
from zeno.core.events import Event
from zeno.i18n import LANGUAGES, catalogue
from zeno.server.application import routed
from zeno.settings import AgentSettings, ModelSettings, PriceSettings, RuleSettings, Settings
from zeno.tools.builtin.mail import MailServer
from zeno.tools.catalog import Surroundings, toolset

ROOT = Path(__file__).parents[1]

SHARED = (
    "cli.ending",
    "cli.cause",
    "cli.error",
    "cli.effect",
    "cli.outcome",
    "cli.cause_of_asking",
    "cli.verdict",
    "cli.retry",
    "tools",
)
"""Groups of texts that the page needs as well."""


def pages() -> dict[Path, str]:
    """Everything that is generated, by where it goes."""
    return {
        ROOT / "docs" / "reference.md": reference(),
        ROOT / "docs" / "openapi.json": asyncio.run(openapi()),
        ROOT / "web" / "src" / "i18n" / "catalogue.gen.json": texts(),
    }


async def openapi() -> str:
    """The API's document."""
    with tempfile.TemporaryDirectory() as home:
        async with opened(Settings(home=Path(home), model="offline")) as app:
            return json.dumps(routed(app).openapi(), ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def texts() -> str:
    """The shared texts, by language, group and key, as the page's catalogue spells them."""
    made: dict[str, dict[str, typing.Any]] = {}
    for language in LANGUAGES:
        for key, words in sorted(catalogue(language).items()):
            if key.startswith(tuple(f"{group}." for group in SHARED)):
                *groups, name = key.removeprefix("cli.").split(".")
                within = made.setdefault(language, {})
                for group in groups:
                    within = within.setdefault(group, {})
                # There, these two letters have a meaning.
                within[name] = re.sub(r"[@|]", r"{'\g<0>'}", words)
    return json.dumps(made, ensure_ascii=False, indent=1) + "\n"


def reference() -> str:
    """The whole page."""
    return "\n".join([*_settings(), *_union("Events", Event), *_union("Commands", Command), *_endings(), *_errors(), *_tools()])


def _settings() -> Iterator[str]:
    yield "# Reference\n\nGenerated from the code by `python docs/generate.py`.\n\n## Settings\n"
    yield "In `zeno.toml` (working directory, then `ZENO_HOME`) or as variables; a variable beats the file.\n"
    yield "| setting | variable | default | meaning |\n|---|---|---|---|"
    yield from _fields(Settings, "", "ZENO_")
    for name, model in (
        ("agents", AgentSettings),
        ("models", ModelSettings),
        ("prices", PriceSettings),
        ("rules", RuleSettings),
    ):
        yield from _fields(model, f"{name}.NAME.", f"ZENO_{name.upper()}__NAME__")
    yield "\nWhere `[openai]` says nothing, `OPENAI_BASE_URL`, `OPENAI_API_KEY`, `OPENAI_MODEL` count; Anthropic's likewise.\n"


def _fields(model: type[BaseModel], prefix: str, variable: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _fields(kind, f"{prefix}{name}.", f"{variable}{name.upper()}__")
        elif name not in {"agents", "models", "prices", "rules"}:
            default = (
                ""
                if field.default is None or field.is_required()
                else msgspec.json.encode(field.default, enc_hook=str).decode()
            )
            yield f"| `{prefix}{name}` | `{variable}{name.upper()}` | `{default}` | {field.description or ''} |"


def _union(title: str, union: typing.Any) -> Iterator[str]:
    yield f"## {title}\n"
    yield "| type | fields | meaning |\n|---|---|---|"
    for kind in typing.get_args(union):
        fields = ", ".join(f"`{field.encode_name}`" for field in msgspec.structs.fields(kind))
        meaning = " ".join((kind.__doc__ or "").split())
        yield f"| `{kind.__struct_config__.tag}` | {fields} | {meaning} |"
    yield ""


def _endings() -> Iterator[str]:
    texts = catalogue("en-US")
    yield "## Endings and exit codes\n"
    yield "| ending | exit code | what to do next |\n|---|---|---|"
    for ending in typing.get_args(Ending):
        yield f"| `{ending}` | {EXIT_CODES[ending]} | {texts[f'cli.next.{ending}']} |"
    yield f"\nA request that cannot be served exits with {BAD_REQUEST}, a wrong configuration with {BAD_CONFIGURATION}.\n"


def _errors() -> Iterator[str]:
    yield "## Error codes\n"
    yield "| code | message |\n|---|---|"
    for key, words in sorted(catalogue("en-US").items()):
        if key.startswith("cli.error."):
            yield f"| `{key.removeprefix('cli.error.')}` | {words} |"
    yield ""


def _tools() -> Iterator[str]:
    yield "## Tools\n"
    yield "| tool | effect | what it is for |\n|---|---|---|"
    mail, databases = MailServer(host="127.0.0.1", sender="zeno@example.com"), {"example": "sqlite:///shop.db"}
    everything = Surroundings(weather_forecast_url="", weather_geocoding_url="", now=int, mail=mail, databases=databases)
    for name, tool in toolset(everything, ()).items():
        yield f"| `{name}` | {tool.spec.effect} | {' '.join(tool.spec.description.split())} |"
    yield ""


if __name__ == "__main__":
    for target, words in pages().items():
        target.write_text(words, "utf-8")
