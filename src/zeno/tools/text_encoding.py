"""Which encoding a text is in, and its text. Knows bytes and characters; knows nothing of tables, tools or the workspace.

A BOM decides, then UTF-16 by its NULs, then UTF-8. What is left is a legacy encoding. Chinese, Japanese and Korean are found by
the layout of their standards (GB 2312, Big5, JIS X 0208 and KS X 1001 keep the everyday characters in one block), because
statistics fail on the few characters of a short file. Letters with accents that stand alone among ASCII are taken for
Windows-1252; everything else is left to charset-normalizer.
"""

import codecs
import io
import re
from collections import Counter
from pathlib import Path
from typing import BinaryIO, NamedTuple

SAMPLE_SIZE = 256 * 1024
"""How much of a text, in bytes, is looked at to find its encoding."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins with the BOM of UTF-16 LE, so it is asked for first
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MAGIC = (
    (b"PK\x03\x04", "a ZIP archive or an Office document"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document"),
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a sound, video or WebP file"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90\x00", "a program"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
)
_CONTROLS = re.compile(r"[\x00-\x07\x0e-\x19\x1c-\x1f]")
_CONTROLS_ALLOWED = 0.02

_EVERYDAY_NEEDED = 0.6
_DAMAGE_ALLOWED = 0.1
_UTF8_DAMAGE_ALLOWED = 1 / 3
"""Damaged UTF-8 is still recognised: other texts hardly ever form its sequences."""
_ADJACENT_ACCENTS = 1.5
"""Western letters with accents stand among ASCII ones: the mean length of their runs stays below this."""
_OTHERS = ["cp1252", "cp1251", "koi8_r", "cp932", "gb18030", "big5hkscs"]
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_FOREIGN_BYTES = re.compile(rb"[\x80-\xff]+")


class _Block(NamedTuple):
    """Where a double-byte encoding keeps its everyday characters: lead bytes, and the lowest second byte.

    `fewest` different characters are needed to believe it.
    """

    first: int
    last: int
    second: int = 0xA1
    fewest: int = 1


_EVERYDAY = {
    "cp949": _Block(0xB0, 0xC8, fewest=20),  # lies within the Chinese block: only variety tells them apart
    "gb18030": _Block(0xB0, 0xD7),
    "big5hkscs": _Block(0xA4, 0xC6, second=0x40),
    "euc_jp": _Block(0xA4, 0xCF),
}
_SIGNS = range(0xA1, 0xA4)
"""Lead bytes of punctuation and full-width signs in all of these encodings."""


class Decoded(NamedTuple):
    """A text, the Python codec it was read with, and how many places of it could not be read (they hold U+FFFD)."""

    text: str
    encoding: str
    undecodable: int


def decode(raw: bytes) -> Decoded:
    """The text of `raw` in the encoding it appears to be in, without BOM."""
    encoding = encoding_of(io.BytesIO(raw))
    try:
        return Decoded(raw.decode(encoding), encoding, 0)
    except UnicodeDecodeError:
        text = raw.decode(encoding, "replace")
        return Decoded(text, encoding, _unreadable(raw, text, encoding))


def detect_encoding(path: Path) -> str:
    """The Python codec to open the file with; it takes a BOM off. Looks at the first 256 KiB that are not all ASCII."""
    with path.open("rb") as stream:
        return encoding_of(stream)


def looks_binary(sample: bytes) -> bool:
    """Whether the beginning of a file shows that it is no text."""
    return binary_kind(sample) is not None


def binary_kind(sample: bytes) -> str | None:
    """What a binary file is, in words with their article, by its first bytes; None for a text."""
    kind = next((kind for magic, kind in _MAGIC if sample.startswith(magic)), None)
    if kind and not sample[:4].isalnum():  # letters alone may begin a text as well
        return kind
    if _by_bom(sample) or _utf16_by_nuls(sample):
        return None
    return kind or "a binary file" if b"\x00" in sample or _has_many_controls(sample.decode("latin-1")) else None


def encoding_of(stream: BinaryIO) -> str:
    """Like `detect_encoding`, for a file that is open in binary mode at its beginning; reads on from there."""
    sample = stream.read(SAMPLE_SIZE)
    if found := _by_bom(sample) or _utf16_by_nuls(sample):
        return found
    while sample.isascii():  # says nothing yet; a block border after ASCII is never inside a character
        more = stream.read(SAMPLE_SIZE)
        if not more:
            return "utf-8"
        sample = more
    return _by_content(sample)


def _by_bom(sample: bytes) -> str | None:
    return next((encoding for bom, encoding in _BOMS if sample.startswith(bom)), None)


def _utf16_by_nuls(sample: bytes) -> str | None:
    """UTF-16 without BOM: the high bytes of ASCII are NUL, on the same side of their characters.

    A few may be on the other side: U+4E00, a most frequent Chinese character, ends in NUL.
    """
    first, second = sample[::2].count(0), sample[1::2].count(0)
    if max(first, second) * 20 <= len(sample) or min(first, second) * 3 > max(first, second):
        return None
    encoding = "utf-16-le" if second > first else "utf-16-be"
    text = _read(sample, encoding)
    damaged = text.count("\ufffd") > len(text) * _DAMAGE_ALLOWED
    return None if damaged or _has_many_controls(text) else encoding


def _has_many_controls(text: str) -> bool:
    return len(_CONTROLS.findall(text)) > len(text) * _CONTROLS_ALLOWED


def _by_content(sample: bytes) -> str:
    damage = _damage(sample, "utf-8")
    if damage <= _DAMAGE_ALLOWED:
        return "utf-8"
    shares = {encoding: _everyday_share(sample, encoding) for encoding in _EVERYDAY}
    best = max(shares, key=lambda encoding: shares[encoding])  # the first of equals
    if shares[best] >= _EVERYDAY_NEEDED:
        return best
    return "utf-8" if damage <= _UTF8_DAMAGE_ALLOWED else _by_statistics(sample)


def _read(sample: bytes, encoding: str) -> str:
    """The sample's text; a character that the end of the sample splits is left out."""
    return codecs.getincrementaldecoder(encoding)("replace").decode(sample)


