"""All charts of who learns from whom, of what the method told."""

import pytest

from fedkin.report.charts import collaboration as module
from fedkin.report.charts.collaboration import collaboration_figures
from fedkin.report.collaboration import read_collaboration
from fedkin.report.records import opened
from tests.report.collaboration_examples import noted

LABELS = ["zero", "one"]


def drawn(folder, notes):
    with opened(noted(folder, notes)) as run:
        return [
            figure.name for figure in collaboration_figures(run, read_collaboration(run), LABELS)
        ]


def each(name, *values):
    return [(at, k, name, value) for at in (1, 2) for k, value in enumerate(values)]


@pytest.mark.parametrize(
    ("notes", "names"),
    [
        ([], []),
        (each("cluster", 0, 1, 1), {"clusters", "groups"}),
        (each("pull", 0.5, 0.25, 0.75), {"note-pull"}),
        ([(1, -1, "K", 3), (2, -1, "K", 4)], {"note-K"}),
        (each("alpha", [0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.1, 0.9, 0.0]), None),
    ],
)
def test_what_was_told_is_drawn_and_nothing_else(notes, names, tmp_path) -> None:
    found = drawn(tmp_path / "run", notes)
    if names is None:
        assert any("alpha" in name for name in found)
    else:
        assert set(names) <= set(found)
        assert bool(found) == bool(names)
    assert len(found) == len(set(found))  # names are anchors


def test_so_many_numbers_are_drawn(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(module, "NUMBERS", 2)
    notes = [one for name in "abcd" for one in each(name, 1.0, 2.0, 3.0)]
    notes += [(at, -1, name, at) for name in "xyz" for at in (1, 2)]
    found = [name for name in drawn(tmp_path / "run", notes) if name.startswith("note-")]
    assert len(found) == 4  # two of the clients, two of the federation
    assert {name for name in found if name[-1] in "abcd"} == set(found[:2])
