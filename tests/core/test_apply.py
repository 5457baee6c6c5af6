"""`apply`: the state is the fold of the events, and nothing else."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from zeno.core.events import (
    CancelRequested,
    Event,
    ModelReplied,
    RunEnded,
    RunStarted,
    StepStarted,
    ToolFinished,
    ToolStarted,
    UserSaid,
)
from zeno.core.messages import Message, TextPart, ToolCall, ToolResult, Usage
from zeno.core.state import apply, fold

CALLS = tuple(ToolCall(f"c{n}", "look", "{}") for n in range(4))


def replied(*parts: TextPart | ToolCall, step: int = 1) -> ModelReplied:
    return ModelReplied(step, Message("assistant", parts), "answer", Usage(10, 5), "stop", "m")


def finished(call: ToolCall) -> ToolFinished:
    return ToolFinished(1, ToolResult(call.id, call.name, "done", f"result of {call.id}"))


@given(st.permutations(CALLS))
def test_results_stand_in_the_order_of_their_calls_however_they_arrive(order: list[ToolCall]) -> None:
    state = fold([UserSaid((TextPart("go"),)), replied(*CALLS), *map(finished, order)])
    assert [result.call_id for result in state.messages[-1].results] == [call.id for call in CALLS]
    assert state.open_calls == ()


@given(st.permutations(CALLS), st.integers(0, 3))
def test_no_message_holds_results_until_every_call_has_one(order: list[ToolCall], closed: int) -> None:
    state = fold([replied(*CALLS), *map(finished, order[:closed])])
    assert state.messages[-1].role == "assistant"
    assert {call.id for call in state.open_calls} == {call.id for call in order[closed:]}


def test_an_empty_reply_is_counted_but_is_no_turn_of_the_conversation() -> None:
    state = fold([UserSaid((TextPart("go"),)), replied(TextPart("  "))])
    assert [message.role for message in state.messages] == ["user"]
    assert state.empty_replies == 1
    assert apply(state, replied(TextPart("42"), step=2)).empty_replies == 0


def test_tokens_add_up_over_the_replies() -> None:
    assert fold([replied(TextPart("a")), replied(TextPart("b"), step=2)]).usage == Usage(20, 10)


def test_every_event_survives_the_journey_through_the_log() -> None:
    events: list[Event] = [
        RunStarted("default", "offline", 10, ("look",)),
        UserSaid((TextPart("查一下"),)),
        StepStarted(1),
        replied(TextPart("let me see"), CALLS[0]),
        ToolStarted(1, "c0", "look", "TOOL_CALL"),
        finished(CALLS[0]),
        CancelRequested(),
        RunEnded("cancelled", "cancelled", {}, 1, ("look",), ()),
    ]
    assert [msgspec.json.decode(msgspec.json.encode(event), type=Event) for event in events] == events
