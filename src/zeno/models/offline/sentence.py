"""What a sentence names outright: files, addresses, quotations, numbers, sums to work out.

Regular expressions over Chinese and English text; nothing here knows which tool the names are for.
"""

import re
import unicodedata
from collections.abc import Iterable

TABLE_ENDINGS = ("csv", "tsv", "tab", "xlsx", "xlsm", "xls")
TEXT_ENDINGS = (
    "txt",
    "md",
    "log",
    "json",
    "jsonl",
    "yaml",
    "yml",
    "toml",
    "ini",
    "cfg",
    "xml",
    "html",
    "htm",
    "py",
    "js",
    "sql",
)
_OTHER_ENDINGS = ("docx", "doc", "pptx", "pdf", "png", "svg", "jpg", "jpeg", "zip", "parquet")
_ENDING = "|".join(sorted((*TABLE_ENDINGS, *TEXT_ENDINGS, *_OTHER_ENDINGS), key=len, reverse=True))

_URL = re.compile(r"https?://[^\s，。；、！？“”\"'<>（）)]+", re.IGNORECASE)
_EMAIL = re.compile(r"[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")
_PATH = re.compile(rf"(?<![\w.])(?:[\w.()-]+[/\\])*[\w()-][\w.()-]*\.(?:{_ENDING})(?![A-Za-z0-9])", re.IGNORECASE)
_ASCII_PATH = re.compile(
    rf"(?:[A-Za-z0-9_.()-]+[/\\])*[A-Za-z0-9_()][A-Za-z0-9_.()-]*\.(?:{_ENDING})(?![A-Za-z0-9])", re.IGNORECASE
)
_ROOTED_PATH = re.compile(r"(?<![\w./:])(?:(?:\.\.?/)+[\w.-]+(?:/[\w.-]+)*|~?/[\w.-]+(?:/[\w.-]+)+)", re.ASCII)
"""A path that says so by how it begins, whatever it ends with: "/etc/hosts", "../notes", "~/a/b"."""
_DOMAIN = re.compile(r"(?<![\w@.-])(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9])?\.)+[a-z]{2,24}(?![\w-])", re.IGNORECASE | re.ASCII)
_FOREIGN_DOMAIN = re.compile(r"(?<![^\s“\"'：:])[\w-]+(?:\.[\w-]*[^\W\d_][\w-]*)+(?![\w-])")
_QUOTED = re.compile(r"“([^”]+)”|「([^」]+)」|『([^』]+)』|\"([^\"]+)\"|`([^`]+)`|(?<!\w)'([^']+)'(?!\w)|‘([^’]+)’")
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?![\w.]*\d)")
_MONTH = r"(?:1[0-2]|0?[1-9])"
_DATE = re.compile(
    # Around signs that could also reckon there are no blanks, and what they part must be a month.
    rf"(?<![\d.,])\d{{4}}(?:[-/]{_MONTH}(?:[-/]\d{{1,2}})?|\.{_MONTH}\.\d{{1,2}}|\s*年\s*\d{{1,2}}(?:\s*月\s*\d{{1,2}}日?|月)?)(?![\d.,]*\d)"
    r"|(?<![\d.,])\d{1,2}/\d{1,2}/\d{4}(?!\d)"
)
_LEADING_VERBS = re.compile(
    r"^(?:请|一下|麻烦|帮我|帮忙|给我|根据|基于|按照|依据|使用|利用|读取|打开|查看|查询|解析|"
    r"查一下|查|分析|统计|汇总|看看|看一下|读一下|用|把|将|从|对|读|看|的|和|与|在|到|写入|"
    r"保存到|写到|并|文件|表格|数据表)+"
)


def plain(text: str) -> str:
    """Full-width letters, digits and signs as ordinary ones, runs of blanks as one."""
    return re.sub(r"[ \t\u3000]+", " ", unicodedata.normalize("NFKC", text))


