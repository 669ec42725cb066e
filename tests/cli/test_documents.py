"""What README.md and CONTRIBUTING.md show works as it stands there."""

import json
import re
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from fedkin import Experiment, run
from fedkin.certificates.registry import packaged
from fedkin.cli.listing.certificates import markdown
from fedkin.cli.listing.choosing import answers, table
from fedkin.cli.listing.witnesses import MET, strongest
from fedkin.methods import METHODS
from fedkin.runs.spec import parse, read
from tests.cli.command import fedkin, once

ROOT = Path(__file__).parents[2]
COMMANDS = [
    line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("fedkin run")
]


def block(document: str, language: str) -> str:
    """The first block of a language in a document."""
    found = re.search(rf"```{language}\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_readme_are_understood(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = []
    monkeypatch.setattr("fedkin.cli.run.train", lambda spec, work: trained.append(spec))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiment.toml").write_text(block("README.md", "toml"))
    result = fedkin(*shlex.split(command, comments=True)[1:])
    assert result.exit_code == 0, result.output
    assert len(trained) == 1


def test_no_documented_command_gives_an_option_twice() -> None:
    """Which tests that shorten a command would not see."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for command in re.findall(r"^ *\$? ?fedkin ([a-z].*)$", text, re.MULTILINE):
            words = command.partition(" # ")[0].split()
            assert once(words) == words, (page, command)


def demos(folder: Path, seeds: int) -> list[Path]:
    """The README's two runs with so many seeds, those of a seed side by side."""
    folders = []
    for seed in range(seeds):
        for name, words in (("local", ["--method", "local"]), ("personal", [])):
            folders.append(folder / f"{name}-{seed}")
            started = fedkin("run", "--seed", str(seed), *words, "--out", str(folders[-1]))
            assert started.exit_code == 0, started.output
    return folders


def difference(folders: list[Path]) -> tuple[str, dict[str, Any]]:
    """What the README says of a comparison, and all of it."""
    told = fedkin("compare", *map(str, folders), "--json").stdout
    found = json.loads(told)["against"][0]
    mean, low, high = (f"{100 * found[key]:+.1f}" for key in ("difference", "low", "high"))
    return f"{mean} points [{low}, {high}]", found


def test_the_numbers_of_the_readme_are_those_of_its_demo(tmp_path: Path) -> None:
    said = (ROOT / "README.md").read_text()
    folders = demos(tmp_path, 1)
    by_images: list[float] = []
    for folder, view, name in (
        (folders[0], "personal", "each client alone"),
        (folders[1], "global", "one model for all"),
        (folders[1], "personal", "personal models"),
    ):
        shown = json.loads(fedkin("show", str(folder), "--json").stdout)["headline"][view]["final"]
        numbers = (shown["mean"], *shown["interval"], shown["weighted"], shown["worst_decile"])
        mean, low, high, weighted, worst = (f"{100 * value:.1f}" for value in numbers)
        by_images.append(float(weighted))
        line = next(one for one in said.splitlines() if one.startswith(f"| {name}"))
        assert line.endswith(f"| {mean} % [{low}, {high}] | {weighted} % | {worst} % |")
    linear = json.loads(fedkin("show", str(folders[1]), "--json").stdout)["baselines"]["linear"]
    numbers = (linear["mean"], *linear["interval"], linear["weighted"], linear["worst_decile"])
    mean, low, high, weighted, worst = (f"{100 * value:.1f}" for value in numbers)
    line = next(one for one in said.splitlines() if one.startswith("| a linear model of each"))
    assert line.endswith(f"| {mean} % [{low}, {high}] | {weighted} % | {worst} % |")
    assert f"weighted by images it is {by_images[2] - by_images[0]:.1f} points" in said
    words, found = difference(folders)
    assert words in said
    assert f"{found['better']:.0%}".replace("%", " %") + " of the clients are better" in said


@pytest.mark.slow
def test_the_readme_says_what_three_seeds_of_its_demo_give(tmp_path: Path) -> None:
    words, _ = difference(demos(tmp_path, 3))
    assert words in (ROOT / "README.md").read_text()


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("README.md", "{} methods, each compared round by round"),
        ("docs/bench.md", "[all {} methods](#small)"),
        ("docs/results.md", "of all {} methods, with longer runs"),
        ("docs/privacy.md", "has {} of them audited"),
    ],
)
def test_pages_count_the_methods_that_there_are(page: str, words: str) -> None:
    said = " ".join((ROOT / page).read_text().split())
    assert words.format(len(METHODS)) in said


