"""Dirty cells: SQL that reads numbers and dates as people write them, over whole columns at once.

A text is made `tidy` first (full-width characters narrow, blanks plain), then asked what it is. The macros return NULL for what
they cannot read. Knows nothing of files and of tables.
"""

from zeno.tools.builtin.tables.table import Reading

NOTHING = ("", "-", "--", "—", "——", "–", "n/a", "#n/a", "null")
"""Texts that mean "no value" wherever they stand, in lower case."""

NOTHING_AMONG_VALUES = (*NOTHING, "na", "n.a.", "none", "nan", "nil", "/", "\\", "?", "无", "暂无", "空", "缺失", "未知")
"""Texts that mean "no value" in a column of numbers or dates; among texts they are texts."""

_WIDE = "０１２３４５６７８９．，－−＋（）％￥＄：／’\u00a0\u2009\u202f\u3000\t\r\n"
_NARROW = "0123456789.,--+()%¥$:/'" + " " * 7

_PLAIN = r"[-+]?\d{1,15}(?:\.\d{1,15})?"
_CURRENCY = r"(?:(?:US|HK|NT|CA|A|C|R)?\$|[¥€£₩₹₽]|RMB|CNY|USD|EUR|GBP|HKD|JPY|人民币)"
_YUAN = "[¥元圆]|RMB|CNY|人民币"
_DIGITS = r"(?:(?:\d{1,3}(?:,\d{3})+|\d{1,3}(?: \d{3})+|\d{1,3}(?:'\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:e[-+]?\d\d?)?"
_AMOUNT = rf"{_DIGITS} ?(?:万亿|亿|千万|百万|万|千|k)? ?(?:%|元|圆|{_CURRENCY})?"
_NUMBER = rf"(?:[-+]? ?{_CURRENCY}? ?|{_CURRENCY} ?[-+] ?){_AMOUNT}|{_CURRENCY}? ?\( ?{_CURRENCY}? ?{_AMOUNT} ?\)"
_CORE = r"[\d.](?:[\d,. ']*\d)?(?:e[-+]?\d+)?"
_GROUPING = ", '"

_YEAR = r"(?:1[89]|2[01])\d\d"
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
_DATE_START = rf"^(?:{_YEAR}[-/. 年W]|\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d\d|(?:\d{{1,2}}[ -])?{_MONTH})"
"""What is worth the attempt: most texts are no dates, and are passed over fast."""
_ISO = rf"{_YEAR}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{{1,6}})?)?)?"
_YEAR_FIRST = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y %m %d", "%Y年%m月%d日", "%Y年%m月%d号", "%Y年%m月%d"),
    *("%Y-%m", "%Y/%m", "%Y年%m月", "%G-W%V", "%GW%V", "%G-W%V-%u"),
)
_NAMED = (
    *("%d %b %Y", "%d %B %Y", "%b %d %Y", "%B %d %Y", "%d-%b-%Y", "%d-%B-%Y", "%Y %b %d", "%Y %B %d", "%Y-%b-%d"),
    *("%b %Y", "%B %Y", "%b-%Y", "%B-%Y"),
)
_NAMED_SHORT = ("%d-%b-%y", "%d %b %y", "%b-%y", "%b %y")
_CLOCK = ("%H:%M:%S", "%H:%M", "%H:%M:%S.%f", "%I:%M:%S %p", "%I:%M %p", "%I:%M:%S%p", "%I:%M%p")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _listed(texts: tuple[str, ...]) -> str:
    return "[" + ", ".join(map(_quoted, texts)) + "]"


def _ordered(order: str, year: str) -> str:
    return _listed((f"{order.replace('-', '/')}/{year}", f"{order}-{year}", f"%d.%m.{year}"))


