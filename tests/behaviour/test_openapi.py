"""The API's document: complete, true to what is answered, and held to it by examples that nobody thought of."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.door import Door, call, calls
from tests.http import HOLD, inside, serving
from tests.scene import scene

Document = dict[str, Any]
SUCCESS = {"200", "201", "202", "204"}


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Document:
    """The document, as it is served."""
    got: Document = {}
    home = tmp_path_factory.mktemp("home")

    @scene
    async def fetch() -> None:
        async with inside(Door(home=home, here=home)) as house, house.caller() as anyone:
            got.update((await anyone.get("/openapi.json")).json())

    fetch()
    return got


def _operations(document: Document) -> Iterator[tuple[str, Document]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield f"{method.upper()} {path}", operation


def _fits(document: Document, schema: Document, value: object) -> None:
    validator = jsonschema_rs.validator_for(schema | {"components": document["components"]})
    assert [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(value)] == []


def test_every_operation_says_what_it_does_and_how_it_answers(document: Document) -> None:
    operations = dict(_operations(document))
    assert len(operations) > 40
    for name, operation in operations.items():
        assert operation["summary"], name
        assert operation["description"], name
        assert operation["tags"], name
        responses = operation["responses"]
        good = SUCCESS & set(responses)
        assert good, name
        for status in good - {"204"}:
            content = responses[status]["content"]
            assert content, (name, status)
            assert all(media.get("schema") or media.get("itemSchema") for media in content.values()), (name, status)
        refused = {status: each for status, each in responses.items() if status not in {*SUCCESS, "503"}}
        assert {"500", "default"} <= set(refused), name
        for status, response in refused.items():
            assert list(response["content"]) == ["application/problem+json"], (name, status)
        if operation["security"]:
            assert {"401", "403", "429"} <= set(responses), name


def test_operations_are_in_the_groups_that_are_introduced(document: Document) -> None:
    used = {tag for _, operation in _operations(document) for tag in operation["tags"]}
    assert used == {tag["name"] for tag in document["tags"]}


def test_only_what_must_be_is_open_to_everyone(document: Document) -> None:
    public = {name for name, operation in _operations(document) if not operation["security"]}
    assert public == {"GET /livez", "GET /readyz", "GET /api/v1/version", "POST /api/v1/login"}


def test_every_reference_leads_somewhere(document: Document) -> None:
    def references(node: object) -> Iterator[str]:
        if isinstance(node, dict):
            if isinstance(node.get("$ref"), str):
                yield node["$ref"]
            for value in node.values():
                yield from references(value)
        elif isinstance(node, list):
            for value in node:
                yield from references(value)

    found = set(references(document))
    schemas = document["components"]["schemas"]
    assert {reference.removeprefix("#/components/schemas/") for reference in found} <= set(schemas)
    assert {"EventRecord", "StreamItem", "Problem", "RunReport"} <= set(schemas)
    assert not [name for name in schemas if "ValidationError" in name]


def test_every_example_fits_what_it_is_an_example_of(document: Document) -> None:
    tried = 0
    for name, operation in _operations(document):
        for status, response in operation["responses"].items():
            for media_type, media in response.get("content", {}).items():
                if media_type == "application/json" and "example" in media:
                    tried += 1
                    _fits(document, media["schema"], media["example"])
                elif status in SUCCESS and media_type == "application/json" and "accounts" not in operation["tags"]:
                    pytest.fail(f"{name} shows no example of {status}")
    assert tried > 20


def test_every_event_is_described_with_its_number_and_time(document: Document) -> None:
    schemas = document["components"]["schemas"]
    mapping = schemas["EventRecord"]["discriminator"]["mapping"]
    assert len(mapping) >= 11
    for kind, reference in mapping.items():
        schema = schemas[reference.removeprefix("#/components/schemas/")]
        assert schema["properties"]["type"]["enum"] == [kind]
        assert {"seq", "at", "type"} <= set(schema["required"])


def test_what_is_answered_is_what_the_document_says(door: Door, document: Document) -> None:
    door.with_tools(HOLD)
    script = door.script(
        calls(call("calculate", expression="6*7"), call("send_mail", to="li", text="hi"), thinking="Let me see."),
        {"text": "Done."},
    )

    @scene
    async def compared() -> None:
        async with inside(door, model=script) as house, house.own as client:
            paused = (await client.post("/api/v1/runs?wait=1", json={"text": "mail li"})).json()
            run, session, approval = paused["id"], paused["session_id"], paused["approvals"][0]["id"]
            await client.put(f"/api/v1/sessions/{session}/files/a.txt", content=b"a")
            rule = (await client.post("/api/v1/rules", json={"verdict": "ask", "tool": "calculate"})).json()["id"]

            async def compare(template: str, query: str = "", **known: str) -> Document:
                answer = await client.get(template.format(**known) + query)
                content = document["paths"][template]["get"]["responses"][str(answer.status_code)]["content"]
                value: Document = answer.json()
                _fits(document, content[answer.headers["content-type"]]["schema"], value)
                return value

            assert (await compare("/api/v1/runs/{run_id}", run_id=run))["ending"] == "awaiting_approval"
            await compare("/api/v1/approvals")
            await compare("/api/v1/approvals/{approval_id}", approval_id=approval)
            decided = await client.post(f"/api/v1/approvals/{approval}/decision", json={"decision": "deny", "reason": "no"})
            assert decided.status_code == 200
            late = await client.post(f"/api/v1/approvals/{approval}/decision", json={"decision": "approve"})
            conflict = document["paths"]["/api/v1/approvals/{approval_id}/decision"]["post"]["responses"]["409"]["content"]
            _fits(document, conflict["application/problem+json"]["schema"], late.json())
            await house.ended(run)
            assert (await compare("/api/v1/runs/{run_id}", run_id=run))["ending"] == "answered"
            page = await compare("/api/v1/runs/{run_id}/events", "?format=json", run_id=run)
            kinds = {event["type"] for event in page["events"]}
            assert {"approval_requested", "run_paused", "approval_decided", "tool_finished", "run_ended"} <= kinds
            await compare("/api/v1/runs/{run_id}/events/{seq}", run_id=run, seq="3")
            await compare("/api/v1/sessions/{session_id}/files", session_id=session)
            await compare("/api/v1/sessions/{session_id}", session_id=session)
            await compare("/api/v1/sessions/{session_id}/history", session_id=session)
            for path in (
                "runs",
                "sessions",
                "rules",
                "agents",
                "tools",
                "models",
                "settings",
                "audit",
                "me",
                "keys",
                "version",
            ):
                await compare(f"/api/v1/{path}")
            await compare("/readyz")
            await client.delete(f"/api/v1/rules/{rule}")

    compared()


CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "missing_required_header",
    "ignored_auth",
    "use_after_free",
)


@pytest.mark.slow
@pytest.mark.parametrize("own_database", ["postgresql"], indirect=True)
def test_examples_that_nobody_thought_of_are_answered_as_the_document_says(door: Door, own_database: str) -> None:
    # The one that is strictest about what it takes.
    door.env["ZENO_DATABASE_URL"] = own_database
    door.env |= {"ZENO_MODEL": "offline", "ZENO_SERVER__RATE_LIMIT": "1000000/minute"}
    door.env["ZENO_SERVER__LOGIN_RATE_LIMIT"] = "1000000/minute"
    # Models at made-up addresses are tried out: all of that ends at a proxy that is not there.
    door.env |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    with serving(door) as server:
        command = [str(Path(sys.executable).parent / "schemathesis"), "run", f"{server.origin}/openapi.json"]
        command += ["--header", f"Authorization: Bearer {server.token}", "--checks", ",".join(CHECKS), "--no-color"]
        command += ["--seed", "20261201", "--max-examples", "10", "--request-timeout", "30"]
        done = subprocess.run(command, cwd=door.here, capture_output=True, timeout=500, check=False)
        said = done.stdout.decode(errors="replace")
        assert done.returncode == 0, said[-20_000:]
        assert "Selected: " in said
        assert not [line for line in server.lines if line["event"] == "request_broken"]
        assert server.stop() == 0
