"""A real headless Chromium, and pages opened in it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")


def executable() -> str | None:
    """Debian's chromium, or what FEDKIN_CHROMIUM says."""
    return os.environ.get("FEDKIN_CHROMIUM") or next(
        (path for name in NAMES if (path := shutil.which(name))), None
    )


@contextmanager
def started() -> Iterator[Browser]:
    path = executable()
    if path is None:
        pytest.skip("no chromium: install Debian's package, or set FEDKIN_CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(
    browser: Browser,
    path: Path,
    client: str = "",
    width: int = 1100,
    theme: Literal["light", "dark"] = "light",
) -> Iterator[Page]:
    """The page after all charts are drawn.

    Fails if anything was written to the console, or fetched.
    """
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on(
        "request",
        lambda request: said.append(request.url) if not request.url.startswith(LOCAL) else None,
    )
    page.goto(path.absolute().as_uri() + (f"#client={client}" if client else ""))
    page.wait_for_function("document.documentElement.dataset.drawn !== undefined", timeout=30_000)
    yield page
    assert said == []
    page.close()


LOCAL = ("file:", "data:", "blob:")
