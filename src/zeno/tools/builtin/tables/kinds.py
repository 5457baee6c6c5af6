"""What a column holds, decided on all its different texts at once, and what has to be said about that.

Works on a database that has the macros of `cells` and a table of raw texts: `row`, `c0`, `c1`, ... Knows no file.
"""

# ruff: noqa: S608 (fields are c0, c1, ...; the conditions are written here; texts of the file are parameters or stay in the database)

import re
from typing import Any, NamedTuple

from zeno.tools.builtin.tables.table import Column, Note, Reading

_ENOUGH = 0.8
"""A column is one of numbers or dates when this share of its values are; the others are reported."""
_WORTH_A_NOTE = 0.5

_DATE_HINT = re.compile(r"date|day|time|日期|时间|日$", re.IGNORECASE)
_LONGEST_NUMBER = 15
"""Longer digits are names (of an order, of a card): as numbers they would lose their end."""

_WORDS = r"""
CREATE OR REPLACE TEMP TABLE word AS
WITH tidied AS (
    SELECT coalesce({field}, '') AS text, count(*) AS n, min(row) AS first_row, tidy(text) AS v, is_nothing(text) AS nothing,
        is_no_value(text) AS no_value
    FROM {cells} GROUP BY {field}),
numbers AS (
    SELECT *, CASE WHEN NOT no_value THEN number(v) END AS dotted,
        CASE WHEN no_value THEN NULL WHEN contains(v, ',') THEN number(swapped(v)) WHEN NOT contains(v, '.') THEN dotted
            WHEN regexp_full_match(v, '[^.]*\d{{1,3}}(\.\d{{3}})+\D*') THEN number(swapped(v)) END AS comma
    FROM tidied),
dates AS (SELECT *, CASE WHEN dotted IS NULL AND NOT no_value THEN moment(v, true) END AS day_first FROM numbers)
SELECT *, CASE WHEN dotted IS NULL AND is_ordered(v) THEN moment(v, false) ELSE day_first END AS month_first,
    compact_day(v) AS compact, CASE WHEN dotted IS NOT NULL OR comma IS NOT NULL THEN unit(v) END AS unit
FROM dates
"""

_COUNTS = r"""
SELECT
    coalesce(sum(n) FILTER (NOT nothing), 0)::BIGINT,
    coalesce(sum(n) FILTER (NOT no_value), 0)::BIGINT,
    coalesce(sum(n) FILTER (lower(v) IN ('true', 'false')), 0)::BIGINT,
    coalesce(sum(n) FILTER (dotted IS NOT NULL), 0)::BIGINT,
    coalesce(sum(n) FILTER (comma IS NOT NULL), 0)::BIGINT,
    coalesce(sum(n) FILTER (regexp_full_match(v, '\d+')), 0)::BIGINT,
    coalesce(bool_or(regexp_full_match(v, '0\d+') OR regexp_full_match(v, '\d{{{longest},}}')), false),
    coalesce(sum(n) FILTER (day_first IS NOT NULL OR month_first IS NOT NULL), 0)::BIGINT,
    coalesce(sum(n) FILTER (month_first IS NULL AND day_first IS NOT NULL), 0)::BIGINT,
    coalesce(sum(n) FILTER (day_first IS NULL AND month_first IS NOT NULL), 0)::BIGINT,
    coalesce(sum(n) FILTER (compact IS NOT NULL), 0)::BIGINT,
    coalesce(bool_or(coalesce(day_first, month_first)::TIME <> TIME '00:00:00'), false)
FROM word
"""


class _Counts(NamedTuple):
    filled: int
    valued: int
    booleans: int
    dotted: int
    comma: int
    digits: int
    identifiers: bool
    dates: int
    only_day_first: int
    only_month_first: int
    compact: int
    timed: bool


def read_column(connection: Any, cells: str, name: str, position: int) -> tuple[Column, list[Note]]:
    """The column `c<position>` of the raw table `cells`, called `name`, and the notes on it.

    Leaves the texts that fit its type not at all in the temporary table `unreadable`.
    """
    connection.execute(_WORDS.format(field=f"c{position}", cells=cells))
    counts = _Counts(*connection.execute(_COUNTS.format(longest=_LONGEST_NUMBER + 1)).fetchall()[0])
    reading = _decided(name, counts)
    value = _value(reading)
    wrong = f"{value} IS NULL AND NOT no_value" if reading.type in {"number", "date"} else "false"
    connection.execute(f"CREATE OR REPLACE TEMP TABLE unreadable AS SELECT text, n FROM word WHERE {wrong}")
    notes = _Notes(connection, name)
    if reading.type == "number":
        unit = _number_notes(notes, reading, value)
        decimals = connection.execute(f"SELECT {_decimals(value)} FROM word").fetchall()[0][0]
        return Column(name, position, reading, unit, decimals), notes.found
    if reading.type == "date":
        _date_notes(notes, reading, value, counts)
    elif reading.type == "text":
        _text_notes(notes, counts)
    return Column(name, position, reading), notes.found


