"""Which models there are: a new family is one file and one line here.

A model's name is `offline`, `scripted:FILE`, `FAMILY:NAME` at the family's configured endpoint, `FAMILY:NAME@URL` at another
one, a name from the settings, or `prompted:` before any of these to speak the prompted protocol to it.
"""

import asyncio
import dataclasses
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from msgspec.structs import replace

from zeno.core.errors import ConfigError
from zeno.core.ports import ModelClient
from zeno.models.profile import Profile, Profiles
from zeno.models.transport import Timeouts, Transport

Protocol = Literal["auto", "native", "prompted"]
Wire = TypeVar("Wire", bound=Transport)


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where a model is, and the key to it; empty for the family's own address."""

    base_url: str = ""
    api_key: str = field(default="", repr=False)


@dataclass(frozen=True, kw_only=True)
class ModelChoice:
    """A model of the settings: what it is, where, how it is spoken to, and which models stand in for it."""

    family: str
    model: str
    endpoint: Endpoint = Endpoint()
    protocol: Protocol = "auto"
    timeouts: Timeouts = field(default_factory=Timeouts)
    fallback: tuple[str, ...] = ()

    @property
    def base_url(self) -> str:
        """Its address, the family's own where none is given."""
        return (self.endpoint.base_url or FAMILIES[self.family].base_url).rstrip("/")

    def prompted(self, profile: Profile | None) -> bool:
        """Whether it is spoken to in the prompted protocol: chosen, or it was seen to know no tools."""
        return self.protocol == "prompted" or (self.protocol == "auto" and profile is not None and not profile.tools)


@dataclass(frozen=True, kw_only=True)
class Family:
    """A kind of endpoint: its usual address, the headers that show it a key, and the client that speaks its protocol.

    Headers are made of a key and a model; a client of a transport, a model, and whether it carries the prompted protocol.
    """

    base_url: str
    headers: Callable[[str, str], Mapping[str, str]]
    client: Callable[[Transport, str, bool], ModelClient]


def _bearer(key: str, _model: str) -> Mapping[str, str]:
    return {"authorization": f"Bearer {key}"} if key else {}


def _anthropic_headers(key: str, model: str) -> Mapping[str, str]:
    from zeno.models.anthropic_messages import anthropic_headers

    return anthropic_headers(key, model)


def _openai_chat(transport: Transport, model: str, prompted: bool) -> ModelClient:
    from zeno.models.dialects import dialect_for
    from zeno.models.openai_chat import OpenAIChat

    dialect = dialect_for(transport.base_url, model)
    # Under the prompted protocol thoughts and actions come as tags in the text, and its own parser reads them.
    return OpenAIChat(transport=transport, model=model, dialect=replace(dialect, tagged=False) if prompted else dialect)


def _openai_responses(transport: Transport, model: str, _prompted: bool) -> ModelClient:
    from zeno.models.openai_responses import OpenAIResponses

    return OpenAIResponses(transport=transport, model=model)


def _anthropic(transport: Transport, model: str, _prompted: bool) -> ModelClient:
    from zeno.models.anthropic_messages import AnthropicMessages

    return AnthropicMessages(transport=transport, model=model)


FAMILIES: Mapping[str, Family] = {
    "openai": Family(base_url="https://api.openai.com/v1", headers=_bearer, client=_openai_chat),
    "responses": Family(base_url="https://api.openai.com/v1", headers=_bearer, client=_openai_responses),
    "anthropic": Family(base_url="https://api.anthropic.com/v1", headers=_anthropic_headers, client=_anthropic),
}

BUILT_IN = ("offline", "scripted")
"""Kinds of models that no endpoint stands behind."""

RESERVED = frozenset({*BUILT_IN, "prompted", *FAMILIES})
"""What a model of the settings had better not be called: it would be taken for a kind of model."""


