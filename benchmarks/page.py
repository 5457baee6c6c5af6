"""The page in a real browser: opening a conversation of 500 messages, and an answer of 100 tokens a second at its end.

    python -m benchmarks.page

Measured by the browser itself: what blocks its main thread (long tasks), and when the newest answer is seen.
"""

import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from tests.browser.window import chromium
from tests.door import Door
from tests.http import Server, serving
from tests.stubs.gated_model import GatedModel, Paced, gated_model

RUNS = 250
SECONDS = 20
PER_SECOND = 100.0

OBSERVED = """() => {
  window.blocks = []
  new PerformanceObserver((list) => window.blocks.push(...list.getEntries().map((each) => each.duration)))
    .observe({ type: 'longtask', buffered: true })
}"""

ANSWER = """Answer number {number}.

| channel | amount |
|---|---:|
| Online | 1{number} |
| Retail | 2{number} |

- first **point**
- second `point`

```python
print({number})
```
"""


def main() -> None:
    """Measure, and print."""
    with tempfile.TemporaryDirectory() as home, gated_model() as model:
        here = Path(home) / "here"
        here.mkdir()
        door = Door(home=Path(home) / "home", here=here)
        door.env |= {
            "ZENO_OPENAI__BASE_URL": model.url,
            "ZENO_MODEL": "openai:gated",
            "ZENO_SERVER__RATE_LIMIT": "100000/minute",
        }
        with serving(door) as server, sync_playwright() as playwright:
            session = _talked(server, model)
            browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-dev-shm-usage"])
            page = browser.new_context(locale="en-US", viewport={"width": 1280, "height": 860}).new_page()
            page.add_init_script(f"({OBSERVED})()")
            page.goto(f"{server.origin}/#token={server.token}")
            page.wait_for_selector('[data-test="message"]')
            _open(page, server, session)
            _stream(page, model)
            browser.close()


def _talked(server: Server, model: GatedModel) -> str:
    """A conversation of so many runs: its id."""
    client = server.client()
    session: str = client.post("/sessions").json()["id"]
    for number in range(RUNS):
        model.says(ANSWER.format(number=number))
        done = client.post(f"/sessions/{session}/runs?wait=60", json={"text": f"Question number {number}?"})
        assert done.json()["ending"] == "answered", done.text
    return session


def _open(page: Page, server: Server, session: str) -> None:
    took: list[float] = []
    blocks: list[float] = []
    for _ in range(5):
        page.goto(f"{server.origin}/chat/{session}")
        page.get_by_text(f"Answer number {RUNS - 1}.").wait_for()
        took.append(page.evaluate("performance.now()"))
        blocks.append(max(page.evaluate("window.blocks"), default=0))
    took.sort()
    print(f"opening {2 * RUNS} messages: {took[2]:.0f} ms median of 5, {took[-1]:.0f} ms most (goal 1000); ", end="")
    print(f"longest block {max(blocks):.0f} ms (goal 200)")


def _stream(page: Page, model: GatedModel) -> None:
    words = ("token " * 7 + "**bold** ").split(" ")
    pieces = tuple(
        f"\n\n## Part {n}\n\n" if n % 200 == 0 else "\n" if n % 40 == 0 else words[n % 8] + " "
        for n in range(int(SECONDS * PER_SECOND))
    )
    model.says(Paced((*pieces, "The end."), PER_SECOND))
    page.evaluate("window.blocks.length = 0")
    page.locator('[data-test="message"]').fill("go on")
    page.locator('[data-test="send"]').click()
    page.locator('[data-test="thread"]').get_by_text("The end.").wait_for(timeout=120_000)
    blocks = sorted(page.evaluate("window.blocks"))
    longest = blocks[-1] if blocks else 0
    print(
        f"{PER_SECOND:.0f} tokens a second for {SECONDS} s: longest block {longest:.0f} ms (goal 200), {len(blocks)} over 50 ms"
    )


if __name__ == "__main__":
    main()
