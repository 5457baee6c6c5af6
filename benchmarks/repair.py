"""How often a broken text of arguments is still read as what it meant, by the kind of damage, and what that costs.

The texts are those of `tests/core/corpus`. `recovered` is read as meant, `refused` is told to the model with the place of the
fault, `wrong` would be arguments that nobody meant. Run it as `python -m benchmarks.repair`; `repair.md` keeps what it printed.
"""

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from zeno.core.arguments import arguments_of
from zeno.core.errors import ToolFailed
from zeno.core.messages import ToolCall

CORPUS = Path(__file__).parents[1] / "tests" / "core" / "corpus"
VERDICTS = ("recovered", "refused", "wrong")
ROUNDS = 20


def lines(name: str) -> list[dict[str, Any]]:
    """The lines of one file of the corpus."""
    return [json.loads(line) for line in (CORPUS / name).read_text("utf-8").split("\n") if line]


def verdict(line: dict[str, Any]) -> str:
    """What becomes of one text."""
    try:
        read = arguments_of(ToolCall("1", "tool", line["text"]))
    except ToolFailed:
        return "refused"
    return "recovered" if line["meant"] is not None and read.value == line["meant"] else "wrong"


def microseconds(texts: list[str]) -> float:
    """CPU time per text, the best of several rounds."""
    calls = [ToolCall("1", "tool", text) for text in texts]
    best = float("inf")
    for _ in range(ROUNDS):
        begun = time.process_time()
        for call in calls:
            try:
                arguments_of(call)
            except ToolFailed:
                continue
        best = min(best, time.process_time() - begun)
    return best / len(calls) * 1e6


def counts() -> list[tuple[str, list[int]]]:
    """For each kind, how many texts there are and how many of them met which verdict; all kinds together last."""
    corpus = lines("broken.jsonl")
    kinds = {kind: [line for line in corpus if line["kind"] == kind] for kind in dict.fromkeys(line["kind"] for line in corpus)}
    rows = []
    for kind, members in {**kinds, "all": corpus}.items():
        met = Counter(verdict(line) for line in members)
        rows.append((kind, [len(members), *(met[each] for each in VERDICTS)]))
    return rows


def row(kind: str, figures: list[int]) -> str:
    """The row of a kind, without its time."""
    return f"| {kind} | {' | '.join(str(figure) for figure in figures)} |"


def main() -> None:
    corpus = lines("broken.jsonl")
    print("| kind | count | recovered | refused | wrong | CPU µs per text |")
    print("|---|---:|---:|---:|---:|---:|")
    for kind, figures in counts():
        texts = [line["text"] for line in corpus if kind in (line["kind"], "all")]
        print(f"{row(kind, figures)} {microseconds(texts):.0f} |")
    sound = lines("valid.jsonl")
    unchanged = sum(verdict(line) == "recovered" for line in sound)
    cost = microseconds([line["text"] for line in sound])
    print(f"\nSound JSON: {unchanged} of {len(sound)} unchanged, {cost:.0f} µs per text.")


if __name__ == "__main__":
    main()
