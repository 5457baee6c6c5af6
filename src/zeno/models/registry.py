"""Which models there are: a new family is one file and one line here.

A model's name is its family and the rest: `offline`, `scripted:FILE`, `openai:NAME`, or `openai:NAME@URL` for another endpoint.
"""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from zeno.core.errors import ConfigError
from zeno.core.ports import ModelClient

OPENAI_URL = "https://api.openai.com/v1"
CONNECT_SECONDS = 10
SILENCE_SECONDS = 120
"""How long a model may say nothing before it counts as lost; reasoning models are silent for long."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where an OpenAI-compatible model is, and the key to it."""

    base_url: str | None = None
    api_key: str = field(default="", repr=False)


def _offline(_rest: str, _endpoint: Endpoint, _closing: AsyncExitStack) -> ModelClient:
    from zeno.models.offline.client import OfflineClient

    return OfflineClient()


def _scripted(rest: str, _endpoint: Endpoint, closing: AsyncExitStack) -> ModelClient:
    from zeno.models.scripted import ScriptedModel

    model = ScriptedModel.load(Path(rest))
    closing.callback(model.finish)
    return model


def _openai(rest: str, endpoint: Endpoint, closing: AsyncExitStack) -> ModelClient:
    import httpx2

    from zeno.models.openai_chat import OpenAIChat

    model, at, url = rest.partition("@http")
    if not model:
        raise ConfigError("model_name_missing", family="openai")
    configured = (endpoint.base_url or OPENAI_URL).rstrip("/")
    base_url = f"http{url}".rstrip("/") if at else configured
    # The key belongs to the configured endpoint and is shown to no other.
    api_key = endpoint.api_key if base_url == configured else ""
    http = httpx2.AsyncClient(timeout=httpx2.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS))
    closing.push_async_callback(http.aclose)
    return OpenAIChat(http=http, base_url=base_url, api_key=api_key, model=model)


FAMILIES: dict[str, Callable[[str, Endpoint, AsyncExitStack], ModelClient]] = {
    "offline": _offline,
    "scripted": _scripted,
    "openai": _openai,
}


@dataclass(frozen=True, kw_only=True)
class Models:
    """The models in use, one client each. `closing` lets go of what they hold open."""

    endpoint: Endpoint
    closing: AsyncExitStack
    clients: dict[str, ModelClient] = field(default_factory=dict)

    def client(self, name: str) -> ModelClient:
        """The client of a model. Raises `ConfigError` for a name of no family."""
        if name not in self.clients:
            family, _, rest = name.partition(":")
            if family not in FAMILIES:
                raise ConfigError("model_unknown", model=name, known=", ".join(FAMILIES))
            self.clients[name] = FAMILIES[family](rest, self.endpoint, self.closing)
        return self.clients[name]
