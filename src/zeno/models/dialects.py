"""The dialects of Chat Completions: what each provider wants to be asked, and to be shown of its own reasoning again.

Sources: the providers' references and the errors their endpoints answer with. A dialect is a value; this room sends nothing.
"""

from collections.abc import Callable
from typing import Any, Literal
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from zeno.core.ports import Effort

Replays = Literal["never", "calls", "always"]
Asking = Literal["", "reasoning_effort", "enable_thinking", "thinking", "chat_template_kwargs", "reasoning"]

BUDGETS = {"low": 1024, "medium": 4096, "high": 16384}
"""Thinking tokens where a provider counts them instead of grading."""


class Dialect(Struct, frozen=True, kw_only=True):
    """How one provider speaks.

    `replays` says which assistant turns show their reasoning again: none, those with tool calls, or all; `replay_field` is the
    field for it; `demanded`: it must be there even when there was no reasoning. `asking` is the field that asks for reasoning,
    `off` the word for none where it takes words, `switch` the name of the chat template's switch. `schema` is the strongest
    form of `response_format`, `limit` the name of the output limit. `tagged`: reasoning may come as tags in the text. `joined`:
    the changing context belongs into the last message, because roles must alternate; `system`: there is a role for the system
    prompt. `extra` is sent with every request.
    """

    name: str = "plain"
    replays: Replays = "never"
    replay_field: Literal["reasoning_content", "reasoning_details", "extra_content"] = "reasoning_content"
    demanded: bool = False
    asking: Asking = ""
    off: str = "none"
    switch: str = "enable_thinking"
    schema: Literal["json_schema", "json_object", ""] = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    stream_options: bool = True
    tagged: bool = True
    joined: bool = False
    system: bool = True
    extra: dict[str, Any] = {}

    def asked(self, effort: Effort | None) -> dict[str, Any]:
        """The fields that ask for `effort`; none when the provider's default is wanted or there is no way to ask."""
        if effort is None or not self.asking:
            return {}
        on = effort != "none"
        match self.asking:
            case "reasoning_effort":
                return {"reasoning_effort": effort if on else self.off}
            case "enable_thinking":
                return {"enable_thinking": on} | ({"thinking_budget": BUDGETS[effort]} if on else {})
            case "thinking":
                return {"thinking": {"type": "enabled" if on else "disabled"}}
            case "chat_template_kwargs":
                return {"chat_template_kwargs": {self.switch: on}}
            case "reasoning":
                return {"reasoning": {"effort": effort} if on else {"enabled": False}}

    def response_format(self, schema: dict[str, Any] | None) -> dict[str, Any]:
        """The field that asks for JSON of `schema`, as strictly as the provider can promise it."""
        if schema is None or not self.schema:
            return {}
        form = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
        return {"response_format": form if self.schema == "json_schema" else {"type": "json_object"}}


PLAIN = Dialect()
OPENAI = Dialect(name="openai", limit="max_completion_tokens", tagged=False)
OPENAI_REASONING = replace(OPENAI, asking="reasoning_effort", temperature=False)
GRADED = Dialect(name="graded", asking="reasoning_effort")
GEMINI = Dialect(name="gemini", asking="reasoning_effort", replays="calls", replay_field="extra_content", tagged=False)
OPENROUTER = Dialect(name="openrouter", asking="reasoning", replays="always", replay_field="reasoning_details")
MINIMAX = Dialect(name="minimax", replays="always", replay_field="reasoning_details", extra={"reasoning_split": True})
DEEPSEEK = Dialect(name="deepseek", asking="thinking", replays="calls", demanded=True, schema="json_object")
DEEPSEEK_R1 = Dialect(name="deepseek-r1", schema="json_object")
"""The older contract: showing `reasoning_content` again is refused."""
QWEN = Dialect(name="qwen", asking="enable_thinking", replays="calls", schema="json_object")
GLM = Dialect(name="glm", asking="thinking", replays="calls", schema="json_object")
KIMI = Dialect(name="kimi", asking="thinking", replays="calls", demanded=True)

_HOSTS = {
    "openrouter.ai": OPENROUTER,
    "deepseek.com": DEEPSEEK,
    "aliyuncs.com": QWEN,
    "bigmodel.cn": GLM,
    "z.ai": GLM,
    "moonshot.ai": KIMI,
    "moonshot.cn": KIMI,
    "kimi.com": KIMI,
    "generativelanguage.googleapis.com": GEMINI,
    "minimax.io": MINIMAX,
    "minimaxi.com": MINIMAX,
    "groq.com": GRADED,
    "x.ai": GRADED,
    "mistral.ai": GRADED,
}

