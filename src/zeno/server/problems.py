"""Problems: what went wrong, as HTTP says it (RFC 9457), in the language of the caller. It does not know what was asked."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import structlog
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope as Connection

from zeno.core.errors import (
    ConfigError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    StoreUnavailable,
    TooMany,
    Unauthorized,
    WrittenByNewer,
    ZenoError,
)
from zeno.i18n import catalogue, text
from zeno.server.languages import preferred

MEDIA_TYPE = "application/problem+json"
REQUEST_ID = "zeno.request_id"
"""Where a connection keeps the id of its request, which stands in the log and in a problem."""

MOST_FAULTS = 20
"""How many faults of one request are told."""

LONGEST_NAME = 100
"""Characters of a field's name: the caller may have made it up."""

_BY_CLASS: tuple[tuple[type[ZenoError], int], ...] = (
    (Unauthorized, 401),
    (Forbidden, 403),
    (NotFound, 404),
    (Conflict, 409),
    (Invalid, 422),
    (TooMany, 429),
    (ConfigError, 503),
    (StoreUnavailable, 503),
    (WrittenByNewer, 503),
)
_BY_CODE = {"body_too_large": 413, "upload_too_large": 413, "host_not_allowed": 421}
_OF_FRAMEWORK = {
    400: "body_unreadable",
    404: "route_not_found",
    405: "method_not_allowed",
    408: "body_stalled",
    413: "body_too_large",
}

log = structlog.get_logger("zeno.server")


class Fault(msgspec.Struct, frozen=True):
    """What is wrong with one field: where it was looked for, its name, a stable code, and words."""

    where: str
    field: str
    code: str
    message: str


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a request was not served.

    `code` is stable; `title` and `detail` are words in the caller's language, `params` their placeholders. `instance` names the
    request as the server's log does, `errors` the fields that do not fit.
    """

    type: str
    title: str
    status: int
    detail: str
    code: str
    params: dict[str, str | int]
    instance: str
    errors: tuple[Fault, ...] = ()


def problem(
    error: ZenoError, connection: Connection, *, errors: Sequence[Fault] = (), members: Mapping[str, object] | None = None
) -> Response:
    """An error as a response; `members` are further members of its body."""
    return _response(connection, _status(error), error.code, error.params, errors, members, _headers(error))


def internal(connection: Connection) -> Response:
    """A fault of ours as a response: it names the request, and nothing else gets out."""
    return _response(connection, 500, "internal_error", {})


async def told(request: Request, error: Exception) -> Response:
    """Whatever is raised for a request as a response. What nobody expected is written down by whoever keeps the access log."""
    match error:
        case ZenoError():
            if isinstance(error, ConfigError):
                log.error("config_error", code=error.code, **error.params)
            return problem(error, request.scope)
        case RequestValidationError():
            return _misfit(error, request.scope)
        case HTTPException():
            code = _OF_FRAMEWORK.get(error.status_code, "request_refused")
            return _response(request.scope, error.status_code, code, {}, headers=error.headers)
        case _:
            return internal(request.scope)


def _misfit(error: RequestValidationError, connection: Connection) -> Response:
    """What does not fit. What was sent is never said back: it may hold a password."""
    found = error.errors()
    if any(each["type"] == "json_invalid" for each in found):
        return _response(connection, 400, "json_invalid", {})
    language = preferred(connection)
    faults = [_fault(language, each) for each in found[:MOST_FAULTS]]
    said = "; ".join(f"{fault.where} {fault.field}: {fault.message}".replace(" :", ":") for fault in faults[:3])
    return problem(Invalid("request_invalid", faults=said), connection, errors=faults)


def _status(error: ZenoError) -> int:
    if error.code in _BY_CODE:
        return _BY_CODE[error.code]
    return next((status for kind, status in _BY_CLASS if isinstance(error, kind)), 500)


def _headers(error: ZenoError) -> dict[str, str]:
    if isinstance(error, Unauthorized):
        return {"www-authenticate": 'Bearer realm="zeno"'}
    if isinstance(error, TooMany):
        return {"retry-after": str(error.retry_after)}
    return {}


def _response(
    connection: Connection,
    status: int,
    code: str,
    params: Mapping[str, str | int],
    errors: Sequence[Fault] = (),
    members: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    language = preferred(connection)
    title = _words(language, (f"server.title.{status}", "server.title.other"), {})
    body = Problem(
        type=f"urn:zeno:problem:{code}",
        title=title,
        status=status,
        detail=_words(language, (f"server.error.{code}", f"cli.error.{code}"), params) or f"{title} ({code})",
        code=code,
        params=dict(params),
        instance=f"urn:zeno:request:{connection.get(REQUEST_ID, 'unknown')}",
        errors=tuple(errors),
    )
    told = msgspec.to_builtins(msgspec.to_builtins(body) | dict(members or {}))
    # Names and values of the caller's may hold what no encoding takes; a problem is told all the same.
    content = json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
    return Response(content, status, {"content-language": language} | dict(headers or {}), MEDIA_TYPE)


def _words(language: str, keys: Sequence[str], params: Mapping[str, Any]) -> str:
    """The first of these texts that there is, the server's own before the command line's."""
    for key in keys:
        if key in catalogue(language):
            return text(language, key, **params)
    return ""


def _fault(language: str, found: Mapping[str, Any]) -> Fault:
    """One complaint of the validation, in words of ours and without the value."""
    where, *path = (str(step) for step in found["loc"])
    code, context = str(found["type"]), found.get("ctx") or {}
    # Texts and numbers of the schema only; an error's context may hold what was sent.
    known = {
        name: context[name] for name in ("expected", "ge", "gt", "le", "lt", "max_length", "min_length") if name in context
    }
    key = f"server.fault.{code}" if f"server.fault.{code}" in catalogue(language) else "server.fault.other"
    return Fault(where, ".".join(path)[:LONGEST_NAME], code, text(language, key, **known))
