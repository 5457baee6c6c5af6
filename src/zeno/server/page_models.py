"""Models that are saved on the page: kept in the home directory and in force at once. Only where there is one user.

What the operator names in the settings is the operator's: it is neither changed here nor stood in for.
"""

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from zeno.app import App
from zeno.core.errors import ConfigError, Conflict, Forbidden, Invalid, NotFound
from zeno.furnishing import choice_of
from zeno.kept_models import Entries, keep, kept
from zeno.models.registry import RESERVED
from zeno.settings import ModelSettings, PageModel, page_models

LONGEST_NAME = 64
NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{LONGEST_NAME - 1}}}", re.ASCII)

Own = TypeVar("Own", bound=ModelSettings)


def editable(app: App) -> bool:
    """Whether models can be saved: with accounts they are everybody's, and whoever runs the installation sets them."""
    return app.settings.server.auth == "local"


def proper(name: str) -> bool:
    """Whether a model may be called so."""
    return NAME.fullmatch(name) is not None and name not in RESERVED


def with_key(app: App, name: str | None, own: Own) -> Own:
    """The model with the key that is kept under its name, where it says nothing of one itself (an empty one says: none).

    Raises `Conflict` when it is at another address than the kept one: a key is shown to nobody it was not meant for.
    """
    known = app.settings.models.get(name) if name is not None else None
    if own.api_key is not None or known is None or not (known.api_key and known.api_key.get_secret_value()):
        return own
    if _station(app, own) != _station(app, known):
        raise Conflict("model_key_elsewhere", model=str(name))
    return own.model_copy(update={"api_key": known.api_key})


async def save(app: App, name: str, own: PageModel) -> bool:
    """Keep a model, in the place of the one that was saved under this name, if any; whether there was none.

    Raises `Forbidden`, `Invalid` for a name that cannot be taken, and `Conflict` for what is the operator's.
    """
    _need_editable(app, name)
    if not proper(name):
        raise Invalid("model_name_invalid", most=LONGEST_NAME, taken=", ".join(sorted(RESERVED)))
    if own.default and app.settings.model is not None:
        raise Conflict("default_of_operator", model=app.settings.model)
    async with app.models.changing:
        new, entry = name not in app.settings.models, _entry(with_key(app, name, own))

        def changed(entries: Entries) -> Entries:
            others = {other: each | {"default": False} if own.default else each for other, each in entries.items()}
            return others | {name: entry}

        await _change(app, changed)
    return new


async def remove(app: App, name: str) -> None:
    """Keep a saved model no longer. Raises `Forbidden`, `NotFound`, and `Conflict` for one that is the operator's or in use."""
    _need_editable(app, name)
    async with app.models.changing:
        if name not in app.settings.models:
            raise NotFound("model_not_kept", model=name)
        if by := next(_users(app, name), None):
            raise Conflict("model_in_use", model=name, by=by)
        await _change(app, lambda entries: {other: each for other, each in entries.items() if other != name})


def _need_editable(app: App, name: str) -> None:
    if not editable(app):
        raise Forbidden("models_of_operator")
    known = app.settings.models.get(name)
    if known is not None and not isinstance(known, PageModel):
        raise Conflict("model_of_operator", model=name)


def _users(app: App, name: str) -> Iterator[str]:
    """The settings that name a model."""
    own = app.settings
    named = [("model", own.model), ("text_model", own.text_model)]
    named += [(f"agents.{agent}.model", each.model) for agent, each in own.agents.items()]
    named += [(f"models.{other}.fallback", model) for other, each in own.models.items() for model in each.fallback]
    return (setting for setting, model in named if model is not None and model.removeprefix("prompted:") == name)


async def _change(app: App, changed: Callable[[Entries], Entries]) -> None:
    """Write down what was saved, changed, and have it count."""
    try:
        saved = await asyncio.to_thread(_written, app.settings.home, changed)
    except OSError as error:
        raise ConfigError("models_unwritable", reason=error.strerror or type(error).__name__) from None
    except ValueError as error:
        raise ConfigError("settings_unreadable", reason=str(error)) from None
    own = app.settings.models
    for name in [name for name, each in own.items() if isinstance(each, PageModel)]:
        del own[name]
    own.update({name: each for name, each in saved.items() if name not in own})
    app.models.take({name: choice_of(app.settings, each) for name, each in own.items()})


def _written(home: Path, changed: Callable[[Entries], Entries]) -> dict[str, PageModel]:
    entries = changed(kept(home))
    saved = page_models(entries)
    keep(home, entries)
    return saved


def _entry(own: PageModel) -> dict[str, Any]:
    """What is written down of a model: what was said of it."""
    said = own.model_dump(mode="json", exclude={"api_key"}, exclude_defaults=True) | {"family": own.family}
    key = own.api_key.get_secret_value() if own.api_key else ""
    return said | ({"api_key": key} if key else {})


def _station(app: App, own: ModelSettings) -> tuple[str, str]:
    """The server that a model is asked at."""
    scheme, _, rest = choice_of(app.settings, own).base_url.lower().partition("://")
    return scheme, rest.partition("/")[0].rpartition("@")[2]
