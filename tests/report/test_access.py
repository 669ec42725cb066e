"""Pages for everybody: no violation that axe knows of, at two widths, by day and by night."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from fedkin.audit.page import write_page as write_audit
from fedkin.bench.leaderboard.page import write_page as write_bench
from fedkin.report.comparison.compare import comparison
from fedkin.report.comparison.page import write_comparison
from fedkin.report.page.report import write_report
from fedkin.reproduce.claim import Claim, register
from fedkin.reproduce.claim_page import write as write_claims
from fedkin.reproduce.claim_runs import CaseDetails, JudgedClaim
from fedkin.reproduce.claim_verdict import OPEN, VERDICTS, Finding
from fedkin.reproduce.estimate import Estimate
from tests.bench.made_rows import with_own_method
from tests.cli.command import fedkin
from tests.report.browser import opened, started
from tests.report.records_for_tests import write, write_large
from tests.views import views

KINDS = ["report", "many", "panel", "compare", "bench", "reproduce", "audit", "claims"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    runs = [write(folder / "local", method="local"), write(folder / "comet")]
    many = write_large(folder / "apart" / "many", 70, 3)
    return {
        "report": write_report(runs[1]),
        "many": write_report(many),
        "compare": write_comparison(comparison(runs), folder / "compare.html"),
        "bench": write_bench(with_own_method(), folder / "bench.html"),
        "reproduce": reproduced(folder / "reproduction"),
        "panel": write_report(write_large(folder / "large" / "panel", 5001, 2)),
        "audit": write_audit(AUDITED, runs[1]),
        "claims": claimed(folder / "claims"),
    }


def claimed(folder: Path) -> Path:
    """The page of a paper's claims; some of them were measured, as was made up."""
    found = register("comet")
    judged = [_judged(claim, number) for number, claim in enumerate(found.claims)]
    folder.mkdir()
    asked = "fedkin reproduce claims comet --scale small --seeds 3"
    return next(p for p in write_claims(found, judged, "small", asked, folder) if "html" in p.name)


def _judged(claim: Claim, number: int) -> JudgedClaim:
    seen = Finding(VERDICTS[number % 4], -1.25 * number, -12.5, 3.75 * number, 3, "by its seeds")
    findings = [seen if number % 3 else Finding(OPEN) for _ in claim.cases]
    cost = Estimate(3.0, False)
    details = (CaseDetails("", (), ()),) * len(findings)
    return JudgedClaim(
        claim, findings[0].verdict, ("mnist, dnn",), tuple(findings), (), cost, details
    )


AUDITED = {
    "method": "ditto",
    "rounds": 12,
    "clients": 6,
    "of": 20,
    "false_alarms": 0.01,
    "confidence": 0.95,
    "membership": [
        {
            "target": target,
            "attack": "likelihood ratio",
            "auc": 0.61,
            "hits": 0.034,
            "members": 1200,
            "others": 300,
        }
        for target in ("personal", "global", "message")
    ],
    "labels": {"correlation": 0.43, "clients": 6},
    "properties": {
        "kind": "parameters",
        "has": 0.81,
        "most": 0.5,
        "chance": 0.2,
        "alike": None,
        "clients": 6,
    },
    "kinds": [
        {"kind": kind, "seen": seen, "lower": lower, "upper": None, "delta": 1e-5}
        for kind, seen, lower in (("parameters", "a sum", 1.25), ("notes", "nothing", None))
    ],
    "inversion": {"closest": 0.999, "rebuilt": 0.4, "chance": 0.01, "auc": 0.7, "clients": 6},
    "canaries": [
        {
            "target": "message",
            "canaries": 240,
            "right": 70,
            "guesses": 80,
            "lower": 1.25,
            "upper": upper,
            "delta": 1e-5,
        }
        for upper in (None, 8.0)
    ],
}


def reproduced(folder: Path) -> Path:
    """The page of a paper's figure, in closed form."""
    done = fedkin("reproduce", "comet-figure-2", "--out", folder)
    assert done.exit_code == 0, done.output
    return folder / "comet-figure-2.html"


def violations(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]


@pytest.mark.rotating
@pytest.mark.parametrize(("kind", "width", "theme"), views(KINDS))
def test_nothing_that_axe_knows_of(
    browser: Browser, pages: dict[str, Path], kind: str, width: int, theme: str
) -> None:
    with opened(browser, pages[kind], width=width, theme=theme) as page:
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert paper == ("rgb(255, 255, 255)" if theme == "light" else "rgb(23, 25, 29)")


