"""The summary at the top of docs/fidelity.md counts each method once."""

import re

from fedkin.certificates.registry import GOLDEN, HELD_AGAINST, packaged
from fedkin.cli.listing.certificates import markdown
from fedkin.cli.listing.witnesses import ALONE, MET, READ, REST, STRONGEST_FIRST, in_short, met

TRACE = {"file": "a.npz", "deviations": {}}
APART = {"file": "b.npz", "deviations": {"models": [0.1, "theirs differs"]}}


def certificate(written_from, traces=(), code=(), forms=(), gap=1e-15):
    return {
        "reference": {"written from": written_from, HELD_AGAINST: list(code), "gap": gap},
        GOLDEN: {"traces": list(traces)},
        "closed form": {"tests": list(forms)},
        "law": {"tests": ["one", "two"]},
    }


METHODS = {
    "traced": certificate("summary", [TRACE, APART], ["a/b at 0: c.py"], ["by hand"]),
    "missed": certificate("summary", [APART], ["a/b at 0: c.py"], gap=2e-14),
    "read": certificate("authors' code", code=["a/b at 0: c.py"]),
    "paper": certificate("paper"),
    "defined": certificate("definition"),
    "told": certificate("memory", [APART]),
}


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_each_method_is_counted_once_by_its_strongest_witness() -> None:
    lines = in_short(METHODS)
    rows = {cells(line)[0]: cells(line)[1:] for line in lines if line.startswith("| ")}
    names = {name: re.findall(r"\[(\w+)\]", row[1]) for name, row in rows.items()}
    assert names[MET] == ["traced"]
    assert names[READ] == ["missed", "read"]
    assert [names[one] for one in ALONE.values()] == [["paper"], ["defined"]]
    assert names[REST] == ["told"]
    assert [int(rows[one][0]) for one in STRONGEST_FIRST] == [1, 2, 1, 1, 1]
    assert rows["all"][0] == "6"
    assert "[traced](#traced) (1 of 2 traces met)" in rows[MET][1]
    assert "[read](#read), " not in rows[READ][1]
    assert lines[0] == (
        "**In short.** 6 of 6 methods agree with a separate reference, to 2e-14 at worst."
    )
    assert lines[1].startswith("1 also meet closed forms, and each passes 2 to 2 laws")


def test_a_trace_is_met_where_nothing_of_it_deviates() -> None:
    options = {**TRACE, "file": "b.npz"}  # the same trace, with options that meet it
    assert met([TRACE, APART]) == (1, 2)
    assert met([TRACE, APART, options]) == (2, 2)
    assert met([{**TRACE, "counts": {"rounds": [1, 2, "why"]}}]) == (0, 1)
    assert in_short({})[-1] == "| all | 0 | |"


def test_the_page_begins_with_the_summary_of_today() -> None:
    methods = packaged()["methods"]
    page = markdown(packaged())
    assert "\n".join(in_short(methods)) in page[: page.index("A *reference* is")]
    counted = [int(cells(line)[1]) for line in in_short(methods) if re.match(r"\| \D+\| \d", line)]
    assert sum(counted[:-1]) == counted[-1] == len(methods)
