"""The epoch that validates best, of losses that are given."""

from typing import Any

import pytest
import torch

from fedkin.core.method import ClientContext
from fedkin.methods.parts import best_epoch as module
from fedkin.methods.parts.best_epoch import best_epoch, tuned_epochs

NAN = float("nan")


class Data:
    """A client whose parameters count its epochs, and whose ranks stand in a list."""

    decay = 0.5

    def __init__(self, ranks: list[tuple[float, float]]) -> None:
        self.ranks, self.asked = ranks, list[tuple[str, int]]()

    def batches(self, purpose: str, epochs: int) -> None:
        self.asked.append((purpose, epochs))

    def rank(self, w: dict[str, torch.Tensor], split: str) -> tuple[float, float]:
        assert split == "val"
        return self.ranks[int(w["epochs run"])]


@pytest.fixture(autouse=True)
def rates(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """An epoch counts itself; the rates that were used."""
    used: list[float] = []

    def scan(step: object, w: dict[str, torch.Tensor], batches: object, rate: float) -> Any:
        used.append(rate)
        return {"epochs run": w["epochs run"] + 1}

    monkeypatch.setattr(module, "scan", scan)
    return used


def kept(ranks: list[tuple[float, float]]) -> tuple[int, Data]:
    data: Any = Data(ranks)
    context: ClientContext = data
    found = best_epoch({"epochs run": torch.tensor(0)}, context, len(ranks) - 1, 0.25)
    assert int(found["parameters"]["epochs run"]) == found["epochs"]
    return found["epochs"], data


@pytest.mark.parametrize(
    ("ranks", "epoch"),
    [
        ([(3.0, 0), (1.0, 0), (2.0, 0)], 1),
        ([(1.0, 0), (3.0, 0), (2.0, 0)], 0),  # the model as received was the best
        ([(1.0, 5.0), (1.0, 4.0), (1.0, 6.0)], 1),  # of equals by the measure the lower loss
        ([(2.0, 2.0), (1.0, 1.0), (1.0, 1.0)], 1),  # of equals by both the fewer epochs
        ([(NAN, NAN), (NAN, NAN), (NAN, NAN)], 2),  # no validation rows: the last
    ],
)
def test_the_least_rank_wins(ranks: list[tuple[float, float]], epoch: int) -> None:
    assert kept(ranks)[0] == epoch


def test_every_epoch_has_its_own_batches_and_the_decayed_rate(rates: list[float]) -> None:
    _, data = kept([(3.0, 0), (2.0, 0), (1.0, 0)])
    assert data.asked == [("finetune 0", 1), ("finetune 1", 1)]
    assert rates == [0.125, 0.125]


def test_what_is_recorded() -> None:
    assert tuned_epochs({"parameters": {}, "epochs": 3}) == {"tuned_epochs": 3}
    assert tuned_epochs({"parameters": {}}) == {}
    assert tuned_epochs({}) == {}
