"""SQL text, as far as it is looked at here: its first word, and where its parameters are. What it means the database knows."""

import re
from collections.abc import Mapping

from zeno.core.errors import ToolFailed

Value = str | int | float | bool | None
Parameters = Mapping[str, Value]

READING = {"select", "with", "values", "table", "show", "explain", "describe", "desc"}
"""First words of statements that can only read, as long as the database itself refuses the rest."""
_CONTROL = {
    "abort", "attach", "begin", "commit", "deallocate", "detach", "discard", "end", "lock", "pragma", "prepare", "release",
    "reset", "rollback", "savepoint", "set", "start", "unlock", "use", "xa",
}  # fmt: skip
"""First words that would end the transaction, or change what belongs to the connection."""

_LEADING = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*(?!!|M!).*?\*/)*([A-Za-z]+)", re.S)
_PIECE = re.compile(
    r"""(?P<quoted>
        (?<![\w$])[eE]'(?:[^'\\]|\\.|'')*'          # with escapes, PostgreSQL
      | '(?:[^']|'')*' | "(?:[^"]|"")*" | `[^`]*`
      | \$(?P<tag>[A-Za-z_]\w*|)\$.*?\$(?P=tag)\$
      | --[^\n]* | /\*.*?\*/
      | ::
    )
    | (?<![\w:]):(?P<name>[A-Za-z_]\w*)""",
    re.S | re.X,
)


def first_word(statement: str) -> str:
    """The first word in lower case, behind comments and brackets; empty when there is none."""
    found = _LEADING.match(statement)
    return found[1].lower() if found else ""


def refuse_control(statement: str) -> None:
    """Raises `ToolFailed` for a statement that is about the transaction or the connection."""
    word = first_word(statement)
    if word in _CONTROL or not word:
        raise ToolFailed(
            f"{word.upper() or 'This'} is not executed: each call is one statement in a transaction of its own, which is "
            f"committed for you. Give the changing statement itself.",
            code="statement_refused",
        )


def checked_names(statement: str, parameters: Parameters) -> None:
    """Raises `ToolFailed` when the names in the statement and the parameters given are not the same."""
    if not parameters:
        return
    named = {found["name"] for found in _PIECE.finditer(statement) if found["name"]}
    missing, extra = sorted(named - set(parameters)), sorted(set(parameters) - named)
    if missing or extra:
        problems = [f"missing: {', '.join(missing)}"] if missing else []
        problems += [f"not in the statement: {', '.join(extra)}"] if extra else []
        raise ToolFailed(
            f"The parameters do not fit the statement ({'; '.join(problems)}). Write each as :name, without quotes around it.",
            code="bad_parameters",
        )


def in_percent_style(statement: str, parameters: Parameters) -> str:
    """The statement with `%(name)s` for `:name`, and every other percent sign doubled; unchanged without parameters."""
    if not parameters:
        return statement
    pieces, end = [], 0
    for found in _PIECE.finditer(statement):
        pieces.append(statement[end : found.start()].replace("%", "%%"))
        pieces.append(f"%({found['name']})s" if found["name"] else found[0].replace("%", "%%"))
        end = found.end()
    return "".join([*pieces, statement[end:].replace("%", "%%")])
