"""Certificates for people: in the terminal, and as a page."""

import io

import pytest
from rich.console import Console

from fedkin.certificates.registry import GOLDEN, HELD_AGAINST, Held
from fedkin.cli.listing.certificates import (
    COLUMNS,
    HEADINGS,
    SOURCES,
    markdown,
    overview,
    sections,
    whole,
)


def proof(id, title="it holds", cases=1):
    return {"id": id, "title": title, "cases": cases}


EVERYWHERE = proof("tests/laws/test_all.py::test_all")
SENT = {"down": {"parameters": 9}, "up": {}, "setup": {"coefficients": 3}, "hyper": {}, "copies": 2}
CERTIFICATE = {
    "sources": ["methods/a.py"],
    "sha256": "ab12",
    "reference": {
        "written from": "memory",
        "gap": 3.2e-15,
        "rounds": [3, 4],
        "clients": [5],
        "participation": [0.4, 1.0],
        "tests": [proof("r", cases=4), proof("s")],
    },
    "closed form": {"tests": [proof("c")]},
    "law": {"tests": [proof("l"), EVERYWHERE]},
    "messages": {"tests": [EVERYWHERE], "sent": [SENT], "personal": ["none: all", "head 7"]},
    "readings": [],
    "deviations": ["a <b> | c"],
}
OTHER = {
    **CERTIFICATE,
    "reference": {**CERTIFICATE["reference"], "gap": None},
    "closed form": {"tests": [], "does not apply": "it draws"},
    "law": {"tests": [EVERYWHERE]},
}
PACKAGED = {"about": {"numpy": "NumPy 2"}, "methods": {"a": CERTIFICATE, "b": OTHER}}


def printed(renderable):
    out = io.StringIO()
    Console(file=out, width=260).print(renderable)
    return out.getvalue()


def test_what_a_reference_was_written_from_is_told() -> None:
    told = f"written from {SOURCES['memory']}"
    assert told in printed(whole(Held("a", "current", CERTIFICATE), {}))
    page = markdown(PACKAGED)
    assert f"- {told}" in page
    assert "| [a](#a) | memory | 3e-15 |" in page


def test_the_code_a_reference_was_held_against_is_told() -> None:
    reference = {**CERTIFICATE["reference"], HELD_AGAINST: ["a/b at 0123456: c.py"]}
    one = {**CERTIFICATE, "reference": reference}
    assert "held against a/b at 0123456: c.py" in printed(whole(Held("a", "current", one), {}))
    page = markdown({**PACKAGED, "methods": {"a": one, "b": OTHER}})
    assert "- held against a/b at 0123456: c.py\n" in page


def test_the_page_says_what_a_method_was_held_against() -> None:
    traces = [{"file": "x.npz", "source": "a/b", "commit": "0", "authors": True, "how": ""}]
    traces = [{**trace, "errors": {}, "deviations": {"w": [0.1, "why"]}} for trace in traces]
    beside = {**OTHER, GOLDEN: {"tests": [], "traces": traces}}
    page = markdown({**PACKAGED, "methods": {"a": CERTIFICATE, "b": beside}})
    assert "\nHeld against a reference (memory), 1 closed form, 2 laws.\n" in page
    met = "1 golden trace (0 met in everything)"
    assert f"\nHeld against a reference (memory), {met}, 1 law.\n" in page


def test_what_a_certificate_says_in_order() -> None:
    found = {section.heading: section for section in sections(CERTIFICATE)}
    assert list(found)[: len(HEADINGS) - 1] == [
        HEADINGS[kind] for kind in HEADINGS if kind != GOLDEN
    ]
    assert found[HEADINGS["reference"]].said == [
        f"written from {SOURCES['memory']}",
        "worst gap 3e-15 in float64; 3, 4 rounds, 5 clients, participation 0.4, 1, 5 cases",
    ]
    assert found[HEADINGS["messages"]].said == [
        "down 9 parameters, 2 different ones a round; up nothing; before the first round "
        "3 coefficients up",
        "personal: none: all",
        "personal, in no message: head 7",
    ]
    assert found["Readings"].said == ["none declared"]
    other = {section.heading: section.said for section in sections(OTHER)}
    assert other[HEADINGS["reference"]][1:] == ["not compared"]
    assert other[HEADINGS["closed form"]] == ["does not apply: it draws"]


@pytest.mark.parametrize(("state", "symbol"), [("current", "yes"), ("stale", "STALE")])
def test_a_row_a_method(state, symbol) -> None:
    text = printed(overview([Held("a", state, CERTIFICATE), Held("c", "none", {})]))
    row = next(line for line in text.splitlines() if line.strip().startswith("a "))
    assert row.split() == [
        *("a", symbol, "memory", "3e-15", "3,", "4", "5", "0.4,", "1", "–", "1", "2"),
        *("9", "parameters", "/", "nothing"),
    ]
    nobody = next(line for line in text.splitlines() if line.strip().startswith("c "))
    assert nobody.split() == ["c", "none", *["–"] * (len(COLUMNS) - 2)]


def test_one_whole_has_its_tests_and_sources() -> None:
    text = printed(whole(Held("a", "current", CERTIFICATE), PACKAGED["about"]))
    assert "it holds [r, 4 cases]" in text
    assert "it holds [s]" in text
    assert "sources methods/a.py, sha256 ab12" in text
    assert text.rstrip().endswith("NumPy 2")
    assert "sha256" not in printed(whole(Held("c", "none", {}), {}))


def test_what_all_methods_pass_is_said_once() -> None:
    page = markdown(PACKAGED)
    assert page.count(EVERYWHERE["id"]) == 1
    head, _, rest = page.partition("## Tests that every method passes")
    assert EVERYWHERE["id"] in rest
    assert "| [a](#a) | memory | 3e-15 |" in head
    assert "| [b](#b) | memory | – |" in head
    assert "- NumPy 2" in head
    alone = markdown({**PACKAGED, "methods": {"a": CERTIFICATE}})
    assert alone.count(EVERYWHERE["id"]) == 2  # of one method nothing is everybody's
