"""Errands: requests that one call of a small tool settles, and how the arguments of each known tool are read.

`clearly_asked` holds the plain cases, decided by words alone; `arguments` fills in a tool however it was chosen.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from zeno.i18n import text
from zeno.models.offline import places, sums
from zeno.models.offline.conversation import Job
from zeno.models.offline.passages import is_writing, line_range, readable, without_written, written
from zeno.models.offline.sentence import (
    domains,
    emails,
    is_table,
    paths,
    quotations,
    urls,
    without_addresses,
)

Arguments = dict[str, Any]

_WEATHER = re.compile(r"weather|umbrella|\b(?:rain|snow)(?:ing|y)?\b|天气|气温|下雨|下雪|带伞|冷不冷|热不热", re.IGNORECASE)
_MAYBE_WEATHER = re.compile(
    r"forecast|temperature|how (?:hot|cold|warm)|温度|预报|多少度|几度|(?:更|有多|最)[冷热]", re.IGNORECASE
)
_DNS_WORD = re.compile(
    r"\bdns\b|nslookup|\bdig\b|\bresolves?\b|\brecords?\b|解析|域名|记录|\bIP\b|name ?server|mail server|邮件服务器",
    re.IGNORECASE,
)
_RECORD_TYPE = re.compile(r"(?<![A-Za-z0-9])(AAAA|CNAME|MX|TXT)(?![A-Za-z0-9])", re.IGNORECASE)
_A_RECORD = re.compile(r"(?<![A-Za-z0-9])A(?![A-Za-z0-9])|\ba records?\b|(?<![A-Za-z])a\s*记录")
_OTHER_RECORD = re.compile(r"(?<![A-Za-z0-9])(NS|SOA|SRV|PTR|CAA|DNSKEY)(?![A-Za-z0-9])")
_QR = re.compile(r"\bqr\b|qr-?code|二维码|扫码", re.IGNORECASE)
_QR_TEXT = (
    re.compile(
        r"(?:内容(?:为|是)?|文字(?:为|是)?|content(?: is)?|text(?: is)?|saying|that says|containing|"
        r"contains|reading)\s*[:：]?\s*(.+)",
        re.IGNORECASE,
    ),
    re.compile(r"(?:qr ?-?codes?|二维码)\s*[:：]\s*(.+)", re.IGNORECASE),
    re.compile(r"(?:把|将)\s*(.+?)\s*(?:生成|做成|转成|制成|变成|转换成|编成)", re.IGNORECASE),
    re.compile(
        r"(?:qr ?-?codes?)\s+(?:image\s+|picture\s+)?(?:for|of|with|from|to)\s+(?:the\s+)?(?:text\s+)?(.+)", re.IGNORECASE
    ),
    re.compile(r"(?:为|给)\s*(.+?)\s*(?:生成|做|创建|制作)", re.IGNORECASE),
    re.compile(r"(?:turn|convert|encode|put)\s+(.+?)\s+(?:in)?to\s+an?\s+(?:svg\s+|png\s+)?qr", re.IGNORECASE),
)
_NEXT_CLAUSE = re.compile(
    r"\s*(?:[,;，；。]\s*)?(?:\b(?:and|then)\s+(?:also\s+|then\s+)?(?=(?:calc|compute|look|"
    r"check|tell|give|show|what|write|save|read)\w*)|并且?|然后|再|顺便|as an? (?:svg|png)|"
    r"in (?:svg|png)).*$",
    re.IGNORECASE | re.DOTALL,
)
_YES = re.compile(r"^\s*(?:y|yes|ok|okay|sure|overwrite|replace|是|是的|好|好的|可以|覆盖|确认)(?![A-Za-z])", re.IGNORECASE)
_OVERWRITE = re.compile(r"overwrite|replace|覆盖|替换", re.IGNORECASE)


class Unclear(Exception):
    """Something is missing that only the user can say. The text is the question."""


def clearly_asked(said: str, *, about_table: bool) -> tuple[str, ...]:
    """The known tools that the words of a request name beyond doubt, in a fixed order.

    `about_table` says that the request has a table to work on: then words such as "forecast" or "temperature" are about it.
    """
    words = without_addresses(said)
    named = paths(said)
    wanted = {
        "get_weather": bool(_WEATHER.search(words)) or (not about_table and bool(_MAYBE_WEATHER.search(words))),
        "query_dns": bool(domains(said))
        and bool(_RECORD_TYPE.search(words) or _DNS_WORD.search(words) or _OTHER_RECORD.search(words)),
        "calculate": bool(sums.expressions(without_written(said))),
        "generate_qr_code": bool(_QR.search(words)),
        "write_temporary_file": is_writing(said, named),
        "read_file": bool(readable(named)) and not is_writing(said, named),
    }
    if wanted["write_temporary_file"] or wanted["generate_qr_code"]:
        wanted["read_file"] = False
    return tuple(name for name, asked in wanted.items() if asked)


def arguments(tool: str, job: Job) -> list[Arguments] | None:
    """The arguments of each call the job asks of a known tool, `None` for a tool that is not known here.

    Raises `Unclear` when something required is missing.
    """
    reader = _READERS.get(tool)
    return reader(job) if reader else None


def _weather(job: Job) -> list[Arguments]:
    names = [name for answer in job.answers for name in places.cities(answer) or places.answered(answer)]
    names = names or list(places.cities(job.text)) or list(places.answered(job.text) if not _WEATHER.search(job.text) else ())
    if not names:
        raise Unclear(text(job.language, "offline.ask.city"))
    days = places.days(job.said)
    return [{"city": name} if days is None else {"city": name, "days": days} for name in names]


def _dns(job: Job) -> list[Arguments]:
    names = domains(job.answers[-1]) if job.answers else ()
    names = names or domains(job.text)
    if not names:
        raise Unclear(text(job.language, "offline.ask.domain"))
    words = without_addresses(job.said)
    types = list(dict.fromkeys(match[1].upper() for match in _RECORD_TYPE.finditer(words)))
    if _A_RECORD.search(words):
        types.insert(0, "A")
    other = _OTHER_RECORD.search(words)
    if other and not types:
        raise Unclear(text(job.language, "offline.ask.record_type", record_type=other[1]))
    if not types:
        types = [_implied_type(words)]
    return [{"domain": name, "record_type": record_type} for name in names for record_type in types]


def _implied_type(words: str) -> str:
    if re.search(r"mail|邮件|邮箱", words, re.IGNORECASE):
        return "MX"
    return "AAAA" if re.search(r"ipv6", words, re.IGNORECASE) else "A"


def _sums(job: Job) -> list[Arguments]:
    found = [expression for said in reversed(job.answers) for expression in sums.expressions(said)]
    found = found or list(sums.expressions(without_written(job.text)))
    if not found:
        raise Unclear(text(job.language, "offline.ask.expression"))
    return [{"expression": expression} for expression in found]


def _qr(job: Job) -> list[Arguments]:
    contents = _qr_texts(job.text) or tuple(answer.strip() for answer in job.answers[-1:])
    if not contents:
        raise Unclear(text(job.language, "offline.ask.qr_text"))
    options: Arguments = {}
    pictures = [path for path in paths(job.text) if path.lower().endswith((".png", ".svg"))]
    if pictures:
        options["file_name"] = pictures[0].rsplit(".", 1)[0]
    if re.search(r"\bsvg\b|矢量", job.said, re.IGNORECASE):
        options["format"] = "svg"
    named = [dict(options, text=content) for content in contents]
    if len(named) > 1:
        return [dict(entry, file_name=f"{options.get('file_name', 'qr')}-{index}") for index, entry in enumerate(named, 1)]
    return named


def _qr_texts(said: str) -> tuple[str, ...]:
    exact = quotations(said) or urls(said) or emails(said)
    if exact:
        return exact
    clause = next((part for part in re.split(r"[\n。]", said) if _QR.search(part)), said)
    for pattern in _QR_TEXT:
        match = pattern.search(clause)
        content = _NEXT_CLAUSE.sub("", match[1]).strip(" .。!！?？") if match else ""
        if content and not _QR.fullmatch(content):
            return (content,)
    return domains(said)[:1] if "http" in said else ()


def _read(job: Job) -> list[Arguments]:
    named = readable(paths(job.answers[-1])) if job.answers else ()
    named = named or readable(paths(job.text, job.files)) or tuple(path for path in job.attached if not is_table(path))
    if not named:
        raise Unclear(file_question(job))
    return [{"path": path} | line_range(job.text) for path in named[:8]]


def _write(job: Job) -> list[Arguments]:
    asked = paths(job.text)
    named = next((found for answer in reversed(job.answers) if (found := paths(answer))), asked)
    if not named:
        raise Unclear(text(job.language, "offline.ask.target_file"))
    content = written(job.text, asked[0]) if asked else ""
    answers = [answer for answer in job.answers if not _YES.match(answer) and not paths(answer)]
    content = content or (answers[-1] if answers else "")
    if not content:
        raise Unclear(text(job.language, "offline.ask.file_text", path=named[0]))
    overwrite = bool(_OVERWRITE.search(job.text)) or any(_YES.match(answer) for answer in job.answers)
    return [{"path": named[0], "text": content} | ({"overwrite": True} if overwrite else {})]


def file_question(job: Job) -> str:
    """Which file? With the files there are."""
    if job.files:
        return text(job.language, "offline.ask.which_file", files=text(job.language, "offline.words.comma").join(job.files))
    return text(job.language, "offline.ask.no_file")


_READERS: Mapping[str, Callable[[Job], list[Arguments]]] = {
    "get_weather": _weather,
    "query_dns": _dns,
    "calculate": _sums,
    "generate_qr_code": _qr,
    "read_file": _read,
    "write_temporary_file": _write,
}
