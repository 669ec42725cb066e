"""Every method has a whole and current certificate; what is stale or missing is told; a failure
leaves no evidence.
"""

import ast
import inspect
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from fedkin.certificates import registry as certificates
from fedkin.certificates.registry import (
    GOLDEN,
    HELD_AGAINST,
    Held,
    digest,
    held,
    lacking,
    packaged,
    paragraphs,
    readings,
    sources,
)
from fedkin.cli.listing.certificates import COLUMNS, HEADINGS, NO_TRACE, SOURCES, _row, sections
from fedkin.methods import METHODS
from fedkin.methods.fedavg import fedavg
from tests import certify, evidence
from tests.certify import ROOT, WRITTEN_FROM, golden, grouped, rounded_up
from tests.cli.command import fedkin, told

RENEW = "run scripts/certify"


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_whole_and_current_certificate(name: str) -> None:
    found = packaged()["methods"].get(name)
    assert found is not None, RENEW
    assert lacking(found) == [], RENEW
    assert found["sha256"] == digest(METHODS[name]), f"{name} has changed: {RENEW}"
    assert found["reference"]["gap"] <= 1e-6
    for key in ("readings", "deviations"):
        assert found[key] == readings(METHODS[name])[key]


def test_a_certificate_says_what_its_reference_was_written_from() -> None:
    declared = tomllib.loads(WRITTEN_FROM.read_text(encoding="utf-8"))
    against = declared.pop(HELD_AGAINST)
    assert set(declared.values()) == set(SOURCES)
    of_code = {name for name, source in declared.items() if source.endswith(" code")}
    assert of_code <= set(against) <= set(declared)
    for name, one in packaged()["methods"].items():
        assert one["reference"]["written from"] == declared[name], name
        assert one["reference"][HELD_AGAINST] == against.get(name, []), name


@pytest.mark.parametrize("name", tomllib.loads(WRITTEN_FROM.read_text("utf-8"))[HELD_AGAINST])
def test_a_reference_quotes_the_code_it_was_held_against(name: str) -> None:
    """Repository and commit are in the file that has the reference, and stand in one form."""
    shared = {"pfedme": "pfedme_cgpfl"}
    path = ROOT / "tests" / "reference" / f"{shared.get(name, name)}.py"
    quoted = (path if path.is_file() else path.with_name("partial_fl.py")).read_text("utf-8")
    for code in tomllib.loads(WRITTEN_FROM.read_text("utf-8"))[HELD_AGAINST][name]:
        found = re.fullmatch(r"([\w.-]+/[\w.-]+) at ([0-9a-f]{7})( \(.+\))?: .+", code)
        assert found, code
        assert found[1] in quoted, code
        assert found[2] in quoted, code


def test_a_reference_imports_nothing_of_fedkin() -> None:
    """It computes with NumPy, and with the other references."""
    paths = [*(ROOT / "tests" / "reference").glob("*.py")]
    assert len(paths) > 30
    for path in paths:
        named = []
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            named += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            named += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
        theirs = [one for one in named if one.split(".")[0] in ("fedkin", "torch", "tests")]
        assert [one for one in theirs if not one.startswith("tests.reference")] == [], path.name


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_paper_that_was_not_at_hand_is_no_source(name: str) -> None:
    """As the method's page, or its reference's first lines, say it."""
    texts = [ROOT / "docs" / "methods" / f"{name}.md", ROOT / "tests" / "reference" / f"{name}.py"]
    said = " ".join(" ".join(path.read_text("utf-8").split()) for path in texts if path.is_file())
    if re.search(r"[Tt]he paper('s text)? was not at hand", said):
        assert packaged()["methods"][name]["reference"]["written from"] == "memory"


def test_a_certificate_lacks_what_it_does_not_hold() -> None:
    one = {"tests": [{"id": "t", "title": "t", "cases": 1}]}
    whole = {
        "reference": {**one, "gap": 0.0, "rounds": [4], "clients": [5], "participation": [1.0]},
        "closed form": one,
        "law": one,
        "messages": {**one, "sent": [{"down": {}}], "personal": ["theta"]},
        "readings": ["so"],
        "deviations": [],
    }
    assert lacking(whole) == []
    assert lacking({**whole, "closed form": {"tests": []}}) == ["closed form"]
    assert lacking({**whole, "closed form": {"tests": [], "does not apply": "no quadratic"}}) == []
    assert lacking({**whole, "law": {"tests": []}}) == ["law"]
    assert lacking({**whole, "reference": {**whole["reference"], "gap": None}}) == [
        "the gap to the reference"
    ]
    assert len(lacking({**whole, "messages": {**whole["messages"], "personal": []}})) == 1
    assert len(lacking({**whole, "readings": []})) == 1