def _decided(name: str, counts: _Counts) -> Reading:
    if not counts.filled:
        return Reading("empty")
    if counts.booleans == counts.filled:
        return Reading("boolean")
    enough = max(1.0, counts.valued * _ENOUGH)
    compact = bool(counts.compact) and (counts.compact == counts.valued or bool(_DATE_HINT.search(name)))
    if counts.dates + counts.compact * compact >= enough:
        day_first = counts.only_day_first > counts.only_month_first
        return Reading("date", day_first=day_first, compact=compact, timed=counts.timed)
    if max(counts.dotted, counts.comma) >= enough and not _are_identifiers(counts):
        return Reading("number", decimal_comma=counts.comma > counts.dotted)
    return Reading("text")


def _are_identifiers(counts: _Counts) -> bool:
    return counts.identifiers and counts.digits == counts.dotted


def _value(reading: Reading) -> str:
    """The field of `word` with the values of a column that is read so."""
    if reading.type == "number":
        return "comma" if reading.decimal_comma else "dotted"
    first, second = ("day_first", "month_first") if reading.day_first else ("month_first", "day_first")
    return f"coalesce({first}, {second}, {'compact' if reading.compact else 'NULL'})"


def _decimals(value: str) -> str:
    places = " ".join(f"WHEN {value} = round({value}, {places}) THEN {places}" for places in (0, 1, 2, 3, 4, 6))
    most = f"max(CASE WHEN {value} IS NULL THEN 0 {places} ELSE 99 END)"
    return f"nullif({most}, 99)"


class _Notes:
    """Collects notes on one column: how many cells meet a condition on their word, and the first of them."""

    def __init__(self, connection: Any, name: str) -> None:
        self.connection = connection
        self.name = name
        self.found: list[Note] = []

    def add(self, code: str, condition: str) -> None:
        count = self.connection.execute(f"SELECT coalesce(sum(n), 0)::BIGINT FROM word WHERE {condition}").fetchall()[0][0]
        if count:
            first = f"SELECT text FROM word WHERE {condition} ORDER BY first_row LIMIT 3"
            examples = [text[:60] for (text,) in self.connection.execute(first).fetchall()]
            self.found.append(Note(code, self.name, count, examples))


def _number_notes(notes: _Notes, reading: Reading, value: str) -> str | None:
    """Says what was cleaned; returns the unit that all numbers share."""
    read = f"{value} IS NOT NULL"
    notes.add("percentages_read", f"{read} AND unit = '%'")
    notes.add("currency_removed", f"{read} AND unit <> '%'")
    notes.add("numbers_cleaned", f"{read} AND unit IS NULL AND (NOT is_plain(v) OR v <> trim(text))")
    if reading.decimal_comma:
        notes.add("decimal_comma", f"{read} AND contains(v, ',')")
    notes.add("missing_markers", "no_value AND trim(text) <> ''")
    query = f"SELECT unit, sum(n)::BIGINT FROM word WHERE {read} GROUP BY ALL ORDER BY ALL"
    units = dict(notes.connection.execute(query).fetchall())
    symbols = [unit for unit in units if unit]
    if len(symbols) > 1 or ("%" in symbols and None in units):
        notes.found.append(Note("mixed_units", notes.name, sum(units.values()), [unit or "none" for unit in units][:3]))
    return symbols[0] if len(symbols) == 1 else None


def _date_notes(notes: _Notes, reading: Reading, value: str, counts: _Counts) -> None:
    notes.add("dates_unified", rf"{value} IS NOT NULL AND NOT regexp_matches(text, '^\d{{4}}-\d\d-\d\d')")
    notes.add("missing_markers", "no_value AND trim(text) <> ''")
    if bool(counts.only_day_first) == bool(counts.only_month_first):
        code = "ambiguous_dates_day_first" if reading.day_first else "ambiguous_dates_month_first"
        notes.add(code, "day_first IS NOT NULL AND month_first IS NOT NULL AND day_first <> month_first")


def _text_notes(notes: _Notes, counts: _Counts) -> None:
    if counts.valued and _are_identifiers(counts) and counts.dotted >= counts.valued * _ENOUGH:
        notes.add("identifiers_kept", "dotted IS NOT NULL")
    elif counts.dotted > counts.valued * _WORTH_A_NOTE:
        notes.add("mixed_column", "dotted IS NOT NULL")
    notes.add("missing_markers", "nothing AND trim(text) <> ''")
