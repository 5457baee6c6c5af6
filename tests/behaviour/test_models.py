"""Models as the settings name them: keys stay at home, others stand in, costs are counted."""

import json
from collections.abc import Iterator

import pytest

from tests.door import Door, texts
from tests.stubs.chat_server import ChatServer, chat_server, delta, usage


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """An endpoint."""
    with chat_server() as state:
        yield state


def settings(door: Door, toml: str) -> None:
    (door.here / "zeno.toml").write_text(toml)


def test_a_model_of_the_settings_is_used_by_its_name(door: Door, server: ChatServer) -> None:
    settings(door, f'[models.mine]\nmodel = "tiny-chat"\nbase_url = "{server.url}"\napi_key = "sk-mine"')
    server.says(delta(content="hello"))
    outcome = door.run("hi", "--model", "mine")
    assert texts(outcome) == ["hello"]
    assert server.headers[0]["authorization"] == "Bearer sk-mine"
    assert server.requests[0]["model"] == "tiny-chat"


def test_the_key_of_one_endpoint_is_not_shown_to_another(door: Door, server: ChatServer) -> None:
    door.env |= {"OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": "https://api.example.com/v1"}
    settings(door, f'[models.mine]\nmodel = "tiny-chat"\nbase_url = "{server.url}"')
    for model in ("mine", f"openai:tiny-chat@{server.url}"):
        server.says(delta(content="hello"))
        assert door.run("hi", "--model", model).code == 0
    assert not [headers for headers in server.headers if "authorization" in headers]


def test_another_model_stands_in_for_one_that_cannot_be_had(door: Door, server: ChatServer) -> None:
    settings(
        door,
        f'[models.first]\nmodel = "a"\nbase_url = "{server.url}"\nfallback = ["second"]\n'
        f'[models.second]\nmodel = "b"\nbase_url = "{server.url}"',
    )
    server.refuses(404, "no such model")
    server.says(delta(content="hello from b"))
    outcome = door.run("hi", "--model", "first")
    assert texts(outcome) == ["hello from b"]
    assert [request["model"] for request in server.requests] == ["a", "b"]


def test_a_reply_that_breaks_off_is_asked_for_again_and_what_was_shown_is_void(door: Door, server: ChatServer) -> None:
    settings(door, f'[models.mine]\nmodel = "tiny-chat"\nbase_url = "{server.url}"')
    server.answers.append(
        (
            200,
            [
                b'data: {"choices":[{"delta":{"content":"Hel"}}]}\n\n',
                b'data: {"error":{"message":"overloaded","code":503}}\n\n',
            ],
        )
    )
    server.says(delta(content="Hello."))
    outcome = door.run("hi", "--model", "mine")
    attempts = [(event["step"], event["attempt"]) for event in outcome.of("step_started")]
    assert attempts == [(1, 1), (1, 2)]
    assert texts(outcome) == ["Hello."]
    assert outcome.code == 0


def test_effort_and_temperature_reach_the_endpoint(door: Door, server: ChatServer) -> None:
    settings(door, f'effort = "low"\n[models.mine]\nmodel = "tiny-chat"\nbase_url = "{server.url}"')
    server.says(delta(content="hello"))
    door.run("hi", "--model", "mine")
    assert server.requests[0]["temperature"] == 0.2


def test_the_cost_of_a_run_is_its_tokens_times_the_prices(door: Door, server: ChatServer) -> None:
    settings(
        door,
        f'[models.mine]\nmodel = "tiny-chat"\nbase_url = "{server.url}"\n'
        '[prices."tiny-chat"]\ninput = 2.0\noutput = 8.0\ncached = 0.5',
    )
    server.says(delta(content="hello"), usage(1000, 500, cached=400))
    run_id = door.run("hi", "--model", "mine").events[0]["run_id"]
    told = json.loads(door.zeno("trace", run_id, "--json").out)
    assert told["cost"] == pytest.approx((600 * 2.0 + 400 * 0.5 + 500 * 8.0) / 1e6)
    assert "Cost: 0.0054" in door.zeno("trace", run_id).out


def test_without_a_price_no_cost_is_invented(door: Door) -> None:
    run_id = door.run("hi", "--model", door.script({"text": "hello"})).events[0]["run_id"]
    assert json.loads(door.zeno("trace", run_id, "--json").out)["cost"] is None


@pytest.mark.parametrize(
    ("toml", "told"),
    [
        ('[models.m]\nfamily = "telepathy"\nmodel = "x"', "models.m.family"),
        ("[models.m]\nfamily = 'openai'", "models.m.model"),
        ("[prices.m]\ninput = -1", "prices.m.input"),
    ],
)
def test_a_wrong_model_setting_is_named(door: Door, toml: str, told: str) -> None:
    settings(door, toml)
    outcome = door.zeno("runs")
    assert outcome.code == 3
    assert told in outcome.err


@pytest.mark.parametrize(
    "refusal",
    [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "the request exceeds the available context size, try increasing it",
        "prompt is too long: 210000 tokens > 200000 maximum",
    ],
)
def test_a_conversation_that_no_longer_fits_is_an_ending_of_its_own(door: Door, server: ChatServer, refusal: str) -> None:
    server.refuses(400, json.dumps({"error": {"message": refusal}}))
    outcome = door.run("hi", "--model", f"openai:m@{server.url}")
    assert outcome.code == 16
    assert (outcome.events[-1]["ending"], outcome.events[-1]["code"]) == ("context_exhausted", "context_exceeded")