def test_readings_and_deviations_begin_a_line() -> None:
    """Else a certificate does not tell them."""
    folder = Path(inspect.getfile(inspect.unwrap(fedavg))).parent
    within = re.compile(r"\S[ \t]+(Reading|Deviation)s?: ")
    assert [
        file.name for file in folder.rglob("*.py") if within.search(file.read_text("utf-8"))
    ] == []


DEPARTS = re.compile(
    r"(paper|code)\b,? (\w+ly )?(adds|aligns|divides|draws|goes|halves|puts|samples|sets|sums"
    r"|takes|tests on)\b|paper's (are|round|clients|stragglers)\b|[Ee]quation \d+ (has|divides)"
    r"|[;(] ?(here|ours)\b|\bnot (built|offered)\b|[Ww]ithout the paper|place of convergence"
    r"|instead of convergence"
)
PAGES = {"fedsim": "partial_fl", "hypcluster": "ifca", "cgpfl_heur": "cgpfl"}


@pytest.mark.parametrize("name", METHODS)
def test_what_departs_from_a_paper_is_no_reading(name: str) -> None:
    """A reading fills what a paper leaves open; "the paper does this, here it is that" does not."""
    found = readings(METHODS[name])
    assert [text for text in found["readings"] if DEPARTS.search(text)] == []
    page = ROOT / "docs" / "methods" / f"{PAGES.get(name, name)}.md"
    told = page.read_text("utf-8")
    read = re.findall(r"^Readings?\b(?:(?!^#|^$).)*", told, re.MULTILINE | re.DOTALL)
    assert [text for text in read if DEPARTS.search(" ".join(text.split()))] == []
    if found["deviations"]:
        assert re.search(r"^(## )?Deviations?\b|\. Deviations?\b", told, re.MULTILINE), page


TRACE = {
    "file": "ditto.npz",
    "source": "litian96/ditto",
    "commit": "26d9b29",
    "authors": True,
    "how": "uniform",
    "errors": {"server": 2e-16, "trained models": 3e-16},
    "deviations": {"personal models": [0.046, "another order"], "alpha": [0.1, "another order"]},
}


def test_a_certificate_tells_whose_code_it_agrees_with() -> None:
    whole = {**packaged()["methods"]["ditto"], GOLDEN: {"tests": [], "traces": [TRACE]}}
    met = {**TRACE, "file": "other.npz", "deviations": {}}
    row = dict(
        zip(
            COLUMNS,
            _row(Held("ditto", "current", {**whole, GOLDEN: {"traces": [TRACE, met]}})),
            strict=True,
        )
    )
    assert row["golden"] == "1 of 2"
    assert row["sent"] == "15 parameters / 15 parameters"
    (said,) = next(
        section.said for section in sections(whole) if section.heading == HEADINGS[GOLDEN]
    )
    assert said == (
        "ditto.npz (litian96/ditto at 26d9b29, the authors’; uniform); agrees to 3e-16: "
        "server, trained models; "
        "deviation, another order: personal models 4.6e-02, alpha 1.0e-01 apart"
    )


def test_a_certificate_tells_a_count_as_one() -> None:
    counted = {**TRACE, "errors": {}, "deviations": {}, "counts": {"sets differ": [10, 20, "why"]}}
    whole = {**packaged()["methods"]["ditto"], GOLDEN: {"tests": [], "traces": [counted]}}
    (said,) = next(
        section.said for section in sections(whole) if section.heading == HEADINGS[GOLDEN]
    )
    assert said.endswith("uniform); deviation, why: 10 of 20 sets differ")
    row = dict(zip(COLUMNS, _row(Held("ditto", "current", whole)), strict=True))
    assert row["golden"] == "0 of 1"


def test_no_heading_of_a_certificate_is_empty() -> None:
    for name, one in packaged()["methods"].items():
        for section in sections(one):
            assert section.said or section.tests, f"{name}: nothing under {section.heading}"
    none = {**packaged()["methods"]["ditto"], GOLDEN: {"tests": [], "traces": []}}
    shown = {section.heading: section.said for section in sections(none)}
    assert shown[HEADINGS[GOLDEN]] == [NO_TRACE]


