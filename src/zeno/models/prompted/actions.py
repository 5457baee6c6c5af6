"""From the JSON of a reply to calls and words, or to the list of what is wrong with it, said so that a model can mend it.

Only the form is judged here. Whether a tool exists and its arguments fit is the loop's matter, answered by a result.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from zeno.core.arguments import repaired
from zeno.core.messages import ToolCall
from zeno.core.ports import ActionKind, ToolSpec
from zeno.models.prompted.parser import Parser, json_of
from zeno.models.prompted.value import JsonValue
from zeno.models.prompted.words import ACTIONS, ARGUMENTS, COMPLETE, KIND, REMARKS, TEXT, TOOL, kind_of, plain

_ANOTHER_NAME = (("query", "question", "q"), ("prompt", "instruction", "instructions", "task"), ("text", "input", "content"))
"""Names that mean the same parameter of a tool that is reached by the kind of its action."""

_WORDS = {"true": True, "yes": True, "false": False, "no": False}


class Reading(Struct, frozen=True):
    """What a reply asks for. With `faults` nothing of it may be done; `complete` hands control to the user."""

    calls: tuple[ToolCall, ...] = ()
    texts: tuple[str, ...] = ()
    complete: bool = True
    faults: tuple[str, ...] = ()


class _Call(Struct, frozen=True):
    name: str
    arguments: str


class _Text(Struct, frozen=True):
    text: str
    complete: bool | None


class _Fault(Struct, frozen=True):
    text: str


_Item = _Call | _Text | _Fault


def reading_of(parser: Parser, tools: Mapping[str, ToolSpec], first: int, *, cut: bool, native: bool) -> Reading:
    """What the reply in `parser` asks for.

    Calls are numbered from `first`. `cut` says that the reply ended at the token limit, `native` that it also has calls in the
    provider's own form, which make words without JSON a progress note.
    """
    if not parser.values:
        return _without_json(parser, cut=cut, native=native)
    items = list(_items(parser.values, tools))
    faults = tuple(item.text for item in items if isinstance(item, _Fault))
    if faults:
        return _heard(parser.values) or Reading(faults=faults)
    called = [item for item in items if isinstance(item, _Call)]
    said = [item for item in items if isinstance(item, _Text)]
    return Reading(
        calls=tuple(ToolCall(f"p{number}", call.name, call.arguments) for number, call in enumerate(called, first)),
        texts=tuple(item.text for item in said),
        complete=any(item.complete is not False for item in said),
    )


def _without_json(parser: Parser, *, cut: bool, native: bool) -> Reading:
    """A reply without any JSON: plain text is an answer, a thought alone is none."""
    if parser.opened:
        return Reading(faults=("The <actions> block holds no JSON object.",))
    if re.sub(r"[`\s]|json", "", parser.prose) and not (cut and parser.tagged):
        return Reading(texts=(parser.prose,), complete=not native)
    if parser.tagged and not native:
        return Reading(faults=("The reply has no actions: it ends after the thinking.",))
    return Reading()


def _heard(values: Sequence[JsonValue]) -> Reading | None:
    """The answer that the user has already read to its end, in a reply that is broken only behind it."""
    speeches = [speech for value in values for speech in value.speeches]
    if not speeches or not all(speech.to_user and speech.whole and speech.text for speech in speeches):
        return None
    return Reading(
        texts=tuple(speech.text for speech in speeches), complete=any(speech.complete is not False for speech in speeches)
    )


def _items(values: Sequence[JsonValue], tools: Mapping[str, ToolSpec]) -> Iterator[_Item]:
    seen: list[Any] = []
    for value in values:
        try:
            read = repaired(json_of(value))
        except ValueError as error:
            yield _Fault(f"The JSON cannot be read: {error}")
            continue
        if read.truncated and not value.finished:
            yield _Fault("The JSON is not complete: it ends before its last bracket.")
        elif read.value not in seen:  # Written twice, meant once.
            seen.append(read.value)
            yield from _actions(read.value, tools)


def _actions(value: Any, tools: Mapping[str, ToolSpec]) -> Iterator[_Item]:
    listed = _listed(value)
    if not listed:
        yield _Fault('"actions" is missing or empty: it must be a list with at least one action.')
    for number, action in enumerate(listed):
        where = f"actions[{number}]"
        yield _action(action, where, tools) if isinstance(action, dict) else _Fault(f"{where} must be a JSON object.")


def _listed(value: Any) -> list[Any]:
    """The actions in an envelope, in a bare list, or one alone."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return []
    for key, inner in value.items():
        if plain(key) in ACTIONS or (plain(key) == "action" and isinstance(inner, dict | list)):
            return inner if isinstance(inner, list) else [inner]
    named = any(plain(key) in (*KIND, *TOOL, *COMPLETE, *TEXT) for key in value)
    return [value] if named else []


