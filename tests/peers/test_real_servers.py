"""Zeno against servers that others wrote: llama.cpp's own, and LiteLLM's gateway in front of it."""

import json
import signal
import time
from dataclasses import replace

import pytest

from tests.door import Door, Outcome, texts
from tests.peers.conftest import Peer

pytestmark = pytest.mark.peers

FAMILIES = ("openai", "responses", "anthropic")
GREETING = "Hello from a hand-written model."


@pytest.fixture(params=["llama", "gateway"])
def peer(request: pytest.FixtureRequest) -> Peer:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Peer)
    return found


def replies(outcome: Outcome) -> list[dict[str, object]]:
    assert outcome.code == 0, outcome.out + outcome.err
    return outcome.of("model_replied")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_greeting_is_answered_in_one_request_with_the_servers_own_count(door: Door, peer: Peer, family: str) -> None:
    outcome = door.run("hello", "--model", peer.settings(door, family, "written"))
    (reply,) = replies(outcome)
    assert texts(outcome) == [GREETING]
    usage = reply["usage"]
    assert isinstance(usage, dict)
    assert usage["estimated"] is False
    assert usage["input_tokens"] > 1000
    assert usage["output_tokens"] == 7


@pytest.mark.parametrize("family", FAMILIES)
def test_a_call_is_carried_out_once_and_its_result_understood(door: Door, peer: Peer, family: str) -> None:
    outcome = door.run("what is 6*7?", "--model", peer.settings(door, family, "written"))
    first, _ = replies(outcome)
    assert [event["name"] for event in outcome.of("tool_started")] == ["calculate"]
    assert outcome.of("tool_finished")[0]["result"]["outcome"] == "done"
    assert texts(outcome)[-1] == "It is 42."
    message = first["message"]
    assert isinstance(message, dict)
    thoughts = [part["text"].strip() for part in message["parts"] if part["type"] == "thinking"]
    # LiteLLM drops the thoughts of other makers' models on its Anthropic door.
    dropped = family == "anthropic" and peer.name == "LiteLLM"
    assert thoughts == ([] if dropped else ["A product to work out."])


@pytest.mark.parametrize("family", FAMILIES)
def test_two_calls_at_once_stay_two(door: Door, peer: Peer, family: str) -> None:
    nowhere = "http://127.0.0.1:9/"
    door.env |= {"ZENO_TOOLS__WEATHER_FORECAST_URL": nowhere, "ZENO_TOOLS__WEATHER_GEOCODING_URL": nowhere}
    outcome = door.run("Compare the weather.", "--model", peer.settings(door, family, "written"))
    (first, *_) = replies(outcome)
    message = first["message"]
    assert isinstance(message, dict)
    calls = [part["arguments"] for part in message["parts"] if part["type"] == "tool_call"]
    assert [json.loads(arguments) for arguments in calls] == [{"city": "Paris"}, {"city": "Rome"}]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_doctor_sees_what_the_server_can_do(door: Door, peer: Peer, family: str) -> None:
    outcome = door.zeno("doctor", peer.settings(door, family, "written"), "--json")
    assert outcome.code == 0, outcome.err
    profile = json.loads(outcome.out)
    assert profile["tools"] is profile["parallel_calls"] is profile["json_mode"] is profile["usage"] is True
    assert profile["context_window"] == (32768 if peer.name == "llama.cpp" else None)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_prompted_protocol_is_spoken_and_its_object_form_where_json_can_be_demanded(
    door: Door, llama: Peer, family: str
) -> None:
    name = llama.settings(door, family, "written")
    assert texts(door.run("hi", "--model", f"prompted:{name}"))[-1] == "Good morning"
    assert door.zeno("doctor", name).code == 0
    assert texts(door.run("hi", "--model", f"prompted:{name}"))[-1] == "Good day!"


@pytest.mark.parametrize("family", FAMILIES)
def test_words_arrive_as_they_are_written_and_cancelling_stops_the_server(door: Door, llama: Peer, family: str) -> None:
    name = llama.settings(door, family, "written")
    with door.running("run", "Go on for ever.", "--model", name) as process:
        assert process.stdout
        assert process.stdout.read(5) == "tick "
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    deadline = time.monotonic() + 5
    while busy(llama) and time.monotonic() < deadline:
        pass
    assert not busy(llama), "the server still writes for nobody"


def busy(peer: Peer) -> bool:
    return any(slot["is_processing"] for slot in json.loads(peer.get("/slots")))


def test_the_gateways_own_model_answers_with_a_count(door: Door, gateway: Peer) -> None:
    outcome = door.run("hello", "--model", gateway.settings(door, "openai", "mocked"))
    (reply,) = replies(outcome)
    assert texts(outcome) == ["Hello from a gateway."]
    assert reply["usage"] | {"input_tokens": 0} == {  # type: ignore[operator]
        "input_tokens": 0,
        "output_tokens": 5,
        "cached_tokens": 0,
        "reasoning_tokens": 0,
        "estimated": False,
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_an_unknown_model_is_an_error_with_a_name(door: Door, gateway: Peer, family: str) -> None:
    outcome = door.run("hello", "--model", gateway.settings(door, family, "nobody"))
    assert outcome.code == 17
    ended = outcome.events[-1]
    assert (ended["ending"], ended["code"]) == ("model_failed", "model_http_error")
    assert ended["params"]["model"] == "nobody"
    assert ended["params"]["status"] == 400
    assert gateway.key not in outcome.out + outcome.err


@pytest.mark.parametrize("family", FAMILIES)
def test_a_wrong_key_is_an_error_with_a_name(door: Door, llama: Peer, family: str) -> None:
    outcome = door.run("hello", "--model", replace(llama, key="sk-wrong-0123456789").settings(door, family, "written"))
    assert outcome.code == 17
    assert outcome.events[-1]["code"] == "model_unauthorized"
    assert "sk-wrong-0123456789" not in outcome.out + outcome.err


@pytest.mark.parametrize("family", FAMILIES)
def test_a_conversation_longer_than_the_context_is_an_ending_of_its_own(door: Door, llama: Peer, family: str) -> None:
    outcome = door.run("x" * 40_000, "--model", llama.settings(door, family, "written"))
    assert outcome.code == 16
    ended = outcome.events[-1]
    assert (ended["ending"], ended["code"], ended["params"]["status"]) == ("context_exhausted", "context_exceeded", 400)
    assert "context size" in ended["params"]["reason"]
