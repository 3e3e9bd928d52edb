"""Headless Chromium, driven by selenium, with a log of every request and every console message."""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from outpoint.posterior import Posterior
from outpoint.report import render_report

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--force-prefers-reduced-motion",
    "--window-size=1280,900",
)


def missing(what: str) -> None:
    """Skip, and say so; where a browser is required, fail."""
    text = f"NOT TESTED IN A BROWSER: {what} is missing (apt-get install chromium chromium-driver)"
    if os.environ.get("CI") or os.environ.get("OUTPOINT_REQUIRE_BROWSER"):
        pytest.fail(text)
    pytest.skip(text)


@pytest.fixture(scope="session")
def driver() -> Iterator[Any]:
    try:
        from selenium import webdriver
    except ImportError:
        missing("the package selenium")
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    program = shutil.which("chromedriver")
    if browser is None or program is None:
        missing("Chromium" if browser is None else "chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=program)
    running = webdriver.Chrome(options=options, service=service)
    yield running
    running.quit()


render = cache(render_report)
"""Many tests look at the same few posteriors."""


class Page:
    """A report in the browser, and what the tests ask of it."""

    def __init__(self, driver: Any, path: Path) -> None:
        self.driver = driver
        driver.get_log("browser")
        driver.get_log("performance")
        driver.get(path.as_uri())

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def one(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def texts(self, selector: str) -> list[str]:
        """What the elements contain, whether or not they are in view."""
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector
        )

    def set_value(self, selector: str, value: str, event: str = "input") -> None:
        self.run(
            "const e = document.querySelector(arguments[0]); e.value = arguments[1];"
            "e.dispatchEvent(new Event(arguments[2]))",
            selector,
            value,
            event,
        )

    def focused(self) -> Any:
        return self.driver.switch_to.active_element

    def messages(self) -> list[str]:
        """Everything on the console: errors, and violations of the policy."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        events = [json.loads(entry["message"]) for entry in self.driver.get_log("performance")]
        return [
            event["message"]["params"]["request"]["url"]
            for event in events
            if event["message"]["method"] == "Network.requestWillBeSent"
        ]


@pytest.fixture
def saved(driver: Any, tmp_path: Path) -> Callable[[str], bytes]:
    """Waits for a file that the page saves, and reads it."""
    folder = tmp_path / "saved"
    folder.mkdir()
    where = {"behavior": "allow", "downloadPath": str(folder)}
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", where)

    def read(name: str) -> bytes:
        file = folder / name
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            if file.exists() and file.stat().st_size and not list(folder.glob("*.crdownload")):
                content = file.read_bytes()
                file.unlink()
                return content
            time.sleep(0.05)
        raise AssertionError(f"{name} was not saved; there is {list(folder.iterdir())}")

    return read


@pytest.fixture
def open_report(driver: Any, tmp_path: Path) -> Iterator[Callable[[Posterior], Page]]:
    """Opens the report of a posterior from disk; at the end the console must be empty."""
    pages = []

    def open_page(posterior: Posterior) -> Page:
        path = tmp_path / "report.html"
        path.write_bytes(render(posterior).encode("utf-8", "replace"))
        page = Page(driver, path)
        pages.append(page)
        return page

    yield open_page
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    for page in pages:
        assert page.messages() == []
