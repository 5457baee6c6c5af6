"""However the bytes of a reply are cut, it says the same: every position, byte by byte, and any number of cuts at random."""

import asyncio
import importlib
import pkgutil
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import groupby, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tests.contracts
from tests.contracts.wires import Wire
from zeno.core.messages import Message, TextPart
from zeno.core.ports import Delta, ModelRequest, Reply, TextDelta, ThinkingDelta
from zeno.models.transport import Events, Transport

TOLD = ("text", "thinking", "calls", "no_usage")
Heard = tuple[list[tuple[type[Delta], str]], Reply]


def _wires() -> Iterator[Wire]:
    for module in pkgutil.iter_modules(tests.contracts.__path__):
        if module.name.startswith("wire_"):
            yield importlib.import_module(f"tests.contracts.{module.name}").WIRE


CASES = [(wire, scene) for wire in _wires() for scene in TOLD]
NAMES = [f"{wire.name}: {scene}" for wire, scene in CASES]


@dataclass(kw_only=True)
class Replayed(Transport):
    """A transport whose pieces are exactly the given ones: a network would join some of them again."""

    pieces: Sequence[bytes] = field(default_factory=list)

    async def events(self, path: str, body: bytes, run_id: str, model: str = "") -> AsyncGenerator[bytes, None]:
        framing = Events()
        for piece in self.pieces:
            for payload in framing.take(piece):
                yield payload
        for payload in framing.end():
            yield payload


def heard(wire: Wire, pieces: Sequence[bytes]) -> Heard:
    """The deltas, neighbours of one kind joined, and the reply."""

    async def listen() -> Heard:
        client = wire.client(Replayed(base_url="http://127.0.0.1/v1", family=wire.name, pieces=pieces))
        request = ModelRequest("", (), (Message("user", (TextPart("hi"),)),), "", "0" * 32)
        async with aclosing(client.stream(request)) as stream:
            *deltas, reply = [item async for item in stream]
        assert isinstance(reply, Reply)
        kinds = groupby((delta for delta in deltas if isinstance(delta, TextDelta | ThinkingDelta)), type)
        return [(kind, "".join(delta.text for delta in group)) for kind, group in kinds], reply

    return asyncio.run(listen())


@pytest.mark.slow
@pytest.mark.parametrize(("wire", "scene"), CASES, ids=NAMES)
def test_every_single_cut_and_every_byte_alone(wire: Wire, scene: str) -> None:
    whole = wire.replies[scene]
    first = heard(wire, [whole])
    shown = "".join(text for _, text in first[0])
    assert "\N{REPLACEMENT CHARACTER}" not in shown
    assert heard(wire, [whole[at : at + 1] for at in range(len(whole))]) == first
    for cut in range(1, len(whole)):
        assert heard(wire, [whole[:cut], whole[cut:]]) == first, cut


@given(data=st.data())
def test_any_number_of_cuts_anywhere(data: st.DataObject) -> None:
    wire, scene = data.draw(st.sampled_from(CASES))
    whole = wire.replies[scene]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(whole) - 1), max_size=30)))
    assert heard(wire, [whole[start:end] for start, end in pairwise([0, *cuts, len(whole)])]) == heard(wire, [whole])
