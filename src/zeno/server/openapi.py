"""The API's document: what FastAPI knows of the routes, with our types, the problems and the ways to say who asks."""

from collections.abc import Iterator
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, iter_route_contexts

from zeno.server.answers import REFERENCE, USUAL_PROBLEMS, documented_types, refused
from zeno.server.event_schema import DOCUMENTED, events_told

PUBLIC = frozenset({"/livez", "/readyz", "/api/v1/version", "/api/v1/login"})
"""Paths that ask nobody who they are."""

_SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "The installation's token, or a program's key."},
    "login": {"type": "apiKey", "in": "cookie", "name": "zeno_login", "description": "A browser's login; see `POST /login`."},
}
_PARTLY_SENT = frozenset({"Problem"})
"""Types whose fields are left out where there is nothing to say; of all others every field is sent."""


def document(api: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of the application, made once."""
    if api.openapi_schema is None:
        made = get_openapi(
            title=api.title, version=api.version, description=api.description, routes=api.routes, tags=api.openapi_tags
        )
        components = made.setdefault("components", {})
        schemas = {name: each for name, each in components.get("schemas", {}).items() if "ValidationError" not in name}
        components["schemas"] = dict(sorted((schemas | _house_schemas(schemas)).items()))
        components["securitySchemes"] = _SECURITY_SCHEMES
        for path, operation in _operations(made):
            _complete(path, operation)
        _restore_examples(api, made)
        api.openapi_schema = made
    return api.openapi_schema


def _operations(made: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in made["paths"].items():
        for operation in item.values():
            yield path, operation


def _complete(path: str, operation: dict[str, Any]) -> None:
    """Add what is the same for all: who may ask, and how it can be refused."""
    operation["security"] = [] if path in PUBLIC else [{name: []} for name in _SECURITY_SCHEMES]
    responses = operation["responses"]
    usual = () if path in PUBLIC else USUAL_PROBLEMS
    takes_something = "parameters" in operation or "requestBody" in operation
    for status in (*usual, *((400, 408, 413, 422) if takes_something else ()), 500):
        responses[str(status)] = refused(status)
    # What stands before the routes may refuse any request.
    responses["default"] = refused(500) | {"description": "Any other refusal."}


def _restore_examples(api: FastAPI, made: dict[str, Any]) -> None:
    """Put the examples of answers in once more: FastAPI leaves out of them whatever is `null`."""
    for route in iter_route_contexts(api.routes):
        if not isinstance(route.original_route, APIRoute):
            continue
        for method in route.methods or ():
            if not route.include_in_schema:
                continue
            documented = made["paths"][route.path_format][method.lower()]["responses"]
            for status, response in route.responses.items():
                for media_type, media in response.get("content", {}).items():
                    if "example" in media:
                        documented[str(status)]["content"][media_type]["example"] = media["example"]


def _house_schemas(taken: dict[str, Any]) -> dict[str, Any]:
    _, schemas = msgspec.json.schema_components([*documented_types().values(), *DOCUMENTED], ref_template=REFERENCE)
    if twice := set(schemas) & set(taken):
        raise ValueError(f"two types are called {', '.join(sorted(twice))}")
    for name, schema in schemas.items():
        if name not in _PARTLY_SENT and "properties" in schema:
            schema["required"] = list(schema["properties"])
    events_told(schemas)
    return schemas
