"""Text files in a request: which lines to read, and what to write into which file."""

import re

from zeno.models.offline.sentence import TEXT_ENDINGS, paths, quotations, without_names

_WRITE = re.compile(
    r"\b(?:write|save|store|create|put|make|note)\b|写入|写到|写进|写(?![了着的有过])|保存|存到|存入|存为|创建|新建|记录到",
    re.IGNORECASE,
)
_WRITTEN = (
    re.compile(
        r"(?:内容(?:为|是)?|with (?:the )?(?:text|content)s?|content(?: is)?|text(?: is)?|saying|containing)\s*[:：]?\s*(.+)",
        re.IGNORECASE | re.DOTALL,
    ),
    re.compile(
        r"(?:write|save|store|put|note)\s+(?:the (?:text|words|line)\s+)?(.+?)\s+(?:in|into|to|"
        r"as)\s+(?:a |the )?(?:file\s+)?(?:named |called )?$",
        re.IGNORECASE | re.DOTALL,
    ),
    re.compile(r"(?:把|将)\s*(.+?)\s*(?:写入|写到|写进|保存到|保存为|存到|存入|存为)", re.DOTALL),
    re.compile(r"(?:写入|写|保存)\s*[:：]?\s*(.+)", re.DOTALL),
    re.compile(r"[:：]\s*(.+)", re.DOTALL),
)
_LINES = re.compile(r"lines?\s+(\d+)\s*(?:-|–|to|through)\s*(\d+)|第?\s*(\d+)\s*(?:-|到|至)\s*(\d+)\s*行", re.IGNORECASE)
_FIRST_LINES = re.compile(r"(?:first|top)\s+(\d+)\s+lines?|前\s*(\d+)\s*行", re.IGNORECASE)
_FROM_LINE = re.compile(r"(?:from|starting at|start at) line\s+(\d+)|从第?\s*(\d+)\s*行", re.IGNORECASE)


def line_range(said: str) -> dict[str, int]:
    """The lines of a file that a request names, as arguments of `read_file`."""
    both, first, start = _LINES.search(said), _FIRST_LINES.search(said), _FROM_LINE.search(said)
    if both:
        low, high = (int(number) for number in both.groups() if number)
        return {"start_line": low, "max_lines": max(high - low + 1, 1)}
    if first:
        return {"max_lines": int(first[1] or first[2])}
    return {"start_line": int(start[1] or start[2])} if start else {}


def written(said: str, path: str) -> str:
    """The text that a request wants in the file, "" when it does not say."""
    quoted = [quotation for quotation in quotations(said) if quotation != path]
    if quoted:
        return quoted[0]
    before, _, after = said.partition(path)
    for pattern in _WRITTEN:
        for piece in (after, before):
            match = pattern.search(piece)
            if match and match[1].strip(" .。"):
                return match[1].strip()
    return ""


def without_written(said: str) -> str:
    """The request without the text it wants written into a file, which may look like a sum."""
    named = paths(said)
    content = written(said, named[0]) if is_writing(said, named) else ""
    return said.replace(content, " ") if content else said


def is_writing(said: str, named: tuple[str, ...]) -> bool:
    """Whether a request wants something written into the one file it names."""
    return len(named) == 1 and named[0].lower().endswith(TEXT_ENDINGS) and bool(_WRITE.search(without_names(said)))


def readable(named: tuple[str, ...]) -> tuple[str, ...]:
    """The files that hold text, as far as their names tell: those without an ending may."""
    return tuple(path for path in named if path.lower().endswith(TEXT_ENDINGS) or "." not in path.rsplit("/", 1)[-1])
