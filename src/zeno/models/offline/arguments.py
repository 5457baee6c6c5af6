"""Arguments of a tool never seen before, read from a sentence by the tool's JSON schema.

A parameter is filled by what its name, format, enumeration or type asks for. Optional parameters are filled only when the
sentence plainly holds a value for them.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from zeno.i18n import text
from zeno.models.offline import places, sums
from zeno.models.offline.conversation import Job
from zeno.models.offline.errands import Unclear
from zeno.models.offline.sentence import domains, emails, numbers, paths, plain, quotations, urls

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TOPIC = re.compile(
    r"(?:\b(?:about|for|in|at|of|regarding|named|called)\b|关于|搜索|查找|查询|[:：])\s*(?:the\s+)?(.+)", re.IGNORECASE
)
_NAME = r"((?:[A-Z][\w'-]*\s?)+|[\u3400-\u9fff]{2,6}?(?=到|去|飞|的|，|$))"
_FROM = re.compile(rf"(?:\bfrom\s+|从){_NAME}")
_TO = re.compile(rf"(?:\bto\s+|到|去|飞往?){_NAME}")
_PLACE = re.compile(rf"(?:\b(?:in|at|for|near|to)\s+|在){_NAME}")
_LANGUAGE = re.compile(
    r"\b(English|Chinese|French|German|Spanish|Italian|Japanese|Korean|Russian|Portuguese|Arabic)\b"
    r"|(英文|英语|中文|汉语|法语|法文|德语|德文|西班牙语|日语|日文|韩语|韩文|俄语)",
    re.IGNORECASE,
)


def _found_by(*patterns: re.Pattern[str]) -> Callable[[str], tuple[str, ...]]:
    def find(said: str) -> tuple[str, ...]:
        matches = (match for pattern in patterns for match in pattern.finditer(said))
        return tuple(next(group for group in (*match.groups(), match[0]) if group).strip() for match in matches)

    return find


_KINDS: tuple[tuple[re.Pattern[str], Callable[[str], tuple[str, ...]]], ...] = (
    (re.compile(r"url|uri|link|href|网址|链接"), urls),
    (re.compile(r"e-?mail|recipient|邮箱"), emails),
    (re.compile(r"path|file"), paths),
    (re.compile(r"domain|host"), domains),
    (re.compile(r"origin|departure|^from|source_city|出发"), _found_by(_FROM)),
    (re.compile(r"destination|arrival|^to$|^to_|目的地|到达"), _found_by(_TO)),
    (re.compile(r"language|^lang$|语言"), _found_by(_LANGUAGE)),
    (re.compile(r"city|place|location|town|城市"), lambda said: _found_by(_PLACE)(said) or places.cities(said)),
    (re.compile(r"expression|formula"), sums.expressions),
    (re.compile(r"\bdate\b|_date|date_|日期"), _found_by(_ISO_DATE)),
)
"""What a parameter's name or description asks for, and how that is found in a sentence."""


def filled(parameters: Mapping[str, Any], job: Job) -> dict[str, Any]:
    """The arguments the sentence holds for `parameters`, a JSON schema of an object.

    Raises `Unclear` when a required one is missing. A user's answer to that question is the value of the one missing parameter.
    """
    properties: Mapping[str, Any] = parameters.get("properties", {})
    required = [name for name in parameters.get("required", ()) if name in properties]
    found: dict[str, Any] = {}
    for name, schema in sorted(properties.items(), key=lambda entry: entry[0] not in required):
        value = _value(name, schema, job.text)
        if value is not None and value not in found.values():
            found[name] = value
    missing = [name for name in required if name not in found]
    for answer, name in zip(job.answers, list(missing), strict=False):
        value = _value(name, properties[name], answer)
        found[name] = _typed(properties[name], answer) if value is None else value
    if len(missing) == 1 and missing[0] not in found and _kind(properties[missing[0]]) == "string":
        topic = _topic(missing[0], properties[missing[0]], job.text)
        found |= {missing[0]: topic} if topic else {}
    still = [name for name in missing if found.get(name) is None]
    if still:
        described = properties[still[0]].get("description") or still[0]
        raise Unclear(text(job.language, "offline.ask.parameter", name=still[0], description=described))
    return found


def _value(name: str, schema: Mapping[str, Any], said: str) -> Any:
    if "enum" in schema:
        return _member(schema["enum"], said)
    kind = _kind(schema)
    if kind == "boolean":
        return True if re.search(rf"\b{re.escape(name.replace('_', ' '))}\b", said, re.IGNORECASE) else None
    if kind in ("integer", "number"):
        return _number(name, kind, said)
    if kind == "array":
        items = schema.get("items", {})
        many = _texts(name, schema, said) if _kind(items) == "string" else numbers(said)
        return list(many) or None
    return next(iter(_texts(name, schema, said)), None) if kind == "string" else None


def _texts(name: str, schema: Mapping[str, Any], said: str) -> tuple[str, ...]:
    for words in (name.lower(), f"{schema.get('format', '')} {schema.get('description', '')}".lower()):
        for pattern, find in _KINDS:
            if pattern.search(words):
                found = find(said)
                return found if found or words == name.lower() else quotations(said)
    return quotations(said)


def _number(name: str, kind: str, said: str) -> float | int | None:
    near = re.search(rf"{re.escape(name.replace('_', ' '))}\D{{0,12}}(-?\d+(?:\.\d+)?)", plain(said), re.IGNORECASE)
    value = float(near[1]) if near else next(iter(numbers(said)), None)
    if value is None or (kind == "integer" and not value.is_integer()):
        return None
    return int(value) if kind == "integer" else value


def _member(members: list[Any], said: str) -> Any:
    lowered = plain(said).lower()
    named = [member for member in members if re.search(rf"(?<![a-z0-9]){re.escape(str(member).lower())}(?![a-z0-9])", lowered)]
    return max(named, key=lambda member: len(str(member)), default=None)


def _typed(schema: Mapping[str, Any], answer: str) -> Any:
    if _kind(schema) in ("integer", "number"):
        return None
    return answer.strip() or None


def _topic(name: str, schema: Mapping[str, Any], said: str) -> str | None:
    """What the sentence is about: after "about" or a colon, else the whole of it when the tool takes a question."""
    match = _TOPIC.search(said)
    if match:
        return match[1].strip(" .。?？!！")
    words = f"{name} {schema.get('description', '')}".lower()
    return said if re.search(r"query|question|text|search|prompt|topic|keyword|message", words) else None


def _kind(schema: Mapping[str, Any]) -> str:
    if "type" in schema:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        return next((kind for kind in kinds if kind != "null"), "null")
    options = schema.get("anyOf") or schema.get("oneOf") or ()
    return next((kind for option in options if (kind := _kind(option)) != "null"), "string" if not options else "null")
