"""Rows that nobody asked for are shown with the seeds that are finished."""

from fedkin.reproduce import running
from fedkin.reproduce.finished_rows import FinishedRun, FinishedRuns, key_of
from fedkin.reproduce.outcome import joined
from fedkin.reproduce.preset import preset
from fedkin.reproduce.row_spec import spec_of
from fedkin.reproduce.same_settings import digest_of

ROW = next(row for row in preset("ppfl-figure-8", "small").rows if row.runner == "experiment")


def kept(settings: str) -> FinishedRun:
    return FinishedRun(
        ROW.name, 2, {value.measure: 1.0 for value in ROW.values}, 1.0, settings, "f", "v"
    )


def held(one: FinishedRun) -> FinishedRuns:
    return {key_of(one): one}


def test_a_line_of_other_settings_hides_no_finished_seed(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(running, "_over", lambda folder: folder.name.endswith(("seed0", "seed1")))
    monkeypatch.setattr(running, "outcomes", lambda rows, seeds, *rest, train: iter([seeds]))
    assert running.known(ROW, 5, tmp_path, {}) == 2
    assert running.known(ROW, 5, tmp_path, {}, elsewhere=held(kept("others"))) == 2
    mine = kept(digest_of(spec_of(ROW, 2, {})))
    assert running.known(ROW, 5, tmp_path, {}, elsewhere=held(mine)) == 3


def test_a_line_that_lacks_a_number_is_shown_and_does_not_stand_for_the_run(
    monkeypatch, tmp_path
) -> None:
    row = next(row for row in preset("ppfl-figure-5", "small").rows)
    settings = digest_of(spec_of(row, 0, {}))
    lacks = FinishedRun(row.name, 0, {"accuracy": 90.0}, 60.0, settings, "f", "v")
    shown = running.known(row, 1, tmp_path, {}, elsewhere=held(lacks))
    assert (shown.numbers, shown.taken) == ({"accuracy": [90.0], "scalars": []}, (0,))
    run: list[int] = []

    def runner(row, seeds, *_):
        run.extend(seeds)
        return joined(row, [])

    monkeypatch.setitem(running.RUNNERS, "experiment", runner)
    for told in (lacks, lacks._replace(numbers={"accuracy": 90.0, "scalars": 5.0})):
        list(running.outcomes([row], 1, tmp_path, {}, 1.0, held(told)))
    assert run == [0]  # the first alone
    other = lacks._replace(numbers={"rounds": 7.0})
    assert running.known(row, 1, tmp_path, {}, elsewhere=held(other)).missing == "not run yet"