_SERVED = {
    "deepseek-r1": DEEPSEEK_R1,
    "deepseek-v": replace(DEEPSEEK, asking="chat_template_kwargs", switch="thinking", schema="json_schema"),
    "qwen": replace(QWEN, asking="chat_template_kwargs", schema="json_schema"),
    "glm-": replace(GLM, asking="chat_template_kwargs", schema="json_schema"),
    "kimi": replace(KIMI, asking="chat_template_kwargs", switch="thinking"),
    "gpt-oss": replace(GRADED, off="low"),
}
"""Open models on servers of no known provider, such as vLLM and SGLang, by a part of the model's name."""

_OPENAI_HOSTS = ("openai.com", "openai.azure.com", "services.ai.azure.com")
OLLAMA_PORT = 11434


def dialect_for(base_url: str, model: str) -> Dialect:
    """The dialect spoken at `base_url` for `model`: by the host, else by the name of the model."""
    address = urlsplit(base_url)
    host, name = address.hostname or "", model.lower().rpartition("/")[2]
    if _is_at(host, *_OPENAI_HOSTS):
        return _openai(name)
    for known, dialect in _HOSTS.items():
        if _is_at(host, known):
            return DEEPSEEK_R1 if "deepseek-r1" in name else dialect
    if _port(base_url) == OLLAMA_PORT:
        return replace(GRADED, replays="calls" if "deepseek-v" in name else "never")
    return next((dialect for part, dialect in _SERVED.items() if part in name), PLAIN)


def conceded(dialect: Dialect, refusal: str) -> Dialect | None:
    """`dialect` without what an endpoint's `refusal` names, or `None` when it names nothing that can be left out."""
    said = refusal.lower()
    if "context length" in said or "context_length" in said:
        return None
    for words, change in _CONCESSIONS:
        if any(word in said for word in words) and (changed := change(dialect, said)) != dialect:
            return changed
    return None


def _replays(dialect: Dialect, said: str) -> Dialect:
    if not any(word in said for word in ("must be passed", "missing", "required")):
        return replace(dialect, replays="never")
    return replace(dialect, replays="calls" if dialect.replays == "never" else "always", demanded=True)


def _limit(dialect: Dialect, _said: str) -> Dialect:
    return replace(dialect, limit="max_tokens" if dialect.limit == "max_completion_tokens" else "max_completion_tokens")


def _schema(dialect: Dialect, _said: str) -> Dialect:
    return replace(dialect, schema="json_object" if dialect.schema == "json_schema" else "")


def _asking(dialect: Dialect, said: str) -> Dialect:
    return replace(dialect, asking="") if dialect.asking and dialect.asking in said else dialect


_CONCESSIONS: tuple[tuple[tuple[str, ...], Callable[[Dialect, str], Dialect]], ...] = (
    (("reasoning_content",), _replays),
    (("stream_options", "include_usage"), lambda dialect, _: replace(dialect, stream_options=False)),
    (("max_tokens", "max_completion_tokens"), _limit),
    (("temperature",), lambda dialect, _: replace(dialect, temperature=False)),
    (("response_format", "json_schema", "json_object"), _schema),
    (("reasoning", "thinking", "chat_template_kwargs"), _asking),
    (("system role", "role system", "role 'system'"), lambda dialect, _: replace(dialect, system=False)),
    (("alternat", "unexpected role", "consecutive"), lambda dialect, _: replace(dialect, joined=True)),
)
"""What a refusal may name, and the dialect that does without it."""


def _openai(name: str) -> Dialect:
    if name.startswith("gpt-5") and not name.startswith("gpt-5."):
        return replace(OPENAI_REASONING, off="minimal")
    if name.startswith("gpt-5."):
        return OPENAI_REASONING
    if name[:1] == "o" and name[1:2].isdigit():
        return replace(OPENAI_REASONING, off="low")
    return OPENAI


def _is_at(host: str, *known: str) -> bool:
    return any(host == name or host.endswith(f".{name}") for name in known)


def _port(base_url: str) -> int | None:
    try:
        return urlsplit(base_url).port
    except ValueError:
        return None
