"""Letters that a stream cut in two: servers that count in UTF-16 send the halves of an emoji apart. It knows no protocol."""


def whole(text: str) -> str:
    """`text` with its halves joined; what stays half becomes U+FFFD."""
    letters = Letters()
    return letters.feed(text) + letters.end()


class Letters:
    """Gives back text in whole letters; the first half of one waits for the second."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        """What is whole of `text` and of what waited before it. A half that stands alone becomes U+FFFD."""
        if text.isascii() and not self._half:
            return text
        text, self._half = self._half + text, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def end(self) -> str:
        """What still waits, when nothing follows."""
        half, self._half = self._half, ""
        return "\ufffd" if half else ""
