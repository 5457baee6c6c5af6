"""What models, tools, files and people write stays words: nobody elsewhere is asked, and no script runs but the page's own."""

import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from docx import Document
from playwright.sync_api import Browser, expect

from tests.browser.window import Window
from tests.door import Door
from tests.http import Server, serving
from tests.stubs.gated_model import GatedModel

ELSEWHERE = "http://127.0.0.2:9"
"""An address that the page must never ask; nothing listens there."""

ATTACKS = (Path(__file__).parent / "attacks.md").read_text("utf-8").replace("ELSEWHERE", ELSEWHERE)

TOOL = f'''
@tool()
def fetch_page(word: str) -> str:
    """Fetch a page. Use in tests.

    Args:
        word: a word
    """
    return {ATTACKS!r}


@tool(effect="danger")
async def send_mail(to: str, text: str) -> str:
    """Send a mail. Use in tests. <img src=x onerror="window.ran=1">

    Args:
        to: the address
        text: what it says
    """
    return "sent"
'''


def _document() -> bytes:
    """A Word file whose pictures and links lead elsewhere."""
    made = BytesIO()
    document = Document()
    document.add_paragraph("An innocent report.")
    linked = document.part.relate_to(
        f"{ELSEWHERE}/in-document.png",
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships/image",
        is_external=True,
    )
    paragraph = document.add_paragraph("<img src=x onerror=window.ran=1>")
    run = paragraph.add_run()
    run._r.append(_picture(linked))
    document.save(made)
    assert zipfile.is_zipfile(made)
    return made.getvalue()


def _picture(relation: str) -> object:
    from docx.oxml import parse_xml

    names = (
        'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
        ' xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
        ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
        ' xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"'
        ' xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    )
    return parse_xml(
        f"<w:drawing {names}><wp:inline><wp:extent cx='9525' cy='9525'/><wp:docPr id='1' name='x'/><a:graphic>"
        "<a:graphicData uri='http://schemas.openxmlformats.org/drawingml/2006/picture'><pic:pic><pic:nvPicPr>"
        "<pic:cNvPr id='1' name='x'/><pic:cNvPicPr/></pic:nvPicPr><pic:blipFill>"
        f"<a:blip r:link='{relation}'/><a:stretch><a:fillRect/></a:stretch></pic:blipFill><pic:spPr><a:xfrm>"
        "<a:off x='0' y='0'/><a:ext cx='9525' cy='9525'/></a:xfrm></pic:spPr></pic:pic></a:graphicData></a:graphic>"
        "</wp:inline></w:drawing>"
    )


@pytest.fixture
def server(door: Door, model: GatedModel) -> Server:
    """A server with a tool that brings what a foreign page says."""
    door.with_tools(TOOL)
    door.env |= {"ZENO_OPENAI__BASE_URL": model.url, "ZENO_MODEL": "openai:gated"}
    with serving(door) as started:
        yield started


def test_words_of_models_tools_and_people_ask_nobody_and_run_nothing(
    browser: Browser, server: Server, model: GatedModel, tmp_path: Path
) -> None:
    model.says(("thinking", ATTACKS), ATTACKS, {"name": "fetch_page", "arguments": {"word": ATTACKS}})
    model.says({"name": "send_mail", "arguments": {"to": ATTACKS, "text": ATTACKS}})
    model.says({"name": "ask_user", "arguments": {"question": ATTACKS, "form": "preview", "preview": ATTACKS}})
    model.says(*(line + "\n" for line in ATTACKS.splitlines()), "the end")
    window = Window.opened(browser, server)
    page = window.page
    evil = tmp_path / "<img src=x onerror=window.ran=1>.docx"
    evil.write_bytes(_document())
    page.set_input_files('input[type="file"]', evil)
    window["message"].fill(ATTACKS)
    window["send"].click()
    pending = page.locator('[data-test^="approval-"][data-status="pending"]')
    expect(pending).to_contain_text("send_mail")
    pending.locator('[data-test="approve"]').click()
    expect(pending.locator('[data-test="answer"]')).to_be_visible()
    pending.locator('[data-test="answer"]').click()
    expect(window["thread"]).to_contain_text("the end")
    expect(window["ending"]).to_be_visible()
    for toggle in page.locator('[data-test="thinking-toggle"], [data-test="call-toggle"], [data-test="unfold-text"]').all():
        if toggle.is_visible():
            toggle.click()
    for preview in page.locator('[data-test="preview"]').all():
        preview.click()
        page.keyboard.press("Escape")
    run = window["show-run"].last
    _looked_at_everywhere(window, run.get_attribute("href") if run.count() else None)
    assert page.evaluate("window.ran") is None
    assert window.foreign == []
    window.close()


def _looked_at_everywhere(window: Window, run: str | None) -> None:
    """The other pages that show the same words."""
    for path in filter(None, ("/approvals", "/runs", run, "/settings/audit")):
        page = window.another(path)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("window.ran") is None, path
        page.close()


def test_a_link_is_opened_only_when_it_is_wished_and_its_whole_address_was_seen(
    browser: Browser, server: Server, model: GatedModel
) -> None:
    model.says(f"See [the report]({ELSEWHERE}/steal?q=secret) please.")
    window = Window.opened(browser, server)
    window["message"].fill("go")
    window["send"].click()
    window["open-link"].first.click()
    expect(window["whole-address"]).to_contain_text(f"{ELSEWHERE}/steal?q=secret")
    window.page.keyboard.press("Escape")
    assert window.foreign == []
    window.close()