def test_golden_evidence_stays_where_the_traces_are_not_at_hand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    facts = {
        **TRACE,
        "errors": {"server": 1.2e-16},
        "deviations": {"personal models": [0.0463, "another order"]},
    }
    found = golden("ditto", [{"id": "t.py::test_a[x]", "title": "a", "facts": {"golden": facts}}])
    assert found["tests"] == [{"id": "t.py::test_a", "title": "a", "cases": 1}]
    assert found["traces"][0]["errors"] == {"server": 2e-16}
    assert found["traces"][0]["deviations"] == {"personal models": [0.046, "another order"]}
    before = {
        "ditto": {"sha256": digest(METHODS["ditto"]), GOLDEN: found},
        "apfl": {"sha256": "0", GOLDEN: found},
    }
    monkeypatch.setattr(certify, "CERTIFICATES", Path(__file__))  # as if written before
    monkeypatch.setattr(certify, "packaged", lambda: {"methods": before})
    assert golden("ditto", []) == found
    assert golden("apfl", []) == golden("fedavg", []) == {"tests": [], "traces": []}


def test_sources_are_those_of_the_methods_it_is_made_of() -> None:
    assert list(sources(METHODS["pfedme"])) == [
        "fedkin.methods.cgpfl",
        "fedkin.methods.parts.clusters",
        "fedkin.methods.pfedme",
    ]
    assert "fedkin.methods.parts.ppfl.mixing" in sources(METHODS["ppfl"])
    assert digest(METHODS["local"]) != digest(METHODS["fedavg"])


def test_paragraphs_of_readings() -> None:
    text = """A method.

    lr: a rate. Reading: not at the start of a line.

    Readings: one; and
    two.
    Deviation: three.

    More.
    Reading:
    """
    assert list(paragraphs(text)) == [("readings", "one; and two."), ("deviations", "three.")]


def test_a_stale_and_a_missing_certificate_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def foreign(*, lr: float) -> None:
        """Of another package."""

    one = packaged()["methods"]["fedavg"]
    file = {
        "about": {},
        "methods": {"fedavg": {**one, "sha256": "0" * 64}, "local": packaged()["methods"]["local"]},
    }
    monkeypatch.setattr(certificates, "packaged", lambda: file)
    known = {name: METHODS[name] for name in ("fedavg", "local")}
    monkeypatch.setattr(certificates, "registry", lambda: {**known, "foreign": foreign})
    assert {one.name: one.state for one in held()} == {
        "fedavg": "stale",
        "foreign": "none",
        "local": "current",
    }
    assert (
        "STALE: the method's source is no longer"
        in fedkin("methods", "fedavg", "--certificate").stdout
    )
    assert "no certificate" in fedkin("methods", "foreign", "--certificate").stdout
    states = {
        one["name"]: one["state"]
        for one in json.loads(fedkin("methods", "--certificate", "--json").stdout)
    }
    assert states["foreign"] == "none"


def test_the_command_tells_certificates() -> None:
    whole = fedkin("methods", "--certificate", "perfed-ckt").stdout
    assert whole.startswith("comet")
    assert "worst gap" in whole
    assert "tests/methods/test_comet.py::test_comet" in whole
    (one,) = json.loads(fedkin("methods", "comet", "--certificate", "--json").stdout)
    assert one["messages"]["sent"][0]["up"] == {"predictions": 36}
    assert "ppfl" in fedkin("methods", "--certificate").stdout
    rule = fedkin("methods", "median", "--certificate").stdout
    assert rule.startswith("median")
    assert "test_the_median_of_known_vectors" in rule
    assert "Messages" not in rule
    assert told("methods", "nonsense", "--certificate").startswith("unknown method 'nonsense'")
    assert [one["name"] for one in json.loads(fedkin("methods", "comet", "--json").stdout)] == [
        "comet"
    ]
    assert (
        "| comet | unlabeled public set, classes | centroids / predictions |"
        in fedkin("methods", "--markdown").stdout
    )


# --- evidence


class Item:
    """As much of a pytest item as the hooks ask for: markers from the nearest node on, and
    parameters.
    """

    def __init__(
        self, *markers: tuple[str, ...], nodes: tuple[str, ...] = (), **params: object
    ) -> None:
        self.nodeid, self.name, self.originalname = (
            "t.py::test_some_law[x]",
            "test_some_law[x]",
            "test_some_law",
        )
        self.markers = zip(nodes or ["test"] * len(markers), markers, strict=True)
        self.callspec = SimpleNamespace(params=params)
        self.obj = lambda: None

    def iter_markers_with_node(self, name: str) -> list[tuple[str, SimpleNamespace]]:
        return [(node, SimpleNamespace(args=args)) for node, args in self.markers]


