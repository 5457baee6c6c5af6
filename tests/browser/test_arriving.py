"""Arriving at the page: the printed address logs in and leaves no token behind; language and appearance follow the person."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.window import Window
from tests.http import Server


def test_the_printed_address_logs_in_and_the_token_stays_nowhere(window: Window) -> None:
    assert "token" not in window.page.url
    kept = window.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, history.state, document.cookie])")
    assert window.server.token not in kept
    assert "zeno_login" not in kept, "the page cannot read the login"
    window.page.go_back()
    window.page.go_forward()
    assert "token" not in window.page.url
    assert not any(window.server.token in url for url in window.requests)


def test_the_printed_address_logs_in_where_the_page_is_open_already(browser: Browser, server: Server) -> None:
    page = browser.new_page(locale="en-US")
    page.goto(server.origin)
    page.wait_for_selector('[data-test="login"]')
    page.evaluate("window.here = 1")
    for _ in range(2):
        with page.expect_response("**/api/v1/login"):
            page.goto(f"{server.origin}/#token={server.token}")
        page.wait_for_selector("main#content")
        assert page.evaluate("[window.here, location.hash]") == [1, ""]
    page.get_by_role("link", name="Runs").click()
    page.wait_for_url("**/runs")
    assert server.token not in page.evaluate("JSON.stringify(history.state)")
    page.close()


def test_whoever_has_no_login_is_asked_for_one_and_a_wrong_token_is_said_to_be_wrong(browser: Browser, server: Server) -> None:
    page = browser.new_page(locale="en-US")
    page.goto(server.origin)
    token = page.locator('[data-test="login-token"] input')
    token.fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    token.fill(server.token)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_selector("main#content")
    page.close()


@pytest.mark.parametrize(
    ("wished", "spoken", "word"), [("zh-CN", "zh-CN", "对话"), ("zh-TW", "zh-CN", "对话"), ("fr", "en-US", "Chat")]
)
def test_the_language_is_the_browsers(browser: Browser, server: Server, wished: str, spoken: str, word: str) -> None:
    window = Window.opened(browser, server, language=wished)
    assert window.page.evaluate("document.documentElement.lang") == spoken
    expect(window.page.get_by_role("navigation").first).to_contain_text(word)
    window.close()


def test_the_language_is_switched_without_loading_anew_and_stays(window: Window) -> None:
    window.page.evaluate("window.here = 1")
    window["language"].click()
    window.page.get_by_text("简体中文", exact=True).last.click()
    expect(window.page.get_by_role("navigation").first).to_contain_text("对话")
    assert window.page.evaluate("window.here") == 1
    window.page.reload()
    expect(window.page.get_by_role("navigation").first).to_contain_text("对话")


def test_the_appearance_is_the_systems_until_it_is_chosen(browser: Browser, server: Server) -> None:
    window = Window.opened(browser, server, dark=True)
    ground = "getComputedStyle(document.body).backgroundColor"
    assert window.page.evaluate(ground) == "rgb(20, 24, 29)"
    window["theme"].click()
    window.page.get_by_text("Light", exact=True).last.click()
    expect(window.page.locator("html")).to_have_attribute("data-theme", "light")
    assert window.page.evaluate(ground) == "rgb(255, 255, 255)"
    window.close()


def test_no_script_runs_that_is_not_the_pages_own(window: Window) -> None:
    window.page.evaluate("""() => {
        const script = document.createElement('script')
        script.textContent = 'window.ran = true'
        document.body.append(script)
        document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.ran = true">')
    }""")
    assert window.page.evaluate("window.ran") is None
    assert any(re.search("Content Security Policy", fault) for fault in window.faults)
    window.faults.clear()
