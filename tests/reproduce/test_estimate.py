"""What a row will take."""

import pytest
import torch

from fedkin.reproduce import estimate as estimating
from fedkin.reproduce.estimate import COUNTED, MEASURED, PROBE, Costs, costs, estimate, total_of
from fedkin.reproduce.outcome import Outcome
from fedkin.reproduce.pages import cells, lines, notes
from fedkin.reproduce.preset import SCALES, names, preset


def test_the_probe_has_one_thread_whatever_the_environment_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(
        estimating, "_training", lambda: float(seen.append(torch.get_num_threads()) or 1.0)
    )
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert estimating.probe() == 1.0
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == [1, 1, 1]


def test_estimates_follow_the_rounds_and_the_machine() -> None:
    row = preset("cgpfl-figure-4").rows[0]
    known = costs()[row.name]
    one, eleven = (estimate(row, {"run.rounds": rounds}).seconds for rounds in (1, 11))
    assert one == pytest.approx(known.once + known.finish)
    assert eleven - one == pytest.approx(10 * known.round)
    assert estimate(row, speed=2.0).seconds == pytest.approx(estimate(row).seconds / 2)
    assert estimate(row, seeds=3).seconds == pytest.approx(estimate(row).seconds * 3)
    assert PROBE in costs()
    assert set(costs()) <= {
        PROBE,
        *(r.name for n in names() for s in SCALES for r in preset(n, s).rows if r.spec),
    }


def test_an_estimate_from_another_rows_run_is_told_as_rough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = preset("ppfl-figure-8").rows[:2]
    known = {first.name: Costs(2.0, 1.0, 0.0, MEASURED), second.name: Costs(4.0, 2.0, 0.0, COUNTED)}
    monkeypatch.setattr(estimating, "costs", lambda: known)
    sure, rough = (estimate(row, {"run.rounds": 11}) for row in (first, second))
    assert [str(sure), str(rough), str(total_of([sure, rough]))] == [
        "12.0 s",
        "~ 24.0 s",
        "~ 36.0 s",
    ]
    told = [
        Outcome(row, [], {}, None, [], "not here", found)
        for row, found in ((first, sure), (second, rough))
    ]
    assert "Not run, 2 rows, processor time ~ 36.0 s: not here" in notes(told)
    assert [line["estimate_is_rough"] for line in lines(told)] == [False, True]
    assert [cells(line)[6] for line in lines(told)] == ["12.0 s", "~ 24.0 s"]