@pytest.mark.rotating
def test_a_chosen_client_is_no_violation_either(browser: Browser, pages: dict[str, Path]) -> None:
    with opened(browser, pages["report"], client="b", width=390, theme="dark") as page:
        assert page.locator("#own h2").inner_text() == "Client b"
        assert violations(page) == []


def test_axe_finds_what_is_wrong(browser: Browser, pages: dict[str, Path]) -> None:
    """The check itself can fail."""
    with opened(browser, pages["report"]) as page:
        page.evaluate("document.documentElement.removeAttribute('lang')")
        page.evaluate("document.querySelector('.lead').style.color = '#eee'")
        assert {one.split(":")[0] for one in violations(page)} == {
            "html-has-lang",
            "color-contrast",
        }


def test_the_keyboard_is_enough(browser: Browser, pages: dict[str, Path]) -> None:
    with opened(browser, pages["report"]) as page:
        page.locator("#table tbody button").nth(1).focus()
        page.keyboard.press("Enter")
        assert page.locator("#own h2").inner_text() == "Client b"
        pressed = page.locator("#table tbody button[aria-pressed=true]").all_inner_texts()
        assert pressed == ["b"]
        page.keyboard.press("Enter")
        assert page.locator("#own").is_hidden()
        head = page.locator("#table thead button", has_text="personal accuracy")
        head.focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        sorted_ = page.locator("#table thead th[aria-sort=descending]").inner_text()
        assert sorted_ == "personal accuracy"
        assert page.locator("#table tbody th").first.inner_text() == "c"


def test_the_table_is_searched_and_saved(
    browser: Browser, pages: dict[str, Path], tmp_path: Path
) -> None:
    with opened(browser, pages["report"]) as page:
        page.locator("#table .filter").fill("CNN")
        assert page.locator("#table tbody tr:visible th").all_inner_texts() == ["c"]
        assert page.locator("#table .count").inner_text() == "1 of 3"
        with page.expect_download() as begun:
            page.locator("#table .csv").click()
        begun.value.save_as(tmp_path / "x.csv")
        head, only = (tmp_path / "x.csv").read_text().splitlines()
        assert head.startswith("client,personal accuracy,95% interval,")
        assert only.startswith("c,0.8,")


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("kind", "begins"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("csv", b"client,rank,view,value")]
)
def test_a_figure_is_saved(
    browser: Browser, pages: dict[str, Path], tmp_path: Path, kind: str, begins: bytes
) -> None:
    with opened(browser, pages["report"]) as page:
        with page.expect_download() as begun:
            page.locator(f"#clients [data-save={kind}]").click()
        assert begun.value.suggested_filename == f"clients.{kind}"
        begun.value.save_as(tmp_path / "x")
        assert (tmp_path / "x").read_bytes().startswith(begins)


def test_names_are_no_formulas(browser: Browser, pages: dict[str, Path]) -> None:
    with opened(browser, pages["report"]) as page:
        given = [["=1+1", -0.5, "a,b", 'q"', "+x", None]]
        assert page.evaluate("rows => csvOf(rows)", given) == '\'=1+1,-0.5,"a,b","q""",\'+x,\r\n'


def test_the_summary_is_one_page(browser: Browser, pages: dict[str, Path]) -> None:
    with opened(browser, pages["report"], theme="dark") as page:
        page.evaluate("document.documentElement.classList.add('one-page')")
        whole = page.pdf(format="A4")
        assert whole.count(b"/Type /Page\n") == 1
        page.emulate_media(media="print")
        assert page.locator("#clients").is_visible()
        assert page.locator("#communication").is_hidden()


def test_a_figure_is_saved_light_from_a_dark_page_with_what_was_chosen(
    browser: Browser, pages: dict[str, Path], tmp_path: Path
) -> None:
    """A figure is for a paper."""
    saved = {}
    for theme in ("light", "dark"):
        with opened(browser, pages["report"], "c", theme=theme) as page:  # type: ignore[arg-type]
            with page.expect_download() as begun:
                page.locator("#clients [data-save=svg]").click()
            begun.value.save_as(tmp_path / theme)
            saved[theme] = re.sub(r"(clip|gradient)_?\d+", "", (tmp_path / theme).read_text())
    assert saved["dark"] == saved["light"]
    assert 'fill="white"' in saved["dark"]
