"""The notebooks run, and are kept with what came out; what shows itself in one."""

from pathlib import Path
from typing import Any

import nbformat
import pytest

from fedkin import Experiment
from fedkin.experiment.notebook import Bar, bar
from fedkin.experiment.progress import Tally
from website.notebooks import executed, pages, read, sources


def forms(outputs: Any) -> list[list[str]]:
    """The kinds of what a cell shows: text, HTML, …"""
    return [sorted(one.get("data", [])) for one in outputs]


@pytest.mark.rotating
@pytest.mark.parametrize("source", sources(), ids=lambda path: path.stem)
def test_it_runs_and_what_is_kept_is_of_its_cells(source: Path, tmp_path: Path) -> None:
    kept = nbformat.read(source.with_suffix(".ipynb"), as_version=4)
    assert [cell.source for cell in kept.cells] == [cell.source for cell in read(source).cells], (
        "run python -m website.notebooks"
    )
    done = executed(source, tmp_path)
    for cell, before in zip(done.cells, kept.cells, strict=True):
        if cell.cell_type == "code":
            forms = [
                [sorted(one.get("data", [])) for one in each.outputs] for each in (cell, before)
            ]
            assert forms[0] == forms[1], cell.source


@pytest.mark.parametrize("source", sources(), ids=lambda path: path.stem)
def test_all_its_cells_can_be_run_again(source: Path) -> None:
    """A run's folder with a name of its own would be there the second time."""
    assert "out=" not in source.read_text("utf-8")


def test_there_are_four_and_each_is_a_page_with_outputs() -> None:
    assert [path.stem for path in sources()] == ["figure", "first_steps", "hospital", "phones"]
    text = pages()["notebooks/first_steps.md"]
    assert "After this page you can" in text
    assert "<svg" in text
    assert "<progress" in text
    assert "\nditto.compare(local)\n```" in text


def test_what_shows_itself(tmp_path: Path) -> None:
    experiment = Experiment("local", clients=4, rounds=1, engine="inprocess")
    assert "<b>Experiment</b>" in experiment._repr_html_()
    result = experiment.run(out=tmp_path / "run")
    assert "<svg" in result._repr_html_()
    shown = result._population._repr_html_()
    assert "<td>clients</td><td>4</td>" in shown
    assert "<td>10 classes</td>" in shown


def test_the_bar_is_drawn_over_itself() -> None:
    spec = Experiment("fedavg", rounds=7).spec
    tally = Tally(spec, "a <b> & c")
    drawn: list[str] = []

    def show(text: str) -> object:
        drawn.append(text)
        return drawn.append

    with Bar(tally, show):
        tally.round = 3
    assert 'max="7" value="0"' in drawn[0]
    assert 'max="7" value="3"' in drawn[-1]
    assert "a &lt;b&gt; &amp; c" in bar(tally)
