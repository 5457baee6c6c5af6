"""The words of the protocol: its tags, its kinds of action, and the other names that models use for the same things."""

from zeno.core.ports import ActionKind

TAGS = {
    "<thinking>": "think",
    "<think>": "think",
    "</thinking>": "thought",
    "</think>": "thought",
    "<thinking_done>": "done",
    "<thinking_done/>": "done",
    "</thinking_done>": "done",
    "<actions>": "actions",
    "</actions>": "acted",
}
"""What a tag means, by its lower-case form. No tag begins another one."""

_KINDS: dict[str, ActionKind] = {
    "toolcall": "TOOL_CALL",
    "tool": "TOOL_CALL",
    "tooluse": "TOOL_CALL",
    "calltool": "TOOL_CALL",
    "function": "TOOL_CALL",
    "functioncall": "TOOL_CALL",
    "ragretrieve": "RAG_RETRIEVE",
    "ragretrieval": "RAG_RETRIEVE",
    "llmgenerate": "LLM_GENERATE",
    "directresponse": "DIRECT_RESPONSE",
    "response": "DIRECT_RESPONSE",
    "respond": "DIRECT_RESPONSE",
    "finalanswer": "DIRECT_RESPONSE",
    "answer": "DIRECT_RESPONSE",
}

KIND = ("type", "action", "actiontype", "kind")
TOOL = ("tool", "toolname", "name", "functionname")
ARGUMENTS = ("arguments", "args", "parameters", "params", "input", "toolinput", "actioninput")
TEXT = ("text", "content", "message", "response")
COMPLETE = ("iscomplete", "complete")
THINKING = ("thinking", "thought", "thoughts", "reasoning")
ACTIONS = ("actions",)
REMARKS = ("id", "reason", "thought", "description", "explanation", "purpose", "note", "comment")
"""Keys beside an action that mean nothing to it."""

OPENING_KEYS = frozenset(("query", "prompt", "instruction", *KIND, *TOOL, *ARGUMENTS, *TEXT, *COMPLETE, *THINKING, *ACTIONS))
"""Keys with which an object of the protocol may begin."""


def plain(name: str) -> str:
    """`name` without case and joints: `isComplete`, `is_complete` and `IsComplete` are one."""
    return name.lower().replace("_", "").replace("-", "").replace(" ", "").strip()


def kind_of(name: str) -> ActionKind | None:
    """The kind of action that a name means, if any."""
    return _KINDS.get(plain(name))
