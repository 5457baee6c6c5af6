"""The journey of a weekly report: asked for with a file, watched, confirmed, fetched, interrupted and gone on with."""

import re
import socket
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.window import ROOT, Window
from tests.door import Door
from tests.http import HOLD, Server, serving
from tests.stubs.gated_model import Gate, GatedModel

REPORT = {
    "title": "Weekly report",
    "headline": "Online leads.",
    "sections": [
        {
            "heading": "Channels",
            "paragraphs": ["Two weeks."],
            "chart": {
                "kind": "line",
                "title": "Amount",
                "categories": ["2026-11-16", "2026-11-23"],
                "series": [{"name": "Online", "values": [10, 20]}, {"name": "Retail", "values": [5, 4]}],
            },
        }
    ],
}
MAIL = {"to": "li@example.com", "text": "The report is done."}

WORDS = {
    "en-US": {"ask": "Summarise sales.csv and mail it to Li", "stopped": "cancelled", "answered": "answered"},
    "zh-CN": {"ask": "汇总 sales.csv 并发邮件给小李", "stopped": "已取消", "answered": "已回答"},
}


@pytest.fixture
def server(door: Door, model: GatedModel) -> Server:
    """A server with a tool that a person is asked about."""
    door.with_tools(HOLD)
    door.env |= {"ZENO_OPENAI__BASE_URL": model.url, "ZENO_MODEL": "openai:gated"}
    with serving(door) as started:
        yield started


def _say(page: Page, text: str) -> None:
    page.locator('[data-test="message"]').fill(text)
    page.locator('[data-test="send"]').click()


def _answers(page: Page) -> str:
    """All that is said in the thread, as it is seen."""
    return page.locator('[data-test="thread"]').inner_text()


@pytest.mark.parametrize("language", ["en-US", "zh-CN"])
def test_the_weekly_report_from_the_wish_to_the_document(
    browser: Browser, server: Server, model: GatedModel, language: str, tmp_path: Path
) -> None:
    words = WORDS[language]
    thinks, answers, ends = Gate(), Gate(), Gate()
    model.says(("thinking", "First I look at the table. "), thinks, {"name": "read_table", "arguments": {"path": "sales.csv"}})
    model.says(
        ("thinking", "Now the report."),
        {"name": "generate_word_report", "arguments": REPORT},
        {"name": "send_mail", "arguments": MAIL},
    )
    model.says("Online **leads**", answers, " by far.", ends, " Done.")
    window = Window.opened(browser, server, language=language)
    page = window.page
    page.set_input_files('input[type="file"]', ROOT / "examples" / "sales.csv")
    expect(window["attachment"]).to_contain_text("sales.csv")
    _say(page, words["ask"])

    # Thinking and steps are seen while they are going on.
    thinks.wait()
    expect(window["thinking"].first).to_be_visible()
    expect(window["user-bubble"]).to_contain_text(words["ask"])
    thinks.open()
    expect(window["call"].filter(has_text="read_table")).to_be_visible()

    # A dangerous action waits; another argument is given, and that one counts.
    card = page.locator('[data-test^="approval-"][data-status="pending"]').first
    expect(card).to_contain_text("send_mail")
    window.picture(f"confirm-{language}")
    card.locator('[data-test="edit"]').click()
    field = card.locator('[data-test="field-text"] textarea, [data-test="field-text"] input').first
    field.fill("Only for you.")
    window.picture(f"edit-{language}")
    card.locator('[data-test="edit-confirm"]').click()
    answers.wait()
    assert "sent to li@example.com: Only for you." in str(model.asked[-1])
    assert "The report is done." not in str([m for m in model.asked[-1]["messages"] if m["role"] == "tool"])

    # The document can be fetched, and is one.
    with page.expect_download() as fetched:
        window["file"].filter(has_text=".docx").locator('[data-test="download"]').first.click()
    path = tmp_path / fetched.value.suggested_filename
    fetched.value.save_as(path)
    assert "word/document.xml" in zipfile.ZipFile(path).namelist()

    # In the middle of the answer the page is loaded anew, and opened once more: nothing is lost, nothing is there twice.
    expect(page.locator("strong", has_text="leads")).to_be_visible()
    page.reload()
    expect(page.locator("strong", has_text="leads")).to_be_visible()
    second = window.another(page.url.removeprefix(server.origin))
    expect(second.locator("strong", has_text="leads")).to_be_visible()
    answers.open()
    for each in (page, second):
        expect(each.locator('[data-test="thread"]')).to_contain_text("leads by far.")
    ends.wait()
    ends.open()
    for each in (page, second):
        expect(each.locator('[data-test="thread"]')).to_contain_text("by far. Done.")
        expect(each.locator('[data-test="ending"]').first).to_be_visible()
        assert len(re.findall("by far", _answers(each))) == 1

    # Stop, and go on.
    stops = Gate()
    model.says("This will take a", stops)
    _say(page, "…")
    stops.wait()
    window["stop"].click()
    expect(window["ending"].last).to_contain_text(words["stopped"], ignore_case=True)
    stops.open()
    model.says("Here I am again.")
    _say(second, "?")
    for each in (page, second):
        expect(each.locator('[data-test="thread"]')).to_contain_text("Here I am again.")
    assert window.accessibility() == []
    window.close()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def test_a_server_is_killed_in_the_middle_of_an_answer_and_comes_back(browser: Browser, door: Door, model: GatedModel) -> None:
    door.env |= {"ZENO_OPENAI__BASE_URL": model.url, "ZENO_MODEL": "openai:gated"}
    middle, again = Gate(), Gate()
    model.says("The first half", middle, " is never finished.")
    model.says("The whole", again, " answer.")
    with serving(door, "--port", str(_free_port())) as server:
        window = Window.opened(browser, server)
        _say(window.page, "go")
        middle.wait()
        expect(window["thread"]).to_contain_text("The first half")
        server.kill()
        middle.open()
        expect(window["thread"]).to_contain_text("The first half")
        server.start()
        again.wait()
        expect(window["thread"]).to_contain_text("The whole")
        again.open()
        expect(window["thread"]).to_contain_text("The whole answer.")
        expect(window["ending"]).to_be_visible()
        assert "first half" not in _answers(window.page), "what was cut off is no part of the answer"
        window.close()


