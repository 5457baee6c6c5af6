"""The prompted protocol around any chat model: it is asked in words, read live, and asked again when its form is broken."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass

from msgspec.structs import replace

from zeno.core.errors import ModelUnavailable
from zeno.core.messages import Message, Part, TextPart, ThinkingPart, Usage
from zeno.core.ports import Delta, ModelClient, ModelRequest, Reply, TextDelta, Turn
from zeno.models.prompted.actions import Reading, reading_of
from zeno.models.prompted.history import PROVIDER, rendered
from zeno.models.prompted.parser import Parser
from zeno.models.prompted.protocol import FORMS, Form, answer_schema, instructions
from zeno.models.prompted.voice import BETWEEN

HEAD = 2000
"""How many characters of a broken reply are shown to the model again."""

_CUT = "The reply was cut off at the limit of tokens: think briefly and write fewer or shorter actions."


@dataclass(frozen=True)
class Prompted:
    """A model client that needs nothing of `client` but text.

    `form` is the form that is asked for; both are understood. `corrections` is how often in one step a reply that cannot be
    read is answered with what is wrong in it. What was shown of such a reply stays shown.
    """

    client: ModelClient
    _: KW_ONLY
    form: Form = "tags"
    corrections: int = 3

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        """The reply as it is written, usage of all tries added up.

        Raises `ModelUnavailable`, with the code `reply_unparsable` when no try could be read.
        """
        shown = replace(request, messages=rendered(request.messages, self.form))
        if request.response_schema is not None and not request.tools:
            # The caller wants JSON of its own form, which is no reply of the protocol.
            async with aclosing(self.client.stream(shown)) as stream:
                async for item in stream:
                    yield item
            return
        asked = first = self._request(shown)
        usage = Usage()
        faults: tuple[str, ...] = ()
        for _try in range(self.corrections + 1):
            parser, replies = Parser(), list[Reply]()
            async with aclosing(self._heard(asked, parser, replies)) as heard:
                async for delta in heard:
                    yield delta
            reply = replies[0]
            usage += reply.usage
            reading = self._reading(parser, reply, request)
            if not reading.faults:
                text = BETWEEN.join(reading.texts)
                if text != parser.voice.text and text.startswith(parser.voice.text):
                    yield TextDelta(text.removeprefix(parser.voice.text))
                yield _reply(reply, parser.voice.thinking, text, reading, usage)
                return
            faults = reading.faults
            asked = self._corrected(first, reply, faults)
        raise ModelUnavailable("reply_unparsable", retryable=False, reason=" ".join(faults)[:500])

    def _request(self, request: ModelRequest) -> ModelRequest:
        """The same question, asked in words."""
        return replace(
            request,
            system=f"{request.system}\n\n{instructions(request.tools, self.form)}",
            tools=(),
            pressing=True,
            response_schema=answer_schema(request.tools, self.form) if self.form == "object" else None,
        )

    async def _heard(self, asked: ModelRequest, parser: Parser, replies: list[Reply]) -> AsyncGenerator[Delta, None]:
        """What is to be shown of one try; its reply is added to `replies`."""
        fed = 0
        async with aclosing(self.client.stream(asked)) as stream:
            async for item in stream:
                if isinstance(item, Reply):
                    replies.append(item)
                elif isinstance(item, TextDelta):
                    fed += len(item.text)
                    for delta in parser.feed(item.text):
                        yield delta
                else:
                    yield item
        if not replies:
            raise ModelUnavailable("reply_incomplete")
        # A client may leave deltas out; the reply has the whole text.
        for delta in (*parser.feed(replies[0].message.text[fed:]), *parser.finish()):
            yield delta

    def _reading(self, parser: Parser, reply: Reply, request: ModelRequest) -> Reading:
        tools = {spec.name: spec for spec in request.tools}
        number = sum(len(message.calls) for message in request.messages) + 1
        cut, native = reply.finish_reason == "length", bool(reply.message.calls)
        reading = reading_of(parser, tools, number, cut=cut, native=native)
        return replace(reading, faults=(_CUT, *reading.faults)) if reading.faults and cut else reading

    def _corrected(self, asked: ModelRequest, reply: Reply, faults: tuple[str, ...]) -> ModelRequest:
        """The question again, behind the broken reply and what is wrong with it."""
        text = reply.message.text
        head = text if len(text) <= HEAD else f"{text[:HEAD]}… ({len(text)} characters)"
        wrong = "\n".join(f"- {fault}" for fault in faults)
        context = (
            f"{asked.context}\n\nYour last reply could not be read, and nothing of it was done:\n{wrong}\n"
            f"Write the whole reply again, in this form and nothing else:\n{FORMS[self.form]}"
        )
        messages = (*asked.messages, Message("assistant", (TextPart(head),)))
        return replace(asked, messages=messages, context=context)


def _reply(reply: Reply, thinking: str, text: str, reading: Reading, usage: Usage) -> Reply:
    """The reply as the loop knows it: thinking, words, calls, and who has control."""
    parts: list[Part] = [part for part in reply.message.parts if isinstance(part, ThinkingPart)]
    parts += [ThinkingPart(thinking.rstrip(), provider=PROVIDER)] if thinking.strip() else []
    parts += [TextPart(text)] if text else []
    return replace(
        reply,
        message=Message("assistant", (*parts, *reply.message.calls, *reading.calls)),
        usage=usage,
        turn=_turn(text, complete=reading.complete),
    )


def _turn(text: str, *, complete: bool) -> Turn:
    """Who has control. A question always hands it over, or it would be asked for ever."""
    if text.rstrip().endswith(("?", "？")):
        return "question"
    return "answer" if complete else "note"
