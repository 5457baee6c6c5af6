"""Makes the corpus of arguments: what a model may write, damaged in one way each, beside what it meant.

`meant` is null where nobody can know it, as after a cut; then, no reading is right. An empty text is an empty object, and half
a surrogate pair is U+FFFD, because `zeno.core.arguments` says so.

`broken.jsonl` keeps the lines that were written by hand and gets the made ones anew; `valid.jsonl` is made as a whole. Run it
as `python -m tests.core.corpus.make_corpus`. The same seed makes the same lines.
"""

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.core.corpus.arguments import BASES, VALUES

HERE = Path(__file__).parent
BROKEN, VALID = HERE / "broken.jsonl", HERE / "valid.jsonl"
PER_KIND = 12

Line = dict[str, Any]
Chance = random.Random
Damage = Callable[[dict[str, Any], Chance], str | None]
"""A text that was meant as the object, or `None` where the object has no place for the damage."""

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|true|false|null|-?\d[\d.eE+-]*|[{}\[\],:]')
WIDE = dict(zip("{}[],:", "｛｝［］，：", strict=True))
PYTHON = {"true": "True", "false": "False", "null": "None"}


def dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def at(text: str, tokens: str, chance: Chance) -> re.Match[str] | None:
    """One of the brackets, commas or strings of `text`, by the first character."""
    found = [token for token in TOKEN.finditer(text) if token[0][0] in tokens]
    return chance.choice(found) if found else None


def replaced(text: str, found: re.Match[str] | None, by: Callable[[str], str]) -> str | None:
    return text[: found.start()] + by(found[0]) + text[found.end() :] if found else None


def each(text: str, by: Callable[[str], str]) -> str:
    return TOKEN.sub(lambda found: by(found[0]), text)


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def single_quoted(token: str) -> str:
    return "'" + token[1:-1].replace('\\"', '"').replace("'", "\\'") + "'" if token[0] == '"' else token


def curly_quoted(token: str) -> str:
    return f"“{token[1:-1]}”" if token[0] == '"' else token


def fenced(value: dict[str, Any], chance: Chance) -> str:
    opening = chance.choice(["```json\n", "```\n", "```JSON\n", "```json5\n"])
    return opening + json.dumps(value, ensure_ascii=False, indent=2) + chance.choice(["\n```", "\n```\n", "```"])


def in_prose(value: dict[str, Any], chance: Chance) -> str:
    before = chance.choice(
        ["", "好的，我来调用工具：\n", "Sure! Here are the arguments: ", "I'll use [the tool] now.\n\n", "arguments = "]
    )
    after = chance.choice(["\nLet me know if {anything} is missing.", "\n以上就是参数。", ";", "</tool_call>", "<|im_end|>"])
    return before + dumped(value) + after


def trailing_comma(value: dict[str, Any], chance: Chance) -> str | None:
    return replaced(dumped(value), at(dumped(value), "}]", chance), lambda token: "," + token)


def missing_comma(value: dict[str, Any], chance: Chance) -> str | None:
    return replaced(dumped(value), at(dumped(value), ",", chance), lambda _: chance.choice(["", "\n"]))


def double_comma(value: dict[str, Any], chance: Chance) -> str | None:
    return replaced(dumped(value), at(dumped(value), ",", chance), lambda token: token + chance.choice([",", " ,"]))


def missing_bracket(value: dict[str, Any], chance: Chance) -> str | None:
    text = dumped(value)
    broken = replaced(text, at(text, "}]", chance), lambda _: "")
    return f"```json\n{broken}\n```" if chance.random() < 0.5 else broken


def missing_opening(value: dict[str, Any], chance: Chance) -> str | None:
    return replaced(dumped(value), at(dumped(value), "{[", chance), lambda _: "")


def extra_bracket(value: dict[str, Any], chance: Chance) -> str | None:
    # None of the objects ends with an object in an object: there, one bracket too many inside gives the text that another
    # object gives with one too many at its end, and the latter is what such a text is read as.
    text = dumped(value)
    return replaced(text, at(text, "}]", chance), lambda token: token + chance.choice([token, token, "}", "]"]))


def other_bracket(value: dict[str, Any], chance: Chance) -> str | None:
    return replaced(dumped(value), at(dumped(value), "}]", chance), lambda token: "}" if token == "]" else "]")


def single_quotes(value: dict[str, Any], _: Chance) -> str:
    return each(dumped(value), single_quoted)