def test_the_readme_counts_the_methods_that_meet_numbers_of_public_code() -> None:
    traced = sum(strongest(one) == MET for one in packaged()["methods"].values())
    said = (ROOT / "README.md").read_text()
    assert f"{traced} also meet numbers from public code of others" in said


def test_the_readme_says_what_the_references_were_written_from() -> None:
    words = {5: "five", 6: "six", 7: "seven", 8: "eight"}
    found = Counter(one["reference"]["written from"] for one in packaged()["methods"].values())
    said = (ROOT / "README.md").read_text()
    assert f"{words[found['paper']]} of these are from the paper's text" in said
    assert f"{words[found['memory']]} from memory with public code at hand" in said


def test_the_readme_is_as_fast_as_the_table_of_the_performance_page() -> None:
    page = (ROOT / "docs" / "performance.md").read_text()
    pfl = re.findall(r"^\| [^|]+ \| [\d.]+ \| [\d.]+ \| ([\d.]+) \| [\d.]+, ", page, re.MULTILINE)
    flower = re.findall(r"^\| [^|]+ \| Flower on Ray \| [\d.]+ \| ([\d.]+) \|", page, re.MULTILINE)
    assert (len(pfl), len(flower)) == (2, 3)  # linear, hidden layer, and for Flower the CNN
    one, two = (
        f"{min(ratios, key=float)} to {max(ratios, key=float)} times as fast as"
        for ratios in (pfl, flower)
    )
    assert f"with one process each, {one} pfl; with two workers, {two} Flower on Ray" in page
    said = (ROOT / "README.md").read_text()
    linear, hidden, cnn = flower
    assert f"with one process each, {one} pfl-research's" in said
    assert (
        f"with two workers on two cores {hidden} to {linear} times as fast as Flower's simulation; "
        f"with a CNN {cnn} times"
    ) in said


def test_the_specification_of_the_readme_is_valid(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text(block("README.md", "toml"))
    content, text = read(tmp_path / "experiment.toml")
    spec, hints = parse(content, text)
    assert (spec.method.options, spec.run.rounds, hints) == ({"clusters": 3, "lam": 2.0}, 30, [])


def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = block("README.md", "python").replace("rounds=30", "rounds=2, engine='inprocess'")
    found: dict[str, Any] = {}
    exec(code, found)
    assert len(found["result"].metrics) > 0
    assert found["model"](torch.zeros(3, 1, 8, 8)).shape == (3, 10)


def test_the_method_of_contributing_runs_and_is_fedavg_without_its_momentum(tmp_path: Path) -> None:
    assert (
        block("CONTRIBUTING.md", "python")
        == (ROOT / "examples" / "foreign_method" / "fedavgm.py").read_text()
    )
    space: dict[str, Any] = {}
    exec(block("CONTRIBUTING.md", "python"), space)
    settings = {"clients": 4, "rounds": 2, "lr": 0.1, "steps": 5, "model": "mlr"}

    def model(method: Any) -> torch.Tensor:
        result = run(
            Experiment(method=method, **settings), out=tmp_path / str(len(list(tmp_path.iterdir())))
        )
        return torch.cat([p.detach().flatten() for p in result.personal(1).parameters()])

    plain, moved = (
        model(space["fedavgm"](lr=0.1, beta=0.0)),
        model(space["fedavgm"](lr=0.1, beta=0.8)),
    )
    averaged = run(
        Experiment("fedavg", engine="inprocess", **settings), out=tmp_path / "fedavg"
    ).personal(1)
    torch.testing.assert_close(
        plain, torch.cat([p.detach().flatten() for p in averaged.parameters()])
    )
    assert not torch.allclose(plain, moved)
    with pytest.raises(Exception, match="greater than or equal to 0"):
        space["fedavgm"](lr=0.1, beta=-1)


def test_the_pages_are_those_of_the_certificates() -> None:
    assert set(packaged()["methods"]) <= set(METHODS), "run scripts/certify"
    assert (ROOT / "docs" / "fidelity.md").read_text() == markdown(packaged()), (
        "run scripts/certify"
    )
    page = (ROOT / "docs" / "needs.md").read_text()
    for block in (table(list(METHODS)), answers(list(METHODS))):
        assert block in page, "run scripts/certify"