def test_a_decision_in_one_window_is_seen_in_the_other(browser: Browser, server: Server, model: GatedModel) -> None:
    model.says({"name": "send_mail", "arguments": MAIL})
    model.says("It is sent.")
    window = Window.opened(browser, server)
    _say(window.page, "mail it")
    card = '[data-test^="approval-"][data-status="pending"]'
    expect(window.page.locator(card)).to_be_visible()
    inbox = window.another("/approvals")
    expect(inbox.locator(card)).to_contain_text("li@example.com")
    inbox.locator(card).locator('[data-test="approve"]').click()
    expect(inbox.locator('[data-test="outcome"]')).to_be_visible()
    expect(window["thread"]).to_contain_text("It is sent.")
    expect(window.page.locator(card)).to_have_count(0)
    window.close()


def test_questions_are_answered_in_each_of_their_forms(browser: Browser, server: Server, model: GatedModel) -> None:
    asked = [
        {"question": "Which colour?", "form": "single", "options": ["red", "blue"]},
        {"question": "Which sizes?", "form": "multiple", "options": ["S", "M", "L"]},
        {"question": "What else?", "form": "text"},
        {"question": "Shall it look so?", "form": "preview", "preview": "# A title"},
    ]
    for question in asked:
        model.says({"name": "ask_user", "arguments": question})
    model.says("Thank you.")
    window = Window.opened(browser, server)
    page = window.page
    _say(page, "ask me")
    card = page.locator('[data-test^="approval-"][data-status="pending"]')
    expect(card).to_contain_text("Which colour?")
    card.locator('[data-test="option-1"]').click()
    card.locator('[data-test="answer"]').click()
    expect(card).to_contain_text("Which sizes?")
    card.locator('[data-test="option-0"]').click()
    card.locator('[data-test="option-2"]').click()
    card.locator('[data-test="answer"]').click()
    expect(card).to_contain_text("What else?")
    card.locator('[data-test="words"] textarea, textarea[data-test="words"]').first.fill("Nothing, thanks.")
    card.locator('[data-test="answer"]').click()
    expect(card).to_contain_text("A title")
    card.locator('[data-test="answer"]').click()
    expect(window["thread"]).to_contain_text("Thank you.")
    told = [str(request["messages"][-1]) for request in model.asked[1:]]
    assert "blue" in told[0]
    assert "S" in told[1]
    assert "Nothing, thanks." in told[2]
    window.close()


def test_a_draft_is_not_lost_when_the_server_does_not_answer(browser: Browser, door: Door, model: GatedModel) -> None:
    door.env |= {"ZENO_OPENAI__BASE_URL": model.url, "ZENO_MODEL": "openai:gated"}
    model.says("Here.")
    with serving(door, "--port", str(_free_port())) as server:
        window = Window.opened(browser, server)
        server.kill()
        _say(window.page, "keep these words")
        expect(window["send-problem"]).to_be_visible()
        expect(window["message"]).to_have_value("keep these words")
        server.start()
        window["send"].click()
        expect(window["thread"]).to_contain_text("Here.")
        window.close()


def test_words_that_are_written_while_a_file_begins_the_conversation_stay(window: Window, model: GatedModel) -> None:
    page = window.page
    page.evaluate("""() => {
        // Somebody who never stops typing, and a page that moves to another address under their fingers.
        const field = () => document.querySelector('[data-test="message"]')
        window.typed = ''
        window.typist = setInterval(() => {
            const text = 'abcdefghij'[window.typed.length % 10]
            window.typed += text
            field().value += text
            field().dispatchEvent(new Event('input', { bubbles: true }))
        }, 1)
    }""")
    page.set_input_files('input[type="file"]', ROOT / "examples" / "sales.csv")
    page.wait_for_url("**/chat/*")
    expect(window["attachment"]).to_contain_text("sales.csv")
    typed = page.evaluate("() => { clearInterval(window.typist); return window.typed }")
    expect(window["message"]).to_have_value(typed)
