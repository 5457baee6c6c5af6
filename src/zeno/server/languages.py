"""Languages: which of ours a caller reads, by its Accept-Language header."""

from starlette.datastructures import Headers
from starlette.types import Scope as Connection

DEFAULT = "en-US"
_OURS = {"en": "en-US", "zh": "zh-CN"}


def preferred(connection: Connection, default: str = DEFAULT) -> str:
    """The language that the caller likes best of those there are; `default` when it names none of them."""
    best, weight = default, 0.0
    for entry in Headers(scope=connection).get("accept-language", "").split(","):
        name, _, parameter = entry.strip().partition(";")
        language = _OURS.get(name.partition("-")[0].lower())
        if language and (weighs := _weight(parameter)) > weight:
            best, weight = language, weighs
    return best


def _weight(parameter: str) -> float:
    """What a `q=` says; 1 without one, 0 for one that is no number."""
    name, _, value = parameter.strip().partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        return min(max(float(value), 0.0), 1.0)
    except ValueError:
        return 0.0