def curly_quotes(value: dict[str, Any], _: Chance) -> str | None:
    return None if any(char in text for text in strings(value) for char in "“”") else each(dumped(value), curly_quoted)


def bare_keys(value: dict[str, Any], _: Chance) -> str:
    return re.sub(r'"([^\W\d]\w*)"(?=\s*:)', r"\1", dumped(value))


def comments(value: dict[str, Any], chance: Chance) -> str | None:
    remark = chance.choice([" // the one, asked for {here}\n", " /* 按用户要求, 见上文 */ ", " # see above: [1]\n"])
    return replaced(dumped(value), at(dumped(value), "{[,", chance), lambda token: token + remark)


def python_words(value: dict[str, Any], chance: Chance) -> str:
    words = {**value, "overwrite": chance.choice([True, False]), "sheet": None}
    value.update(words)
    quoted = chance.choice([single_quoted, str])
    return each(dumped(value), lambda token: PYTHON.get(token, quoted(token)))


def full_width(value: dict[str, Any], chance: Chance) -> str | None:
    wide = chance.choice(["{}[],:", ",:", ":", ","])
    text = each(dumped(value), lambda token: WIDE[token] if token in wide else token)
    return each(text, curly_quoted) if chance.random() < 0.3 and curly_quotes(value, chance) else text


def raw_newlines(value: dict[str, Any], chance: Chance) -> str:
    value["note"] = chance.choice(["第一行\n第二行\t完", "a\n\nb", "\n# Title\n", "x\\n stays\ny", "|a|b|\n|-|-|\n"])
    controls = {"n": "\n", "t": "\t"}
    return each(dumped(value), lambda token: re.sub(r"\\(?:([nt])|.)", lambda found: controls.get(found[1], found[0]), token))


def invalid_escapes(value: dict[str, Any], chance: Chance) -> str:
    pattern = chance.choice(
        [r"^\d+\.\w$", r"C:\Users\new\temp\报表.csv", r"\[重要\] 50\% \& more", r"\bword\b\s+", r"\alpha + \beta"]
    )
    value["note"] = pattern
    return dumped(value).replace(dumped(pattern), f'"{pattern}"')


def literal_newlines(value: dict[str, Any], chance: Chance) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=chance.choice([1, 2, 4]))
    return text.replace("\n", r"\n") if chance.random() < 0.5 else text.replace("\n", "\\n\n")


def cut_in_string(value: dict[str, Any], chance: Chance) -> str | None:
    text = dumped(value)
    found = [token for token in TOKEN.finditer(text) if len(token[0]) > 3 and token[0][0] == '"' and text[token.end()] != ":"]
    token = chance.choice(found) if found else None
    return text[: chance.randrange(token.start() + 2, token.end() - 1)] if token else None


def cut_in_key(value: dict[str, Any], chance: Chance) -> str:
    text = dumped(value)
    token = chance.choice([token for token in TOKEN.finditer(text) if token[0][0] == '"' and text[token.end()] == ":"])
    return text[: chance.randrange(token.start() + 1, token.end())]


def cut_between(value: dict[str, Any], chance: Chance) -> str | None:
    text = dumped(value)
    token = at(text[:-1], ",:{[}]", chance)
    return text[: token.end()] + chance.choice(["", " ", "\n"]) if token else None


def encoded_twice(value: dict[str, Any], chance: Chance) -> str:
    twice = json.dumps(dumped(value), ensure_ascii=chance.random() < 0.5)
    return chance.choice([twice, twice[1:-1], json.dumps(twice, ensure_ascii=False)])


def two_objects(value: dict[str, Any], chance: Chance) -> str:
    other = {**value, "limit": 7}
    return dumped(value) + chance.choice(["", "\n", ", ", " or "]) + dumped(chance.choice([other, {}, {"limit": 7}]))


def same_object_twice(value: dict[str, Any], chance: Chance) -> str:
    return dumped(value) + chance.choice(["", "\n", "\n\n"]) + dumped(value)


def no_object(value: dict[str, Any], chance: Chance) -> str:
    return chance.choice(["null", "true", "[]", "7", "-0.5", '"北京"', dumped([value]), dumped([*value]), "[1, 2,]", "'x'"])


def nothing(_: dict[str, Any], chance: Chance) -> str:
    return chance.choice(["", " ", "\n", "\t\r\n ", "   \n"])


def no_number(value: dict[str, Any], chance: Chance) -> str:
    value["limit"] = 12345
    return dumped(value).replace("12345", chance.choice(["NaN", "Infinity", "-Infinity", "nan", "inf", "1e999", "undefined"]))


