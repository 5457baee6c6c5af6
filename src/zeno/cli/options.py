"""What the options of all commands share."""

from collections.abc import Callable
from typing import Literal

Say = Callable[[str], str]
"""Gives the help text of a key."""

Language = Literal["zh-CN", "en-US"]
