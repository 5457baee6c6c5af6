"""Time and chance: the one place where runs get them, so that the core needs neither."""

import secrets
import time
from datetime import UTC, datetime


def now() -> int:
    """Milliseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1_000_000


def new_id() -> str:
    """32 random hexadecimal digits: a trace id as W3C Trace Context defines it."""
    return secrets.token_hex(16)


def iso(at: int) -> str:
    """A time in milliseconds as ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(at // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
