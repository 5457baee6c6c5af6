"""Characters that no text of a request may hold: not every database keeps them, and no answer could say them back.

They are NUL and halves of surrogate pairs. What a run says and does is kept as JSON, which escapes them.
"""

import re

from fastapi import Request
from fastapi.exceptions import RequestValidationError

FAULT = "string_characters"
"""The code of the fault that a field with such a character has."""

_REFUSED = re.compile("[\0\ud800-\udfff]")


def acceptable(value: object) -> bool:
    """Whether no text in a value out of JSON holds such a character, nor a name in it."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str) and _REFUSED.search(each):
            return False
        if isinstance(each, dict):
            waiting += [*each, *each.values()]
        elif isinstance(each, list):
            waiting += each
    return True


async def check_address(request: Request) -> None:
    """Look through the path and the query of a request. Raises `RequestValidationError`."""
    given = {"path": request.path_params.items(), "query": request.query_params.multi_items()}
    faults = [
        {"type": FAULT, "loc": (where, name)}
        for where, pairs in given.items()
        for name, value in pairs
        if not acceptable([name, value])
    ]
    if faults:
        raise RequestValidationError(faults)