def paths(text: str, known: Iterable[str] = ()) -> tuple[str, ...]:
    """The files a text names, in order: known ones by their path or name, others by the look of it."""
    found: dict[str, int] = {}
    rest = _URL.sub(lambda match: " " * len(match[0]), text)
    for path in sorted(known, key=len, reverse=True):
        for name in dict.fromkeys((path, path.rsplit("/", 1)[-1])):
            at = rest.lower().find(name.lower())
            if at >= 0:
                found[path] = at
                rest = rest[:at] + " " * len(name) + rest[at + len(name) :]
                break
    for quotation in quotations(rest):
        if _PATH.fullmatch(quotation.replace(" ", "_")):
            found[quotation] = rest.find(quotation)
            rest = rest.replace(quotation, " " * len(quotation))
    for match in _PATH.finditer(rest):
        name = _bare(match[0])
        found.setdefault(name, match.start())
    for match in _ROOTED_PATH.finditer(_PATH.sub(lambda match: " " * len(match[0]), rest)):
        found.setdefault(match[0], match.start())
    return tuple(sorted(found, key=lambda name: found[name]))


def is_table(path: str) -> bool:
    """Whether a path ends like a table's."""
    return path.lower().rsplit(".", 1)[-1] in TABLE_ENDINGS


def urls(text: str) -> tuple[str, ...]:
    """Web addresses, without the punctuation that follows them."""
    return tuple(match[0].rstrip(".,;:!?") for match in _URL.finditer(text))


def emails(text: str) -> tuple[str, ...]:
    """E-mail addresses."""
    return tuple(match[0] for match in _EMAIL.finditer(text))


def domains(text: str) -> tuple[str, ...]:
    """Domain names, also those inside web addresses; file names are not domain names."""
    hosts = [re.sub(r"^https?://", "", url, flags=re.IGNORECASE) for url in urls(text)]
    found = [re.split(r"[/:?#]", host)[0] for host in hosts]
    rest = _PATH.sub(" ", _EMAIL.sub(" ", _URL.sub(" ", text)))
    found += [match[0] for match in _DOMAIN.finditer(rest)]
    if not found:
        foreign = (_LEADING_VERBS.sub("", match[0]) for match in _FOREIGN_DOMAIN.finditer(rest))
        found += [name for name in foreign if not name.isascii()]
    return tuple(dict.fromkeys(found))


def quotations(text: str) -> tuple[str, ...]:
    """The quoted pieces, without their marks."""
    return tuple(next(group for group in match.groups() if group) for match in _QUOTED.finditer(text))


def numbers(text: str) -> tuple[float, ...]:
    """The numbers outside of names and dates."""
    rest = _DATE.sub(" ", without_names(plain(text)))
    return tuple(float(match[0].replace(",", "").rstrip(".")) for match in _NUMBER.finditer(rest))


def without_names(text: str) -> str:
    """The text with files, addresses and quotations blanked out."""
    return _QUOTED.sub(lambda match: " " * len(match[0]), without_addresses(text))


def without_addresses(text: str) -> str:
    """The text with files and addresses blanked out; quotations stay. Every character keeps its place."""
    for pattern in (_URL, _EMAIL, _ASCII_PATH, _PATH, _DOMAIN):
        text = pattern.sub(lambda match: " " * len(match[0]), text)
    return text


def without_dates(text: str) -> str:
    """The text with calendar dates blanked out."""
    return _DATE.sub(lambda match: " " * len(match[0]), text)


def _bare(name: str) -> str:
    """A file name without the Chinese words that stand in front of it without a space."""
    ascii_name = _ASCII_PATH.search(name)
    if ascii_name and ascii_name.end() == len(name) and not name.startswith(ascii_name[0]):
        stem = name[: ascii_name.start()]
        return name if _is_part_of_name(stem) else ascii_name[0]
    return _LEADING_VERBS.sub("", name) or name


def _is_part_of_name(stem: str) -> bool:
    return bool(_LEADING_VERBS.sub("", stem)) and stem.endswith(("/", "_", "-"))