@dataclass(frozen=True, kw_only=True)
class Models:
    """The models in use, one client each.

    `endpoints` are the configured ones by family, `choices` the models of the settings by name, `profiles` what is known of
    endpoints that were tried. `closing` lets go of what the clients hold open. `strict`: a script has to be used up in the end.
    """

    closing: AsyncExitStack
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    choices: dict[str, ModelChoice] = field(default_factory=dict)
    profiles: Profiles | None = None
    clients: dict[str, ModelClient] = field(default_factory=dict)
    strict: bool = True
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by whoever changes the choices."""

    def client(self, name: str) -> ModelClient:
        """The client of a model. Raises `ConfigError` for a name that says no model."""
        if name not in self.clients:
            self.clients[name] = self._made(name)
        return self.clients[name]

    def take(self, choices: Mapping[str, ModelChoice]) -> None:
        """Let names mean these models from now on, and no others."""
        self.choices.clear()
        self.choices.update(choices)
        self.refresh()

    def refresh(self) -> None:
        """Make clients of endpoints anew when they are asked for next: another may stand behind a name, or in for it.

        Whoever has one keeps it. What is not spoken to over a wire stays: a script goes on where it is.
        """
        for name in [name for name in self.clients if name.partition(":")[0] not in BUILT_IN]:
            del self.clients[name]

    def keep_profile(self, choice: ModelChoice, profile: Profile) -> None:
        """Remember what a model was seen to do."""
        if self.profiles:
            self.profiles.put(profile_key(choice), profile)
            self.refresh()

    def choice(self, name: str) -> ModelChoice:
        """What a name of the settings, or `FAMILY:NAME[@URL]`, means. Raises `ConfigError`."""
        if name in self.choices:
            return self.choices[name]
        family, _, rest = name.partition(":")
        if family not in FAMILIES:
            raise ConfigError("model_unknown", model=name, known=", ".join([*BUILT_IN, *FAMILIES, *self.choices]))
        model, elsewhere, url = rest.partition("@http")
        if not model:
            raise ConfigError("model_name_missing", family=family)
        configured = self.endpoints.get(family, Endpoint())
        # The key belongs to the configured endpoint and is shown to no other.
        other = elsewhere and f"http{url}".rstrip("/") != (configured.base_url or FAMILIES[family].base_url).rstrip("/")
        return ModelChoice(family=family, model=model, endpoint=Endpoint(base_url=f"http{url}") if other else configured)

    def _made(self, name: str) -> ModelClient:
        kind, _, rest = name.partition(":")
        match kind:
            case "offline":
                from zeno.models.offline.client import OfflineClient

                return OfflineClient()
            case "scripted":
                from zeno.models.scripted import ScriptedModel

                script = ScriptedModel.load(Path(rest))
                if self.strict:
                    self.closing.callback(script.finish)
                return script
            case "prompted":
                if rest.partition(":")[0] in FAMILIES or rest in self.choices:
                    return self._resilient(dataclasses.replace(self.choice(rest), protocol="prompted"))
                from zeno.models.prompted.client import Prompted

                return Prompted(self.client(rest))
            case _:
                return self._resilient(self.choice(name))

    def _resilient(self, choice: ModelChoice) -> ModelClient:
        from zeno.models.resilient import Fallback, Retrying

        client: ModelClient = Retrying(self._spoken_to(choice))
        if choice.fallback:
            client = Fallback([client, *(self.client(name) for name in choice.fallback)])
        return client

    def _spoken_to(self, choice: ModelChoice) -> ModelClient:
        """The adapter, in the prompted protocol when that is chosen or the model was seen to know no tools."""
        if choice.family not in FAMILIES:
            raise ConfigError("model_family_unknown", family=choice.family, known=", ".join(FAMILIES))
        profile = self.profiles.get(profile_key(choice)) if self.profiles else None
        prompted = choice.prompted(profile)
        transport = wire(choice, Transport)
        self.closing.push_async_callback(transport.close)
        client = FAMILIES[choice.family].client(transport, choice.model, prompted)
        if not prompted:
            return client
        from zeno.models.prompted.client import Prompted

        return Prompted(client, form="object" if profile and profile.json_mode else "tags")


def wire(choice: ModelChoice, kind: type[Wire]) -> Wire:
    """The wire to a model's endpoint, of any kind of transport. Whoever has it made closes it."""
    family, key = FAMILIES[choice.family], choice.endpoint.api_key
    return kind(
        base_url=choice.base_url,
        headers=family.headers(key, choice.model),
        secrets=(key,) if key else (),
        timeouts=choice.timeouts,
        family=choice.family,
    )


def profile_key(choice: ModelChoice) -> str:
    """Under what a model's profile is kept: its family, its name, its address."""
    return f"{choice.family}:{choice.model}@{choice.endpoint.base_url or FAMILIES[choice.family].base_url}"
