"""Endings: the closed set of ways in which a run ends.

Each has a cause and a next step for the user, in both languages, in the catalogues.
"""

from typing import Literal

Ending = Literal[
    "answered",
    "asked_user",
    "awaiting_approval",
    "declined",
    "limit_reached",
    "budget_exceeded",
    "loop_guard",
    "context_exhausted",
    "model_failed",
    "cancelled",
    "failed",
]