def _action(action: dict[str, Any], where: str, tools: Mapping[str, ToolSpec]) -> _Item:
    if isinstance(action.get("function"), dict):
        action = {"type": "TOOL_CALL"} | action["function"]
    written = _first(action, KIND)
    kind = kind_of(written) if isinstance(written, str) else None
    if kind is None and written in (None, ""):
        kind = "TOOL_CALL" if _first(action, TOOL) else "DIRECT_RESPONSE" if _first(action, TEXT) else None
    if kind is None and isinstance(written, str) and written in tools:
        # The name of the tool stands where its kind belongs.
        return _call(written, action, where)
    match kind:
        case "TOOL_CALL":
            name = _first(action, TOOL)
            named = isinstance(name, str) and bool(name.strip())
            return _call(name.strip(), action, where) if named else _Fault(f'{where}: "tool" must be the name of a tool.')
        case "DIRECT_RESPONSE":
            return _text(action, where)
        case "RAG_RETRIEVE" | "LLM_GENERATE":
            return _by_kind(kind, action, where, tools)
        case None:
            known = "TOOL_CALL, DIRECT_RESPONSE, RAG_RETRIEVE or LLM_GENERATE"
            return _Fault(f'{where}: "type" must be {known}, not {json.dumps(written)[:100]}.')


def _call(name: str, action: dict[str, Any], where: str) -> _Item:
    if not any(plain(key) in ARGUMENTS for key in action):
        beside = [key for key in action if plain(key) not in (*KIND, *TOOL, *REMARKS)]
        if beside:
            return _Fault(f'{where}: put the arguments of {name} into "arguments"; beside it stand {", ".join(beside)[:200]}.')
    return _Call(name, _json(_first(action, ARGUMENTS)))


def _text(action: dict[str, Any], where: str) -> _Item:
    text, complete = _first(action, TEXT), _first(action, COMPLETE)
    if isinstance(complete, str):
        complete = _WORDS.get(complete.strip().lower(), complete)
    if not isinstance(text, str) or not text.strip():
        return _Fault(f'{where}: "text" must be a string that is not empty.')
    if complete is not None and not isinstance(complete, bool):
        return _Fault(f'{where}: "isComplete" must be true or false.')
    return _Text(text, complete)


def _by_kind(kind: ActionKind, action: dict[str, Any], where: str, tools: Mapping[str, ToolSpec]) -> _Item:
    """An action whose tool is found by its kind; its arguments may stand beside the kind."""
    fitting = {name: spec for name, spec in tools.items() if spec.action == kind}
    if not fitting:
        return _Fault(f"{where}: there is no tool for {kind}. Use TOOL_CALL with one of the tools, or DIRECT_RESPONSE.")
    name = _first(action, TOOL)
    spec = fitting.get(name if isinstance(name, str) else "") or next(iter(fitting.values()))
    known = spec.parameters.get("properties", {})
    written: dict[str, Any] = {}
    for key, value in action.items():
        if plain(key) in ARGUMENTS and isinstance(value, dict):
            written |= value
        elif key in known or plain(key) not in (*KIND, *TOOL, *REMARKS):
            written[key] = value
    arguments = {_parameter(key, known): value for key, value in written.items()}
    if not arguments:
        return _Fault(f"{where}: {kind} needs its arguments, at least {', '.join(spec.parameters.get('required', known))}.")
    return _Call(spec.name, _json(arguments))


def _parameter(key: str, known: Mapping[str, Any]) -> str:
    """The parameter that `key` means."""
    alike = next((names for names in _ANOTHER_NAME if key in names), ())
    return key if key in known else next((name for name in alike if name in known), key)


def _json(arguments: Any) -> str:
    """Arguments as JSON text; a text is passed on as it is, and none as none."""
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _first(action: Mapping[str, Any], names: Sequence[str]) -> Any:
    """The first member that goes by one of the names; earlier names come first, but a text is the one written first."""
    if names is TEXT:
        return next((value for key, value in action.items() if plain(key) in names), None)
    by_name = {plain(key): value for key, value in action.items()}
    return next((by_name[name] for name in names if name in by_name), None)
