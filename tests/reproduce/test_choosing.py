"""benchmarks/choosing.py: every row is a valid experiment, and the pages' commands are
those rows. benchmarks/tree.py: the page has today's numbers.
"""

import json
import shlex
from pathlib import Path
from statistics import fmean, geometric_mean, stdev

import pytest

from benchmarks.choosing import TABLES
from benchmarks.own_losses import beside, runs_of
from benchmarks.own_losses import measured as cases
from benchmarks.own_truth import DEFAULT
from benchmarks.page import END
from benchmarks.tree import COLUMNS, SAYS, WAYS, block, measured, tree
from fedkin.doctor.candidates import METHODS, TUNED, split_name
from fedkin.runs.spec import Spec
from fedkin.setup.arguments.options import specification
from fedkin.setup.build import method_of
from tests.cli.command import fedkin

ROOT = Path(__file__).parents[2]
SHOWN = {
    line.strip()
    for page in ("comet", "ppfl")
    for line in (ROOT / "docs" / "methods" / f"{page}.md").read_text().splitlines()
    if line.strip().startswith("fedkin run examples/") and "CHANGES" in line
}


@pytest.mark.parametrize("name", TABLES)
def test_rows_are_valid(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for changes in TABLES[name].rows.values():
        method_of(specification(TABLES[name].spec, {}, [*TABLES[name].base, *changes])[0])


@pytest.mark.parametrize("command", sorted(SHOWN))
def test_commands_of_the_pages(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[Spec] = []
    monkeypatch.setattr("fedkin.cli.run.train", lambda spec, work: trained.append(spec))
    monkeypatch.chdir(ROOT)
    for changes in ([], ["run.rounds=7"]):
        words = shlex.split(
            command.replace("--set CHANGES", " ".join(f"--set {change}" for change in changes))
        )
        result = fedkin(*words[1:])
        assert result.exit_code == 0, result.output
        rows = [
            specification(t.spec, {}, [*t.base, *changes, "run.seed=0"])[0] for t in TABLES.values()
        ]
        assert trained[-1] in rows, command


def test_the_tree_of_the_page_has_todays_numbers() -> None:
    page = (ROOT / "docs" / "choosing.md").read_text()
    assert f"<!-- tree -->\n{block()}\n{END}" in page
    assert all(len(line) <= 80 for line in block().splitlines())


def test_the_branches_are_the_ways_of_the_doctor_and_have_its_methods() -> None:
    """What the doctor answers is found in the tree by the same word."""
    assert set(SAYS) == set(WAYS) == set(METHODS)
    for way, methods in METHODS.items():
        own = {split_name(method)[0] for method in methods if (way, method) != ("offset", TUNED)}
        assert own <= set(WAYS[way]), way
        assert any(f"─ {way}: " in line for line in tree())


@pytest.mark.parametrize("method", ["persfl", "pfedme", "ifca", "fedavg"])
def test_the_numbers_of_the_tree_follow_from_the_rows(method: str) -> None:
    """By arithmetic on the JSON lines: gains are differences of means over seeds."""
    (line,) = (one for one in tree() if one.replace("│", " ").split()[0] == method)
    *gains, hurt, _, compute, _ = line.replace("│", " ").split()[1:]
    shares, cost = [], []
    for gain, federation in zip(gains, COLUMNS.values(), strict=True):
        suite, setting = federation.split("/")
        lines = (ROOT / "docs" / "leaderboard" / f"{suite}.jsonl").read_text().splitlines()
        scores: dict[str, dict[int, dict[str, float]]] = {method: {}, "local": {}}
        flops: dict[str, dict[int, float]] = {method: {}, "fedavg": {}}
        for row in map(json.loads, lines):  # a newer search stands below an older one
            if row["setting"] == setting and row["method"] in scores and "rounds" in row["budgets"]:
                scores[row["method"]][row["seed"]] = row["clients"]
            if row["setting"] == setting and row["method"] in flops and "rounds" in row["budgets"]:
                flops[row["method"]][row["seed"]] = row["flops"]
        mine, alone = scores[method], scores["local"]
        assert mine.keys() == alone.keys() == {0, 1, 2}
        means = [fmean(fmean(by[seed].values()) for seed in by) for by in (mine, alone)]
        assert gain == f"{100 * (means[0] - means[1]):+.1f}"
        worse = [[mine[seed][one] < alone[seed][one] for one in mine[seed]] for seed in mine]
        shares.append(fmean(map(fmean, worse)))
        cost.append(fmean(flops[method].values()) / fmean(flops["fedavg"].values()))
    assert float(hurt) == pytest.approx(100 * fmean(shares), abs=0.51)  # printed whole
    assert compute == f"{geometric_mean(cost):.1f}"


def test_what_the_page_says_of_one_method_follows_from_the_rows() -> None:
    page = " ".join((ROOT / "docs" / "choosing.md").read_text().split())
    found = measured()
    everywhere = set.intersection(*(set(by) for by in found.values())) - {"local"}
    gain = {name: fmean(by[name].gain for by in found.values()) for name in everywhere}
    hurt = {name: fmean(by[name].hurt for by in found.values()) for name in everywhere}
    best, second = sorted(everywhere, key=lambda name: -gain[name])[:2]
    assert (
        f"`{best}` hurts the fewest clients of the {len(everywhere)} methods with rows in all "
        f"six columns (the tree shows thirteen of them), has the best mean "
        f"({100 * gain[best]:+.1f})"
    ) in page
    assert len(everywhere & {line.replace("│", " ").split()[0] for line in tree()[1:]}) == 13
    assert min(everywhere, key=lambda name: hurt[name]) == best
    lead = [100 * (by[best].gain - by[second].gain) for by in found.values()]
    error = stdev(lead) / len(lead) ** 0.5
    assert (
        f"`{second}` has the second best mean ({100 * gain[second]:+.1f}), {fmean(lead):.1f} "
        f"behind with a standard error of {error:.1f} over the columns"
    ) in page
    few = next(column for column, one in zip(found, lead, strict=True) if one == max(lead))
    assert f"The lead of `{best}` on `{second}` is of one column, {few}." in page
    assert sum(lead) - max(lead) < 0  # in the others together it is behind
    bench = " ".join((ROOT / "docs" / "bench.md").read_text().split())
    standard = bench.partition("<!-- standard -->")[2]
    alike = "Friedman: the methods may all be alike (p = 0.051)"
    assert f"equal rounds are of 36 methods over 5 federations. {alike}" in standard
    assert "(Friedman's test, p = 0.051)" in page
    for method in ("ditto", "finetune"):
        few, many = (found[column][method].gain for column in ("HAR10", "HAR30"))
        assert (
            f"`ditto` and `finetune` are {-100 * few:.0f} points below `local` after ten rounds "
            f"with ten subjects, and {100 * many:.0f} above it after sixty with thirty"
        ) in page
    share = {
        column: f"{100 * by['fedmd'].bytes / by['fedavg'].bytes:.0f} %"
        for column, by in found.items()
        if "fedmd" in by
    }
    assert share.keys() == {"digits", "HAR10", "FEMN."}
    assert (
        f"{share['HAR10']} of `fedavg`'s bytes on UCI HAR, {share['FEMN.']} on FEMNIST, "
        f"{share['digits']} on the small images of Digits"
    ) in page


def test_what_the_page_says_of_the_default_follows_from_the_runs() -> None:
    page = " ".join((ROOT / "docs" / "choosing.md").read_text().split())
    found = [beside(runs_of(case)) for case in cases()]
    best, default = ([points[name] for points in found] for name in ("persfl", DEFAULT))
    apart = [one - other for one, other in zip(best, default, strict=True)]
    error = stdev(apart) / len(apart) ** 0.5
    assert f"On {len(found)} cases of" in page
    assert (
        f"it ended {fmean(best):.1f} points above the better of `local` and `fedavg`, and the "
        f"default {fmean(default):.1f}. The difference of {fmean(apart):.1f} has a standard error "
        f"of {error:.1f}."
    ) in page