def half_pair(value: dict[str, Any], chance: Chance) -> str:
    half = chance.choice([r"\ud83d", r"\uDE00", r"\ud83d\ud83d", r"\udbff"])
    text = dumped({**value, "note": "很好@ done"}).replace("@", half)
    value["note"] = "很好" + "\ufffd" * half.count("\\") + " done"
    return text


def invisible(value: dict[str, Any], chance: Chance) -> str:
    between = chance.choice([", ", ",\u200b", ",\xa0", ",\u3000", ", \u2060"])
    text = json.dumps(value, ensure_ascii=False, separators=(between, ":"))
    return chance.choice(["\ufeff", "\u200b", "\ufeff\u200b\n"]) + text + chance.choice(["", "\u200b", "\ufeff"])


def inner_quotes(value: dict[str, Any], chance: Chance) -> str:
    said = chance.choice(
        [
            'He said "yes" twice.',
            '"重点"是华东区',
            '销售额"创新高"，见"附表"',
            'a 5" screen',
            '"all", "none"',
            'key "name": "x"',
        ]
    )
    value["note"] = said
    return dumped(value).replace(dumped(said), f'"{said}"')


def garbage(value: dict[str, Any], chance: Chance) -> str:
    words = [*value, "I cannot", "抱歉", "...", "{", "}", "[x]", "(1)", "<tool_call>", "**", "{}", "the tool", "：", "-"]
    return " ".join(["Well", *(chance.choice(words) for _ in range(chance.randint(1, 8)))])


RECOVERABLE: dict[str, Damage] = {
    "markdown fence": fenced,
    "prose around": in_prose,
    "trailing comma": trailing_comma,
    "missing comma": missing_comma,
    "double comma": double_comma,
    "missing closing bracket": missing_bracket,
    "missing opening bracket": missing_opening,
    "extra closing bracket": extra_bracket,
    "mismatched bracket": other_bracket,
    "single quotes": single_quotes,
    "curly quotes": curly_quotes,
    "unquoted keys": bare_keys,
    "comments": comments,
    "Python literals": python_words,
    "full-width punctuation": full_width,
    "raw newlines in strings": raw_newlines,
    "invalid escapes": invalid_escapes,
    "literal backslash-n between members": literal_newlines,
    "double-encoded": encoded_twice,
    "same object twice": same_object_twice,
    "lone surrogate escape": half_pair,
    "BOM and zero-width": invisible,
    "unescaped inner quotes": inner_quotes,
}
"""Damage that leaves what was meant; some of it only to the one who knows it."""

UNKNOWABLE: dict[str, Damage] = {
    "truncated in a string": cut_in_string,
    "truncated in a key": cut_in_key,
    "truncated between members": cut_between,
    "two objects": two_objects,
    "no object": no_object,
    "NaN or Infinity": no_number,
    "garbage without JSON": garbage,
}
"""Damage after which nobody can tell what was meant."""

DAMAGE = {**RECOVERABLE, **UNKNOWABLE, "empty text": nothing}


def broken_by(kind: str) -> Iterator[Line]:
    """Different texts of one kind, each object in turn."""
    chance = Chance(f"zeno {kind}")
    seen = set()
    for turn in range(PER_KIND * 4):
        value = json.loads(dumped(BASES[turn % len(BASES)]))
        text = DAMAGE[kind](value, chance)
        if text is None or text in seen:
            continue
        seen.add(text)
        meant = {} if kind == "empty text" else value if kind in RECOVERABLE else None
        yield {"kind": kind, "text": text, "meant": meant, "origin": "made"}
        if len(seen) == PER_KIND:
            return


def made() -> list[Line]:
    """All lines that are made, and none that is plain JSON after all."""
    return [line for kind in DAMAGE for line in broken_by(kind)]


def valid() -> list[Line]:
    """Sound texts: each value in several ways of writing it."""
    styles: list[dict[str, Any]] = [{"ensure_ascii": False}, {"indent": 2, "ensure_ascii": False}, {"separators": (",", ":")}]
    return [{"text": json.dumps(value, **style), "meant": value} for value in (*BASES, *VALUES) for style in styles]


def read(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def write(path: Path, lines: list[Line]) -> None:
    path.write_text("".join(f"{dumped(line)}\n" for line in lines), "utf-8")


if __name__ == "__main__":
    write(BROKEN, [*made(), *(line for line in read(BROKEN) if line["origin"] == "written")])
    write(VALID, valid())
