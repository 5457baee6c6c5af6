"""Answers: values of ours as JSON, and what the API's document says of them. Bodies that come in are pydantic's business."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import Depends, Request
from starlette.responses import Response

from zeno.app import App
from zeno.server.problems import MEDIA_TYPE, Problem

REFERENCE = "#/components/schemas/{name}"

USUAL_PROBLEMS = (401, 403, 422, 429, 500)
"""What can be the answer to any request that says who is asking."""

_CAUSES = {
    400: "The body is not JSON.",
    401: "Nobody is known to be asking.",
    403: "The caller may not do this.",
    404: "There is no such thing among what the caller may see.",
    408: "The body did not come in time.",
    409: "The state of the thing does not allow it.",
    413: "The body is too large.",
    422: "The request does not fit.",
    429: "Too many requests; `Retry-After` says when to come again.",
    500: "Something broke inside Zeno; `instance` names the request in its log.",
    503: "The installation is not ready or not configured for this.",
}

Item = TypeVar("Item")

_documented: dict[str, Any] = {"Problem": Problem}
"""Types that answers are made of, by their name in the document. Filled while the routes are imported."""


def _house(request: Request) -> App:
    app: App = request.app.state.zeno
    return app


async def house(request: Request) -> App:
    """The house that the request is for."""
    return _house(request)


House = Annotated[App, Depends(house)]


def answer(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A value as JSON."""
    return Response(msgspec.json.encode(value), status, headers, "application/json")


def nothing() -> Response:
    """It is done, and there is nothing to be said of it."""
    return Response(status_code=204)


def described(
    kind: Any,
    summary: str,
    *,
    example: object = None,
    status: int = 200,
    also: Mapping[int, str] = {},
    problems: Sequence[int] = (),
    public: bool = False,
) -> dict[str, Any]:
    """What a route declares: its answer of the type `kind` (`None`: empty), a summary, and the problems beside the usual ones.

    `also` names further successful statuses with the same answer. `public` routes ask nobody who they are.
    """
    responses: dict[int | str, dict[str, Any]] = {}
    content = {} if kind is None else _json(kind, example)
    for code, words in {status: summary, **also}.items():
        responses[code] = {"description": words} | ({"content": content} if content else {})
    for code in sorted({*(() if public else USUAL_PROBLEMS), *problems, 500}):
        responses[code] = refused(code)
    return {"summary": summary, "status_code": status, "response_class": Response, "responses": responses}


def refused(status: int) -> dict[str, Any]:
    """How the document tells of a problem."""
    schema = {"$ref": REFERENCE.format(name="Problem")}
    return {"description": _CAUSES[status], "content": {MEDIA_TYPE: {"schema": schema}}}


def referred(kind: Any) -> dict[str, str]:
    """A reference to a type of ours in the document."""
    name: str = kind.__name__
    if _documented.setdefault(name, kind) is not kind:
        raise ValueError(f"two types of answers are called {name}")
    return {"$ref": REFERENCE.format(name=name)}


def documented_types() -> Mapping[str, Any]:
    """All types that answers are made of, by name."""
    return _documented


async def paged(
    fetch: Callable[[int], Awaitable[Sequence[Item]]], most: int, at: Callable[[Item], int]
) -> tuple[Sequence[Item], int | None]:
    """A page of things that come newest first, at most `most`, and before which time the next page begins.

    `fetch` gives that many. Things of the same moment stay on one page, so that none is lost between two; only when more than
    `most` are of the same moment a page is longer.
    """
    wanted = most + 1
    while True:
        found = await fetch(wanted)
        if len(found) < wanted:
            return found, None
        kept = [item for item in found if at(item) > at(found[-1])]
        if kept:
            return kept, at(kept[-1])
        wanted *= 2


def _json(kind: Any, example: object) -> dict[str, Any]:
    media: dict[str, Any] = {"schema": referred(kind)}
    if example is not None:
        media["example"] = msgspec.to_builtins(example)
    return {"application/json": media}
