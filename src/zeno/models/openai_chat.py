"""OpenAI-compatible Chat Completions: the protocol that OpenAI, vLLM, Ollama, LM Studio, llama.cpp and many others speak.

Source: the Chat Completions reference of the OpenAI API, streaming mode. Translates only; it knows no runs and no loop.
"""

import secrets
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import msgspec

from zeno.core.errors import ModelUnavailable
from zeno.core.messages import FilePart, Message, Part, TextPart, ThinkingPart, ToolCall, Usage
from zeno.core.ports import Delta, ModelRequest, Reply, TextDelta, ThinkingDelta, ToolSpec

_STATUS_CODES = {401: "model_unauthorized", 403: "model_unauthorized", 404: "model_not_found", 429: "model_busy"}


@dataclass(frozen=True, kw_only=True)
class OpenAIChat:
    """One model at one endpoint. `api_key` may be empty: local servers ask for none."""

    http: httpx2.AsyncClient
    base_url: str
    api_key: str = field(repr=False)
    model: str

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        """The reply as it is written. Raises `ModelUnavailable`; no error contains the key."""
        draft = _Draft()
        try:
            async with self.http.stream(
                "POST", f"{self.base_url}/chat/completions", content=self._body(request), headers=self._headers(request)
            ) as response:
                if response.status_code != httpx2.codes.OK:
                    raise await self._refused(response)
                async for chunk in _chunks(response):
                    for delta in draft.add(chunk):
                        yield delta
        except httpx2.TimeoutException:
            raise ModelUnavailable("model_timeout", endpoint=self.base_url) from None
        except httpx2.ConnectError as error:
            raise ModelUnavailable("model_unreachable", endpoint=self.base_url, reason=self._safe(str(error))) from None
        except httpx2.HTTPError as error:
            raise ModelUnavailable("model_connection_lost", endpoint=self.base_url, reason=self._safe(str(error))) from None
        yield draft.reply(self.model)

    def _headers(self, request: ModelRequest) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "text/event-stream"}
        if self.api_key:
            headers["authorization"] = f"Bearer {self.api_key}"
        headers["traceparent"] = f"00-{request.run_id}-{secrets.token_hex(8)}-01"
        return headers

    def _body(self, request: ModelRequest) -> bytes:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": _wire_messages(request),
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": request.temperature,
        }
        if request.tools:
            body["tools"] = [_wire_tool(spec) for spec in request.tools]
        if request.max_output_tokens:
            body["max_tokens"] = request.max_output_tokens
        return msgspec.json.encode(body)

    async def _refused(self, response: httpx2.Response) -> ModelUnavailable:
        code = _STATUS_CODES.get(response.status_code, "model_http_error")
        text = (await response.aread())[:4000].decode("utf-8", "replace")
        reason = self._safe(text)[:500]
        return ModelUnavailable(code, endpoint=self.base_url, model=self.model, status=response.status_code, reason=reason)

    def _safe(self, text: str) -> str:
        """`text` without the key: some servers repeat it in their errors."""
        return text.replace(self.api_key, "***") if self.api_key else text


async def _chunks(response: httpx2.Response) -> AsyncGenerator[dict[str, Any], None]:
    """The JSON objects of an event stream, to its end: leaving early would close the connection."""
    rest = b""
    async for data in response.aiter_bytes():
        # Bytes are cut at line feeds only: splitting text would also cut at separators that JSON may contain.
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            if chunk := _chunk(line):
                yield chunk
    if chunk := _chunk(rest):
        yield chunk


def _chunk(line: bytes) -> dict[str, Any] | None:
    payload = line[5:].strip() if line.startswith(b"data:") else b""
    if not payload or payload == b"[DONE]":
        return None
    try:
        chunk = msgspec.json.decode(payload)
    except msgspec.DecodeError:
        chunk = None
    if not isinstance(chunk, dict):
        raise ModelUnavailable("model_protocol_error", reason=payload[:200].decode("utf-8", "replace"))
    return chunk


@dataclass
class _Draft:
    """The reply as far as it has been received."""

    text: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    calls: dict[int, dict[str, str]] = field(default_factory=dict)
    usage: Usage | None = None
    finish_reason: str = ""
    model: str = ""

    def add(self, chunk: dict[str, Any]) -> list[Delta]:
        """Take a chunk in; the deltas to show for it. The last chunk may hold usage and no choices."""
        if "error" in chunk:
            raise ModelUnavailable("model_http_error", status=200, reason=str(chunk["error"])[:500])
        self.model = chunk.get("model") or self.model
        if usage := chunk.get("usage"):
            self.usage = _usage(usage)
        shown: list[Delta] = []
        for choice in (chunk.get("choices") or [])[:1]:
            self.finish_reason = choice.get("finish_reason") or self.finish_reason
            delta = choice.get("delta") or {}
            if thinking := delta.get("reasoning_content") or delta.get("reasoning"):
                self.thinking.append(thinking)
                shown.append(ThinkingDelta(thinking))
            if text := delta.get("content"):
                self.text.append(text)
                shown.append(TextDelta(text))
            for fragment in delta.get("tool_calls") or []:
                self._add_call(fragment)
        return shown

    def _add_call(self, fragment: dict[str, Any]) -> None:
        index = fragment.get("index")
        call = self.calls.setdefault(len(self.calls) if index is None else index, {"id": "", "name": "", "arguments": ""})
        function = fragment.get("function") or {}
        call["id"] = fragment.get("id") or call["id"]
        call["name"] = function.get("name") or call["name"]
        call["arguments"] += function.get("arguments") or ""

    def reply(self, model: str) -> Reply:
        """The whole reply."""
        parts: list[Part] = [ThinkingPart("".join(self.thinking))] if self.thinking else []
        parts += [TextPart("".join(self.text))] if self.text else []
        parts += [ToolCall(call["id"], call["name"], call["arguments"]) for _, call in sorted(self.calls.items())]
        usage = self.usage or Usage(output_tokens=sum(map(len, self.text)) // 3, estimated=True)
        return Reply(Message("assistant", tuple(parts)), usage, "answer", self.finish_reason, self.model or model)


def _usage(usage: dict[str, Any]) -> Usage:
    return Usage(
        input_tokens=usage.get("prompt_tokens") or 0,
        output_tokens=usage.get("completion_tokens") or 0,
        cached_tokens=(usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0,
        reasoning_tokens=(usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0,
    )


def _wire_tool(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": function}


def _wire_messages(request: ModelRequest) -> list[dict[str, Any]]:
    """System prompt, conversation, current context: what changes comes last."""
    wire: list[dict[str, Any]] = [{"role": "system", "content": request.system}]
    for message in request.messages:
        wire += _wire_message(message)
    return [*wire, {"role": "user", "content": f"[context]\n{request.context}"}]


def _wire_message(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"role": "tool", "tool_call_id": result.call_id, "content": result.text} for result in message.results]
    files = [f"[file: {part.path}, {part.size} bytes]" for part in message.parts if isinstance(part, FilePart)]
    wire: dict[str, Any] = {"role": message.role, "content": "\n".join([message.text, *files])}
    if message.calls:
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments or "{}"}}
            for call in message.calls
        ]
    return [wire]
