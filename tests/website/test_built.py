"""The built site: no broken link, nothing fetched, every public name found, search without a
server.
"""

import json
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

import fedkin
from fedkin.runs.spec import Spec
from tests.report.browser import started
from tests.views import views
from website import api_pages

pytest.importorskip("zensical", reason="the extra docs is not installed: scripts/docs installs it")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    from website import build

    work = tmp_path_factory.mktemp("built")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "WORK", work)  # two test runs beside each other do not meet
        build.build(work / build.BUILT)  # ends with an error where a link is broken
        yield work / build.BUILT


def test_every_public_name_has_an_entry(site: Path) -> None:
    entries = zlib.decompress((site / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode()
    names = {line.split(" ", 1)[0] for line in entries.splitlines()}
    assert {api_pages.place(name) for name in fedkin.__all__} <= names
    assert {module for group in api_pages.public().values() for module in group} <= names


def test_programs_find_methods_and_keys(site: Path) -> None:
    methods = {one["name"]: one for one in json.loads((site / "methods.json").read_text())}
    assert set(methods) == set(fedkin.methods.METHODS)
    assert methods["fedper"]["certificate"]["state"] in ("current", "stale")
    schema = json.loads((site / "spec.json").read_text())
    assert set(schema["properties"]) == set(Spec.model_fields)
    label = schema["$defs"]["DataSection"]["properties"]["label"]
    assert label["description"].startswith("the column of labels")
    index = (site / "llms.txt").read_text()
    pages = [line.split("](", 1)[1].split(")")[0] for line in index.splitlines() if "](" in line]
    assert len(pages) > 80
    assert [page for page in pages if not (site / page).is_file()] == []


def test_search_has_every_page(site: Path) -> None:
    found = json.loads((site / "search.json").read_text())
    text = json.dumps(found)
    assert "membership_lr" in text
    assert "--holdout-clients" in text


KINDS = {  # of pages, one each
    "home": "index.html",
    "tutorial": "tutorials/first_steps.html",
    "how-to": "howto/table.html",
    "file": "keys.html",
    "command": "reference/cli/run.html",
    "method": "methods/ditto.html",
    "module": "reference/python/fedkin.api.experiment.html",
    "error": "reference/errors/FED-301.html",
    "results": "results.html",
    "notebook": "notebooks/first_steps.html",
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as found:
        yield found


@pytest.mark.rotating
@pytest.mark.parametrize(("kind", "width", "theme"), views(KINDS))
def test_nothing_that_axe_knows_of(
    browser: Browser, site: Path, kind: str, width: int, theme: str
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
    page.goto((site / KINDS[kind]).as_uri())
    page.wait_for_selector("nav[aria-label]")
    found = Axe().run(page).response["violations"]
    assert [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_the_search_answers_without_a_server(browser: Browser, site: Path) -> None:
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    page.keyboard.press("Control+k")
    page.keyboard.type("holdout")
    page.wait_for_selector("text=/holdout/i >> nth=1", timeout=20_000)
    page.close()