def test_what_a_marker_claims() -> None:
    assert evidence.claims(Item(("a", "b", "law"))) == [("a", "law"), ("b", "law")]  # type: ignore[arg-type]
    assert evidence.claims(Item(("law",), name="a")) == [("a", "law")]  # type: ignore[arg-type]
    assert evidence.claims(Item(("law",), case="a, c = 1")) == [("a", "law")]  # type: ignore[arg-type]
    near = Item(("a", "closed form"), ("a", "b", "reference"), nodes=("test", "module"))
    assert evidence.claims(near) == [("a", "closed form"), ("b", "reference")]  # type: ignore[arg-type]
    for wrong in (Item(("a", "lore")), Item(("law",), other="a"), Item(())):
        with pytest.raises(pytest.UsageError):
            evidence.claims(wrong)  # type: ignore[arg-type]


def test_titles() -> None:
    item = Item(("a", "law"))
    assert evidence.title(item) == "some law"  # type: ignore[arg-type]
    item.obj.__doc__ = "One thing\n    is another. More.\n\n    Rest."
    assert evidence.title(item) == "One thing is another"  # type: ignore[arg-type]


TESTS = """
import pytest
from tests.methods.federation import agree


@pytest.mark.certifies("a", "b", "reference")
def test_passes(record_property):
    record_property("personal", "theta")
    agree("a", [1.0, 4.0], [1.0, 4.5], 1.0)


@pytest.mark.certifies("a", "law")
def test_is_skipped():
    pytest.skip("not here")


def test_is_no_evidence():
    pass
"""


def session(folder: Path, text: str) -> Path:
    """Evidence of a session of these tests."""
    folder.mkdir()
    (folder / f"test_{folder.name}.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = certifies: evidence\n")
    out = folder / "evidence.json"
    out.write_text("{}")  # of an older session
    pytest.main(
        [
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            f"--rootdir={folder}",
            f"--certify={out}",
            str(folder),
        ],
        plugins=[evidence],
    )
    return out


def test_evidence_is_what_passed_and_nothing_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence.federation, "WORST", dict.fromkeys("ab", 0.0))
    found = json.loads(session(tmp_path / "first", TESTS).read_text())
    (one,) = found["a"]["reference"]
    assert (one["title"], one["facts"]) == ("passes, round by round", {"personal": "theta"})
    assert found["a"]["law"] == []
    assert set(found) == {"a", "b"}
    assert not session(
        tmp_path / "second", TESTS + "\n\ndef test_fails():\n    assert False\n"
    ).exists()


SPREAD = """
import os
import pytest
from tests.methods.federation import agree


@pytest.mark.certifies("a", "reference")
@pytest.mark.parametrize("case", range(12, 0, -1))
def test_each(case, record_property):
    record_property("sent", [case])
    agree("a", [1.0], [1.0 + 1e-12 * case], 1.0)
"""
DIES = """

def test_dies():
    os._exit(1)
"""


@pytest.mark.slow  # three pytests of their own, two of them with workers
def test_workers_hand_over_their_evidence(tmp_path: Path) -> None:
    """The file is the same bit for bit; a worker that goes without a word leaves none."""

    def found(name: str, text: str, workers: int) -> Path:
        folder = tmp_path / str(workers) / name
        folder.mkdir(parents=True)
        (folder / "test_it.py").write_text(text)
        (folder / "pytest.ini").write_text("[pytest]\nmarkers = certifies: evidence\n")
        out = folder / "evidence.json"
        words = ["-p", "no:cacheprovider", "-p", "tests.evidence", "-n", str(workers), "-q"]
        words += [f"--rootdir={folder}", f"--certify={out}", "test_it.py"]
        paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
        )
        assert (done.returncode == 0) == (text == SPREAD), done.stdout + done.stderr
        return out

    one, two = (found("whole", SPREAD, workers).read_bytes() for workers in (0, 2))
    assert one == two
    tests = json.loads(one)["a"]["reference"]
    assert [test["facts"]["sent"] for test in tests] == [[case] for case in range(12, 0, -1)]
    assert json.loads(one)["a"]["gap"] == pytest.approx(1.2e-11, rel=1e-3)
    assert not found("dies", SPREAD + DIES, 2).exists()


def test_tests_are_grouped_by_function_and_gaps_rounded_up() -> None:
    tests = [{"id": f"t.py::test_x[{k}]", "title": "x"} for k in "ba"] + [
        {"id": "t.py::test_a", "title": "a"}
    ]
    assert grouped(tests) == [
        {"id": "t.py::test_a", "title": "a", "cases": 1},
        {"id": "t.py::test_x", "title": "x", "cases": 2},
    ]
    assert [rounded_up(gap) for gap in (3.2e-16, 4e-16, 9.5e-10, 0.0, None)] == [
        4e-16,
        4e-16,
        1e-9,
        0.0,
        None,
    ]
