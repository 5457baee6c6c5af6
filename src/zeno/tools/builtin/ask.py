"""Asking the user: the call is held until a person has answered; their answer is what the tool works on."""

from typing import Literal

from zeno.core.errors import ToolFailed
from zeno.core.ports import ToolContext
from zeno.tools.function import tool

Form = Literal["text", "single", "multiple", "preview"]


@tool(asks=True, volatile=True, source="user")
def ask_user(question: str, ctx: ToolContext, form: Form = "text", options: tuple[str, ...] = (), preview: str = "") -> str:
    """Ask the user and wait for the answer, however long it takes.

    Use it when something is missing that only the user knows, when they have to choose, or to have a draft looked at before it
    is used. Ask one thing at a time, and offer options where there are few.

    Args:
        question: The question, in the user's language.
        ctx: Where the call happens.
        form: "text" for a free answer, "single" or "multiple" for a choice among the options, "preview" to show a draft.
        options: The options to choose from, for "single" and "multiple".
        preview: The draft to look at, for "preview"; Markdown.
    """
    answer = ctx.answer
    if answer is None:
        raise ToolFailed("Nobody answered.", code="unanswered")
    parts = []
    if answer.choices:
        parts.append(f"The user chose: {'; '.join(answer.choices)}.")
    if answer.text:
        parts.append(f"The user said: {answer.text}")
    return "\n".join(parts) or "The user agreed and said nothing more."