def _unreadable(raw: bytes, text: str, encoding: str) -> int:
    """How many U+FFFD of `text` are not in `raw` but stand for bytes that could not be read."""
    written = "\ufffd".encode(encoding, "ignore")
    return max(0, text.count("\ufffd") - (raw.count(written) if written else 0))


def _damage(sample: bytes, encoding: str) -> float:
    """The share of the non-ASCII characters that cannot be read; 1 when there are none, as nothing read proves nothing."""
    text = _read(sample, encoding)
    foreign = sum(map(len, _FOREIGN.findall(text)))
    return _unreadable(sample, text, encoding) / foreign if foreign else 1.0


def _everyday_share(sample: bytes, encoding: str) -> float:
    """The share of the non-ASCII characters that are everyday ones or signs of the encoding; 0 when it does not fit.

    A character alone among ASCII whose second byte is ASCII too does not count: it is an accented letter and its neighbour.
    """
    block = _EVERYDAY[encoding]
    runs = _FOREIGN.findall(_read(sample, encoding))
    counts = Counter("".join(run for run in runs if len(run) > 1 or not run.encode(encoding, "ignore")[1:2].isascii()))
    if len(counts) < block.fewest or _damage(sample, encoding) > _DAMAGE_ALLOWED:
        return 0.0
    everyday = sum(count for character, count in counts.items() if _is_everyday(character.encode(encoding, "ignore"), block))
    return everyday / sum(map(len, runs))


def _is_everyday(code: bytes, block: _Block) -> bool:
    return len(code) == 2 and code[1] >= block.second and (block.first <= code[0] <= block.last or code[0] in _SIGNS)


def _by_statistics(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    runs = _FOREIGN_BYTES.findall(sample)
    if sum(map(len, runs)) <= len(runs) * _ADJACENT_ACCENTS:
        return "cp1252"
    best = from_bytes(sample, cp_isolation=_OTHERS).best()
    return best.encoding if best else "cp1252"