MACROS = (
    f"""tidy(t) AS CASE
        WHEN regexp_matches(t, {_quoted(f"[{_WIDE}]")}) THEN trim(translate(t, {_quoted(_WIDE)}, {_quoted(_NARROW)}))
        ELSE trim(t) END""",
    "swapped(v) AS translate(v, '.,', ',.')",
    f"is_nothing(t) AS list_contains({_listed(NOTHING)}, lower(trim(t)))",
    f"is_no_value(t) AS list_contains({_listed(NOTHING_AMONG_VALUES)}, lower(trim(t)))",
    f"is_plain(v) AS regexp_full_match(v, {_quoted(_PLAIN)})",
    """factor(v) AS CASE
        WHEN contains(v, '万亿') THEN 1e12 WHEN contains(v, '亿') THEN 1e8 WHEN contains(v, '千万') THEN 1e7
        WHEN contains(v, '百万') THEN 1e6 WHEN contains(v, '万') THEN 1e4 WHEN contains(v, '千') THEN 1e3
        WHEN regexp_matches(v, '[0-9] ?[kK]') THEN 1e3 END""",
    f"digits(v) AS TRY_CAST(translate(regexp_extract(v, {_quoted(_CORE)}, 0, 'i'), {_quoted(_GROUPING)}, '') AS DOUBLE)",
    f"""number(v) AS CASE
        WHEN is_plain(v) THEN TRY_CAST(v AS DOUBLE)
        WHEN regexp_full_match(v, {_quoted(_NUMBER)}, 'i') THEN
            (CASE WHEN regexp_matches(v, '^[^0-9.]*[-(]') THEN -1 ELSE 1 END)
            * (CASE WHEN factor(v) IS NULL THEN digits(v) ELSE round(digits(v) * factor(v), 6) END) END""",
    f"""unit(v) AS CASE
        WHEN is_plain(v) THEN NULL
        WHEN contains(v, '%') THEN '%'
        WHEN regexp_matches(v, {_quoted(_YUAN)}, 'i') THEN '¥'
        WHEN regexp_matches(v, '^[^a-zA-Z]*[$]|US[$]|USD', 'i') THEN '$'
        WHEN regexp_matches(v, '€|EUR', 'i') THEN '€'
        WHEN regexp_matches(v, '£|GBP', 'i') THEN '£'
        ELSE nullif(upper(regexp_extract(v, {_quoted(_CURRENCY)}, 0, 'i')), '') END""",
    rf"""day_of(d, day_first) AS CASE
        WHEN regexp_matches(d, '[a-zA-Z]{{3}}') THEN
            CASE WHEN regexp_matches(d, '{_YEAR}') THEN try_strptime(translate(d, ',', ''), {_listed(_NAMED)})
            ELSE try_strptime(translate(d, ',', ''), {_listed(_NAMED_SHORT)}) END
        WHEN regexp_matches(d, '^{_YEAR}\D') THEN try_strptime(d, {_listed(_YEAR_FIRST)})
        WHEN regexp_full_match(d, '\d{{1,2}}[-/.]\d{{1,2}}[-/.]{_YEAR}') THEN
            CASE WHEN day_first THEN try_strptime(d, {_ordered("%d-%m", "%Y")})
            ELSE try_strptime(d, {_ordered("%m-%d", "%Y")}) END
        WHEN regexp_full_match(d, '\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d\d') THEN
            CASE WHEN day_first THEN try_strptime(d, {_ordered("%d-%m", "%y")})
            ELSE try_strptime(d, {_ordered("%m-%d", "%y")}) END END""",
    rf"""clock_of(v) AS try_strptime(
        upper(regexp_replace(regexp_extract(v, '\d{{1,2}}:\d\d.*$'), ' *(Z|[-+]\d\d:?\d\d)$', '')), {_listed(_CLOCK)})""",
    r"is_ordered(v) AS regexp_matches(v, '^\d{1,2}[-/.]\d{1,2}[-/.]\d\d')",
    rf"""moment(v, day_first) AS CASE
        WHEN NOT regexp_matches(v, {_quoted(_DATE_START)}, 'i') THEN NULL
        WHEN regexp_full_match(v, {_quoted(_ISO)}) THEN TRY_CAST(v AS TIMESTAMP)
        WHEN contains(v, ':') THEN
            day_of(regexp_replace(v, '[T ,]+\d{{1,2}}:\d\d.*$', ''), day_first) + (clock_of(v) - TIMESTAMP '1900-01-01')
        ELSE day_of(v, day_first) END""",
    rf"""compact_day(v) AS CASE WHEN regexp_full_match(v, '{_YEAR}[01]\d[0-3]\d') THEN try_strptime(v, '%Y%m%d') END""",
)
"""The macros, each without its `CREATE MACRO`; a later one uses earlier ones.

`number(v)` and `moment(v, day_first)` read a tidy text, `unit(v)` tells the currency or percent sign of a number, and only for
an `is_ordered(v)` does it matter whether the day or the month comes first.
"""


def value_sql(reading: Reading, text: str) -> str:
    """The expression for the value of `text` (SQL of a text that is not NULL) in a column that is read so; NULL for none."""
    if reading.type == "number":
        return f"number(swapped(tidy({text})))" if reading.decimal_comma else f"number(tidy({text}))"
    if reading.type == "date":
        first, second = ("true", "false") if reading.day_first else ("false", "true")
        moments = [f"moment(tidy({text}), {first})", f"moment(tidy({text}), {second})"]
        if reading.compact:
            moments.append(f"compact_day(tidy({text}))")
        return f"CAST(coalesce({', '.join(moments)}) AS {'TIMESTAMP' if reading.timed else 'DATE'})"
    if reading.type == "boolean":
        return f"TRY_CAST(trim({text}) AS BOOLEAN)"
    return f"CASE WHEN NOT is_nothing({text}) THEN trim({text}) END"
