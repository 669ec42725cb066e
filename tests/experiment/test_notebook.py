"""A run's progress in a notebook."""

import sys
from types import SimpleNamespace

import pytest

from fedkin.experiment import notebook
from fedkin.experiment.notebook import Bar, bar, in_notebook
from fedkin.experiment.progress import Tally
from fedkin.runs.record import Record
from tests.engine.small import small


def record(number):
    return Record(number, "round", [0], [], {}, {}, {}, {}, {"total": 1.0})


@pytest.mark.parametrize(
    ("shell", "shown"),
    [(SimpleNamespace(kernel=1), True), (SimpleNamespace(), False), (None, False)],
)
def test_only_a_kernel_shows_html(shell, shown, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert in_notebook() == shown
    monkeypatch.delitem(sys.modules, "IPython")
    assert not in_notebook()


def test_it_is_put_up_once_and_drawn_over_not_too_often(monkeypatch) -> None:
    now = [100.0]
    monkeypatch.setattr(notebook.time, "monotonic", lambda: now[0])
    shown, drawn = [], []

    def show(text):
        shown.append(text)
        return drawn.append

    with Bar(Tally(small(run__rounds=9), "a run"), show) as display:
        assert (len(shown), len(drawn)) == (1, 0)
        now[0] += 0.1
        display.update(record(1))
        assert drawn == []  # too soon
        now[0] += 0.2
        display.update(record(2))
        assert len(drawn) == 1
        assert 'max="9" value="2"' in drawn[0]
        display.update(record(3))
    assert len(shown) == 1
    assert 'value="3"' in drawn[-1]  # the end is always drawn


def test_what_a_run_is_called_is_no_html() -> None:
    told = bar(Tally(small(), "<script> & more"))
    assert "&lt;script&gt; &amp; more" in told
    assert "<script>" not in told
    assert 'aria-label="rounds"' in told


def test_what_lasts_is_drawn_while_it_lasts(monkeypatch) -> None:
    """The next record takes its line away again: nobody would ever see it."""
    now = [100.0]
    monkeypatch.setattr(notebook.time, "monotonic", lambda: now[0])
    drawn: list[str] = []
    with Bar(Tally(small(run__rounds=9), "a run"), lambda text: drawn.append) as display:
        display.update(record(1))
        for done in range(20):
            now[0] += 0.1
            display.show_progress("finishing clients", done, 20)
        assert "finishing clients: 1" in drawn[-1]
        assert len(drawn) < 10  # not too often
