"""Traces: a run is one trace under its own id, across pauses and processes, and tells nothing that was said unless told to."""

import gzip
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tests.door import Door, call, calls
from tests.house import furnished, served
from tests.http import HOLD
from tests.scene import scene
from tests.stubs.chat_server import chat_server, delta, usage
from zeno.core.trace import run_span

pytestmark = pytest.mark.instances

THEIRS = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@dataclass
class Collector:
    """What was told to a collector."""

    url: str = ""
    spans: list[Span] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def of(self, run: str) -> dict[str, Span]:
        """The spans of a run by their names."""
        return {span.name: span for span in self.spans if span.trace_id.hex() == run}


@contextmanager
def collector(status: int = 200) -> Iterator[Collector]:
    """A collector on loopback."""
    told = Collector()

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    told.spans.extend(scope.spans)
            told.headers.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        told.url = f"http://127.0.0.1:{server.server_port}/v1/traces"
        try:
            yield told
        finally:
            server.shutdown()
            thread.join()


def attributes(span: Span) -> dict[str, Any]:
    """A span's attributes."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


MAIL = [calls(call("send_mail", to="a@example.com", text="geheim")), {"text": "Sent, geheim."}]


@scene
async def test_a_run_that_pauses_and_moves_is_one_trace_under_its_own_id(tmp_path: Path) -> None:
    with collector() as told:
        settings = furnished(tmp_path, MAIL, HOLD, otel_endpoint=told.url, otel_headers={"x-team": "zeno"})
        async with served(settings) as house:
            run = await house.run("geheim")
            await house.settled(run, "awaiting_approval")
        async with served(settings) as house:
            (approval,) = await house.waiting()
            await house.decide(approval["id"], "approve")
            await house.settled(run, "answered")
    assert {span.trace_id.hex() for span in told.spans} == {run}
    assert len({span.span_id for span in told.spans}) == len(told.spans) == 4
    (root,) = [span for span in told.spans if not span.parent_span_id]
    assert (root.name, root.span_id.hex()) == ("invoke_agent default", run_span(run))
    assert {span.parent_span_id.hex() for span in told.spans if span is not root} == {run_span(run)}
    assert all(root.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano for span in told.spans)
    tool = attributes(told.of(run)["execute_tool send_mail"])
    assert (tool["gen_ai.tool.name"], tool["zeno.outcome"], tool["zeno.effect"]) == ("send_mail", "done", "danger")
    assert attributes(root)["zeno.ending"] == "answered"
    assert root.status.code == Status.STATUS_CODE_UNSET
    assert told.headers[0]["x-team"] == "zeno"
    assert "geheim" not in "".join(map(str, told.spans))


@scene
async def test_what_was_said_is_told_only_when_that_is_wanted(tmp_path: Path) -> None:
    with collector() as told:
        settings = furnished(tmp_path, [calls(call("calculate", expression="6*7")), {"text": "42!"}], otel_endpoint=told.url)
        async with served(settings.model_copy(update={"otel_content": True})) as house:
            run = await house.run("What is it?")
            await house.settled(run, "answered")
    spans = told.of(run)
    assert attributes(spans["invoke_agent default"])["gen_ai.input.messages"] == "What is it?"
    tool = attributes(spans["execute_tool calculate"])
    assert json.loads(tool["gen_ai.tool.call.arguments"]) == {"expression": "6*7"}
    assert "42" in tool["gen_ai.tool.call.result"]
    assert "42!" in "".join(str(attributes(span).get("gen_ai.output.messages")) for span in told.spans)


@scene
async def test_who_asks_with_a_trace_of_their_own_finds_the_run_by_it(tmp_path: Path) -> None:
    with collector() as told:
        async with served(furnished(tmp_path, [{"text": "a"}], otel_endpoint=told.url)) as house:
            for header in (THEIRS, "nonsense", f"00-{'0' * 32}-{'0' * 16}-01"):
                answer = await house.client.post("/api/v1/runs", json={"text": "go"}, headers={"traceparent": header})
                assert answer.status_code == 202
                await house.settled(answer.json()["run_id"])
    (requested,) = [span for span in told.spans if span.name == "create_run"]
    (link,) = requested.links
    assert [link.trace_id.hex(), link.span_id.hex()] == THEIRS.split("-")[1:3]


@scene
async def test_a_model_is_told_which_trace_it_takes_part_in_and_its_failure_is_told(tmp_path: Path) -> None:
    with collector() as told, chat_server() as server:
        server.says(delta(content="Hello"), delta(finish_reason="stop"), usage(5, 1))
        server.refuses(401, "no")
        model = f"openai:tiny@{server.url}"
        async with served(furnished(tmp_path, [], otel_endpoint=told.url, model=model)) as house:
            good, bad = await house.run(), ""
            await house.settled(good, "answered")
            bad = await house.run()
            await house.settled(bad, "model_failed")
    assert server.headers[0]["traceparent"] == f"00-{good}-{run_span(good)}-01"
    step = attributes(told.of(good)[f"chat {model}"])
    assert (step["gen_ai.provider.name"], step["gen_ai.usage.input_tokens"], step["gen_ai.usage.output_tokens"]) == (
        "openai",
        5,
        1,
    )
    failed = told.of(bad)
    for name in (f"chat {model}", "invoke_agent default"):
        assert failed[name].status.code == Status.STATUS_CODE_ERROR
        assert attributes(failed[name])["error.type"] == "model_unauthorized"


@scene
async def test_a_collector_that_is_not_there_keeps_no_run_from_its_end(tmp_path: Path) -> None:
    async with served(furnished(tmp_path, [{"text": "a"}], otel_endpoint="http://127.0.0.1:9/v1/traces")) as house:
        assert (await house.settled(await house.run()))["ending"] == "answered"


def test_without_an_endpoint_the_library_for_it_is_not_even_loaded(door: Door) -> None:
    script = (
        "import sys; sys.argv = ['zeno', 'run', '1+1', '--model', 'offline']\n"
        "from zeno.cli.main import main\n"
        "try: main()\n"
        "finally: sys.exit(any(name.startswith('opentelemetry.sdk') for name in sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=door.environment(), cwd=door.here, capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
