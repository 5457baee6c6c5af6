"""What the API's document says of events: numbered and dated in the log, in pages, and as a stream."""

from typing import Any, get_args

import msgspec

from zeno.core.events import Event
from zeno.core.ports import Delta
from zeno.server.answers import REFERENCE, referred

RECORD = {"$ref": REFERENCE.format(name="EventRecord")}
"""Any event as it is told."""

RECORD_EXAMPLE: dict[str, Any] = {
    "seq": 3,
    "at": 1_790_000_000_000,
    "type": "step_started",
    "step": 1,
    "attempt": 1,
    "final": False,
    "hidden": [],
}


class EventPage(msgspec.Struct, frozen=True):
    """Events of a run in their order. `next` goes into `after` for the next page; `null` when there are no more so far."""

    events: tuple[msgspec.Raw, ...]
    next: int | None


class LargeRecord(msgspec.Struct, frozen=True):
    """Stands in a stream for an event of more than 64 KiB, which is to be fetched from `reference`."""

    seq: int
    at: int
    type: str
    reference: str
    size: int


STREAM = {
    "itemSchema": {
        "type": "object",
        "required": ["id", "event", "data"],
        "properties": {
            "id": {
                "type": "string",
                "description": "`SEQ` of an event, `SEQ.N` of what was told behind it as number N.",
            },
            "event": {"type": "string", "description": "The type of what `data` holds."},
            "data": {
                "type": "string",
                "contentMediaType": "application/json",
                "contentSchema": {"$ref": REFERENCE.format(name="StreamItem")},
            },
        },
    },
    "example": "retry: 1000\n\nid: 3\nevent: step_started\n"
    'data: {"seq":3,"at":1790000000000,"type":"step_started","step":1,"attempt":1,"final":false,"hidden":[]}\n\n'
    'id: 3.1\nevent: text_delta\ndata: {"type":"text_delta","text":"Hel","step":1}\n\n',
}
"""A run's stream of Server-Sent Events."""

DOCUMENTED = (Event, Delta, LargeRecord)


def events_told(schemas: dict[str, Any]) -> None:
    """Change the schemas of events to what is told of them, and add those of the pages and streams they come in."""
    names = [kind.__name__ for kind in get_args(Event)]
    for name in names:
        number = {"type": "integer", "description": "The number in the run, from 1."}
        time = {"type": "integer", "description": "Milliseconds since 1970-01-01 UTC."}
        _add(schemas[name], {"seq": number, "at": time})
    for kind in get_args(Delta):
        _add(schemas[kind.__name__], {"step": {"type": "integer", "description": "The step that it belongs to."}})
    mapping = {schemas[name]["properties"]["type"]["enum"][0]: REFERENCE.format(name=name) for name in names}
    schemas["EventRecord"] = {
        "title": "EventRecord",
        "description": "One event of a run's log.",
        "oneOf": [{"$ref": reference} for reference in mapping.values()],
        "discriminator": {"propertyName": "type", "mapping": mapping},
    }
    pieces = [{"$ref": REFERENCE.format(name=kind.__name__)} for kind in (*get_args(Delta), LargeRecord)]
    schemas["StreamItem"] = {
        "title": "StreamItem",
        "description": "What a stream tells: an event, a piece of an answer as it is written, that the model is asked again.",
        "anyOf": [RECORD, *pieces],
    }
    if "EventPage" in schemas:
        schemas["EventPage"]["properties"]["events"]["items"] = RECORD
    if "RunHistory" in schemas:
        schemas["RunHistory"]["properties"]["events"]["items"] = {"anyOf": [RECORD, pieces[-1]]}


def page_or_stream() -> dict[str, Any]:
    """The contents of an answer that is a page or a stream of events, as the caller likes it."""
    page = {"schema": referred(EventPage), "example": {"events": [RECORD_EXAMPLE], "next": None}}
    return {"application/json": page, "text/event-stream": STREAM}


def _add(schema: dict[str, Any], properties: dict[str, Any]) -> None:
    schema["properties"] = properties | schema["properties"]
    schema["required"] = list(schema["properties"])
