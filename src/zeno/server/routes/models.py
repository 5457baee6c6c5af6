"""Models: which there are, tried out, and saved on the page where there is one user. No answer ever holds a key."""

import dataclasses
import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from fastapi import APIRouter
from pydantic import AfterValidator, Field, SecretStr, model_validator
from starlette.responses import Response

from zeno.app import App
from zeno.core.errors import ConfigError, Invalid, RunError
from zeno.furnishing import choice_of
from zeno.models.probe import trial
from zeno.models.profile import Profile
from zeno.models.registry import BUILT_IN, ModelChoice
from zeno.runs.clock import new_id
from zeno.server.answers import House, answer, described, nothing
from zeno.server.audited import audited
from zeno.server.auth import Admin, Reader
from zeno.server.bodies import Body
from zeno.server.page_models import editable, proper, remove, save, with_key
from zeno.server.starting import model_names
from zeno.settings import ModelSettings, PageModel

MOST_SECONDS = 90.0
"""How long trying a model out may take."""

router = APIRouter(prefix="/api/v1/models", tags=["agents"])


def _address(value: str) -> str:
    """An address that a transport can take. A name and a password have no place in it: it is shown."""
    parts = urlsplit(value)
    if not parts.hostname or parts.port == 0 or parts.username is not None:
        raise ValueError("not an address")
    return value.rstrip("/")


def _sendable(value: SecretStr) -> SecretStr:
    """A key as it can stand in a header; what was pasted around it is left out."""
    key = value.get_secret_value().strip()
    if not re.fullmatch(r"[!-~]*", key):
        raise ValueError("not a key")
    return SecretStr(key)


