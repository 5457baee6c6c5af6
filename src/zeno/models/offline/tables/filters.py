"""The rows a sentence limits itself to: values of text columns, numbers compared, and the stretch of time."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

from zeno.models.offline.tables.columns import Mention, mentions
from zeno.models.offline.tables.lexicon import concept_of, normal, spoken
from zeno.models.offline.tables.plan import Condition, days_of
from zeno.models.offline.tables.profile import Column, Note, Profile
from zeno.models.offline.tables.spans import Span, span

Values = Mapping[str, Sequence[str]]
"""What is known to occur in each text column."""

_EXCLUDED = re.compile(
    r"(?:excluding|exclude|except(?: for)?|without|not(?: including)?|other than|ignoring|"
    r"ignore|omit|除了?|不含|不包括|排除|去掉|剔除|不要)\s*(?:the\s+)?[^,.;，。；]{0,12}$"
)
_COMPARED: tuple[tuple[str, re.Pattern[str]], ...] = (
    (">=", re.compile(
        r"\s*(?:is\s+|are\s+)?(?:at least|>=|≥|不少于|不低于|大于等于|至少)\s*[¥￥$€£]?\s*(-?[\d,.]*\d)(\s*万)?")),
    ("<=", re.compile(
        r"\s*(?:is\s+|are\s+)?(?:at most|<=|≤|不超过|不多于|不高于|小于等于|至多)\s*[¥￥$€£]?\s*(-?[\d,.]*\d)(\s*万)?")),
    (">", re.compile(
        r"\s*(?:is\s+|are\s+)?(?:over|above|more than|greater than|larger than|higher than|exceed(?:s|"
        r"ing)?|>|大于|超过|高于|多于)\s*[¥￥$€£]?\s*(-?[\d,.]*\d)(\s*万)?")),
    ("<", re.compile(
        r"\s*(?:is\s+|are\s+)?(?:under|below|less than|smaller than|lower than|fewer than|<|小于|"
        r"低于|少于|不足)\s*[¥￥$€£]?\s*(-?[\d,.]*\d)(\s*万)?")),
)  # fmt: skip
_COUNTED = re.compile(r"(?:number of|how many|count of)\s+$")
_WHOLE = re.compile(r"(?:grand |sub)?totals?|sums?|all|people|persons?|others?|none|yes|no|合计|总计|小计|全部|总和")
"""Values that are everyday words: a sentence that says "total" or "people" does not mean the rows called so."""
_LIMITED = re.compile(
    r"(?:\b(?:[Ii]n|[Ff]or|[Oo]f|[Ff]rom|[Oo]nly|[Jj]ust)\s+)((?:[A-Z][\w&'-]*\s?)+)|(?:只看|"
    r"仅看|只要|仅统计|只统计|只分析|仅限)\s*([^，。,.;；的\s]{1,12})"
)
_ONLY = re.compile(r"只看|仅看|只要|仅统计|只统计|只分析|仅限|筛选|\bonly\b|\bjust\b|\bfilter\w*\b|限于")
_OUTPUT = re.compile(r"(?:word|docx?|excel|xlsx|pdf|markdown|csv|json|english|chinese|mandarin)\b.*", re.IGNORECASE)
"""What the result is to be in, not what the rows are limited to."""
_CAPITALISED = re.compile(r"(?<=[a-z,] )[A-Z][\w&'-]+")


def by_value(said: str, values: Values, columns: Sequence[Column]) -> list[Condition]:
    """Conditions for the values the sentence names; several values of one column are joined."""
    wanted: dict[str, list[str]] = {}
    unwanted: dict[str, list[str]] = {}
    for value, column, start in _values_named(said, values, columns):
        (unwanted if _EXCLUDED.search(said[:start]) else wanted).setdefault(column.name, []).append(value)
    conditions = [_condition(name, found) for name, found in wanted.items()]
    return conditions + [{"column": name, "op": "!=", "value": value} for name, found in unwanted.items() for value in found]


def by_number(said: str, mentioned: Sequence[Mention]) -> list[Condition]:
    """Conditions such as "amount over 1,000" or "金额大于1000"."""
    conditions: list[Condition] = []
    for mention in mentioned:
        if mention.column.type != "number":
            continue
        for op, pattern in _COMPARED:
            match = pattern.match(said, mention.end)
            if match:
                number = float(match[1].replace(",", "")) * (10_000 if match[2] else 1)
                conditions.append(
                    {"column": mention.column.name, "op": op, "value": int(number) if number.is_integer() else number}
                )
                break
    return conditions


def by_time(said: str, time: Column | None, *, report: bool) -> tuple[list[Condition], Span | None]:
    """Conditions on the time column, and the span they come from. A report follows time, so "last week" does not limit it."""
    days = days_of(time) if time else None
    found = span(said, days[1], current=not report) if days else None
    if time is None or found is None:
        return [], None
    after = found.last + timedelta(days=1) if found.last else None
    ends = [(">=", found.first), ("<", after)]
    return [{"column": time.name, "op": op, "value": day.isoformat()} for op, day in ends if day], found


def not_applied(original: str, conditions: Sequence[Condition], columns: Sequence[Column]) -> list[str]:
    """What the sentence seems to limit itself to although no column holds it. `original` is in its own letters."""
    applied = " ".join(str(condition.get("value")) for condition in conditions).lower()
    found = [next(group for group in match.groups() if group).strip() for match in _LIMITED.finditer(original)]
    found = [words for words in found if not _OUTPUT.fullmatch(words)]
    return [words for words in found if words.lower() not in applied and not mentions(words.lower(), columns)]


def without_totals(profile: Profile) -> list[Condition]:
    """Conditions that leave out the rows which a table tool reports as totals of others: they would count everything twice."""
    if not profile.columns or not total_rows(profile):
        return []
    first = profile.columns[0]
    if first.type != "text":
        return [{"column": first.name, "op": "not_empty"}]
    words = dict.fromkeys(str(example).partition(": ")[2] for note in _totals(profile) for example in note.examples)
    return [{"column": first.name, "op": "!=", "value": word} for word in words if word]


def total_rows(profile: Profile) -> str:
    """The rows that are totals of others, as the table tool names them."""
    return ", ".join(str(example) for note in _totals(profile) for example in note.examples)


def may_name_values(said: str, original: str) -> bool:
    """Whether the sentence seems to name a value that the profile's examples do not show."""
    return bool(_ONLY.search(said) or _CAPITALISED.search(original))


def _totals(profile: Profile) -> list[Note]:
    return [note for note in profile.notes if note.code == "total_rows"]


def _condition(name: str, found: list[str]) -> Condition:
    return {"column": name, "op": "=", "value": found[0]} if len(found) == 1 else {"column": name, "op": "in", "value": found}


def _values_named(said: str, values: Values, columns: Sequence[Column]) -> Iterator[tuple[str, Column, int]]:
    names = {
        word for column in columns for word in (normal(column.name), column.name.lower(), *(concept_of(column.name) or ()))
    }
    taken: list[tuple[int, int]] = []
    known = {column.name: column for column in columns if column.type in ("text", "boolean")}
    pairs = [(str(value), known[name]) for name, listed in values.items() if name in known for value in listed]
    for value, column in sorted(pairs, key=lambda pair: (-len(pair[0]), pair[1].distinct)):
        word = value.lower().strip()
        if len(word) < 2 or _WHOLE.fullmatch(word) or word in names or re.fullmatch(r"[\d.,]+", word):
            continue
        match = next((m for m in spoken(word).finditer(said) if all(m.end() <= a or m.start() >= b for a, b in taken)), None)
        if match and not _COUNTED.search(said[: match.start()]):
            taken.append(match.span())
            yield value, column, match.start()
