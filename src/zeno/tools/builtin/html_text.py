"""HTML as plain text: what a reader sees, with headings, lists, tables and links marked. Knows elements; loads nothing."""

import re
from html.parser import HTMLParser

_UNSEEN = {"script", "style", "template", "noscript", "svg", "math", "head", "iframe", "object", "select"}
_BLOCKS = {
    "address", "article", "aside", "blockquote", "dd", "details", "div", "dl", "dt", "fieldset", "figure", "footer", "form",
    "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "tr", "ul",
}  # fmt: skip
_PARAGRAPHS = {"p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "pre", "blockquote"}
_HEADINGS = {"h1": "# ", "h2": "## ", "h3": "### ", "h4": "#### ", "h5": "##### ", "h6": "###### "}
_KEPT = "\x00"
"""Stands for a space of preformatted text until the others are joined; HTML has no such character."""
_MOST_NESTING = 10_000
"""Elements that are not seen within one another; more is no document."""


def text_of_html(document: str) -> str:
    """The visible text of a document, its title first. Links are `text <address>`, cells are parted by `|`."""
    reader = _Reader()
    reader.feed(document.replace(_KEPT, ""))
    reader.close()
    return reader.text()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._pieces: list[str] = []
        self._title: list[str] = []
        self._unseen: list[str] = []
        self._in_title = False
        self._preformatted = 0
        self._links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = True
        elif tag == "body":
            self._unseen.clear()  # a head that nobody closed
        elif tag in _UNSEEN:
            if len(self._unseen) < _MOST_NESTING:
                self._unseen.append(tag)
        elif not self._unseen:
            self._opened(tag, dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in _UNSEEN:
            if tag in self._unseen:
                while self._unseen.pop() != tag:
                    pass
        elif not self._unseen:
            self._closed(tag)

    def handle_data(self, data: str) -> None:
        if self._in_title and not ({"svg"} & set(self._unseen)):
            self._title.append(data)
        elif not self._unseen:
            self._pieces.append(data.replace(" ", _KEPT) if self._preformatted else re.sub(r"\s+", " ", data))

    def text(self) -> str:
        lines = (re.sub(r" {2,}", " ", line).strip() for line in "".join(self._pieces).split("\n"))
        body = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip().replace(_KEPT, " ")
        title = " ".join("".join(self._title).split())
        return f"{title}\n\n{body}".strip()

    def _opened(self, tag: str, attributes: dict[str, str | None]) -> None:
        if tag in _BLOCKS:
            self._break(tag)
        if tag == "br":
            self._pieces.append("\n")
        elif tag == "pre":
            self._preformatted += 1
        elif tag == "a":
            self._links.append(attributes.get("href") or "")
        elif tag == "img" and attributes.get("alt"):
            self._pieces.append(f"[{attributes['alt']}]")
        elif tag in ("td", "th"):
            self._pieces.append(" | ")
        elif tag == "li":
            self._pieces.append("- ")
        else:
            self._pieces.append(_HEADINGS.get(tag, ""))

    def _closed(self, tag: str) -> None:
        if tag == "a" and self._links:
            address = self._links.pop()
            if address and not address.startswith(("#", "javascript:", "data:")):
                self._pieces.append(f" <{address}>")
        elif tag == "pre":
            self._preformatted = max(0, self._preformatted - 1)
        if tag in _BLOCKS:
            self._break(tag)

    def _break(self, tag: str) -> None:
        self._pieces.append("\n\n" if tag in _PARAGRAPHS else "\n")