BaseUrl = Annotated[str, Field(pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$", max_length=500), AfterValidator(_address)]
ApiKey = Annotated[SecretStr, Field(max_length=2000), AfterValidator(_sendable)]
FamilyName = Literal["openai", "responses", "anthropic"]
ProtocolName = Literal["auto", "native", "prompted"]
ModelName = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^\S(.*\S)?$")]


class SavedModel(Body):
    """A model to be kept. An `api_key` that is left out is the one kept so far, an empty one is none."""

    family: FamilyName = Field(description="The protocol its endpoint speaks.")
    model: ModelName = Field(description="The provider's name of the model.", examples=["gpt-5-mini"])
    base_url: BaseUrl | None = Field(
        None, description="Left out: the family's own address.", examples=["http://127.0.0.1:8000/v1"]
    )
    api_key: ApiKey | None = None
    protocol: ProtocolName = Field("auto", description="Native tool calls, or the prompted protocol.")
    default: bool = Field(False, description="Taken when no model is named.")


class TriedModel(Body):
    """A model to be tried out: a known one by its name, or what is said of it; with both, what would be saved so."""

    name: str | None = Field(None, max_length=500, description="The name of a model.", examples=["mine"])
    family: FamilyName | None = None
    model: ModelName | None = None
    base_url: BaseUrl | None = None
    api_key: ApiKey | None = None
    protocol: ProtocolName = "auto"

    @model_validator(mode="after")
    def _says_which(self) -> "TriedModel":
        said = {"family", "model", "base_url", "api_key", "protocol"} & self.model_fields_set
        if (said or self.name is None) and (self.family is None or self.model is None):
            raise ValueError("no model")
        return self


class ModelSummary(msgspec.Struct, frozen=True):
    """A model that may be asked for by its name.

    `model` is the provider's name of it and `host` where it is, both `null` for a model without an endpoint; `base_url` is told
    to admins of those saved on the page. `source` is `found` for what nobody named; `offline` is no language model.
    """

    name: str
    family: str
    model: str | None
    protocol: ProtocolName
    host: str | None
    base_url: str | None
    has_key: bool
    source: Literal["settings", "page", "found"]
    default: bool
    offline: bool


class ModelList(msgspec.Struct, frozen=True):
    """The models that may be asked for, and the name of the one that is taken when none is.

    `editable`: they can be saved here. `default_fixed`: the operator named the default, and no other can become it here.
    """

    models: tuple[ModelSummary, ...]
    default: str
    editable: bool
    default_fixed: bool


class ModelTrial(msgspec.Struct, frozen=True):
    """What came of trying a model out: what it does, or by `code` and `params` why it could not be had.

    `calls` says how tools will be called, `first_token_ms` how long its first answer took to begin.
    """

    ok: bool
    code: str = ""
    params: dict[str, str | int] = {}
    first_token_ms: int | None = None
    calls: Literal["native", "prompted"] | None = None
    profile: Profile | None = None


_MINE = ModelSummary(
    "mine", "openai", "gpt-5-mini", "auto", "api.openai.com", "https://api.openai.com/v1", True, "page", True, False
)
_TRIAL = ModelTrial(
    True, first_token_ms=412, calls="native", profile=Profile(True, True, True, True, "reasoning_content", 131_072, ("stop",))
)


@router.get("", **described(ModelList, "List the models", example=ModelList((_MINE,), "mine", True, False), problems=(503,)))
async def listing(app: House, who: Reader) -> Response:
    """Those of the settings, those saved on the page, and the one that was found where nobody named any."""
    default = (await app.agent(None, language="en-US")).model
    names = dict.fromkeys([*model_names(app), default])
    told = tuple(_summary(app, name, default, told_whole="admin" in who.rights) for name in names)
    return answer(ModelList(told, default, editable(app), app.settings.model is not None))


@router.post("/test", **described(ModelTrial, "Try a model out", example=_TRIAL, problems=(409,)))
async def try_out(app: House, who: Admin, body: TriedModel) -> Response:
    """Ask it a few small questions, for a minute and a half at most. That it cannot be had is an answer, too."""
    choice = _tried(app, body)
    try:
        made = await trial(app.models, choice, new_id(), MOST_SECONDS)
    except RunError as error:
        return answer(ModelTrial(False, error.code, dict(error.params)))
    calls: Literal["native", "prompted"] = "prompted" if choice.prompted(made.profile) else "native"
    return answer(ModelTrial(True, first_token_ms=made.first_token_ms, calls=calls, profile=made.profile))


@router.put(
    "/{model_name}",
    **described(ModelSummary, "Save a model", example=_MINE, also={201: "It is a new one"}, problems=(409, 503)),
)
async def put(app: House, who: Admin, model_name: str, body: SavedModel) -> Response:
    """Keep it in the home directory. It counts at once; runs at work go on with theirs. Not where there are accounts."""
    async with audited(app, who, "model_saved", model_name if proper(model_name) else ""):
        new = await save(app, model_name, PageModel(**body.model_dump()))
    return answer(_summary(app, model_name, app.settings.default_model, told_whole=True), 201 if new else 200)


@router.delete("/{model_name}", **described(None, "Forget a model", status=204, problems=(404, 409, 503)))
async def forget(app: House, who: Admin, model_name: str) -> Response:
    """Of those that were saved here."""
    async with audited(app, who, "model_removed", model_name if proper(model_name) else ""):
        await remove(app, model_name)
    return nothing()


def _tried(app: App, body: TriedModel) -> ModelChoice:
    """What a body means. Raises `Invalid`, and `Conflict` where a kept key would be shown to another address."""
    if body.family is not None and body.model is not None:
        own = ModelSettings(**body.model_dump(exclude={"name"}))
        return choice_of(app.settings, with_key(app, body.name, own))
    name = str(body.name)
    if name.partition(":")[0] in BUILT_IN:
        raise Invalid("model_built_in", model=name)
    try:
        return _choice(app, name)
    except ConfigError as error:
        raise Invalid(error.code, **error.params) from None


def _choice(app: App, name: str) -> ModelChoice:
    """What a model's name means that an endpoint stands behind. Raises `ConfigError`."""
    kind, _, rest = name.partition(":")
    return dataclasses.replace(app.models.choice(rest), protocol="prompted") if kind == "prompted" else app.models.choice(name)


def _summary(app: App, name: str, default: str | None, *, told_whole: bool) -> ModelSummary:
    own = app.settings.models.get(name)
    saved = isinstance(own, PageModel)
    kind = name.removeprefix("prompted:").partition(":")[0]
    choice = None
    if kind not in BUILT_IN:
        try:
            choice = _choice(app, name)
        except ConfigError:
            kind = ""
    return ModelSummary(
        name=name,
        family=choice.family if choice else kind,
        model=choice.model if choice else None,
        protocol=choice.protocol if choice else "auto",
        host=_host(choice.base_url) if choice else None,
        base_url=own.base_url if own is not None and saved and told_whole else None,
        has_key=bool(choice and choice.endpoint.api_key),
        source="page" if saved else "settings" if _named(app, name) else "found",
        default=name == default,
        offline=kind == "offline",
    )


def _host(base_url: str) -> str | None:
    try:
        return urlsplit(base_url).netloc.rpartition("@")[2]
    except ValueError:
        return None


def _named(app: App, name: str) -> bool:
    own = app.settings
    return name in (own.model, *own.models, *(each.model for each in own.agents.values()))
