"""Tokens of a text, for providers that do not count them. It knows no model's vocabulary, so every figure is an estimate."""

WIDE = 0.8
"""Tokens of a Chinese character; the vocabularies in use lie between 0.6 and 1.2."""
NARROW = 4
"""Letters of a token in European text."""


def estimated_tokens(text: str) -> int:
    """About how many tokens `text` is: at least one, unless it is empty.

    The bytes that a character takes in UTF-8 tell wide scripts (three) from narrow ones (one) without looking at each.
    """
    wide = (len(text.encode("utf-8", "replace")) - len(text)) / 2
    narrow = max(0.0, len(text) - wide)
    return max(1, round(narrow / NARROW + wide * WIDE)) if text else 0
