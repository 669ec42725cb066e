"""What a row says beside its own specification, and beside what its run came to when run again."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fedkin.bench.beside import ALONE, compared
from fedkin.bench.case import hyper_of
from fedkin.bench.row import Row
from fedkin.core.errors import FedkinError

NUMBERS = ("mean", "worst_decile", "bytes_up", "bytes_down", "flops", "epsilon")
NEAR = 1e-6  # relative: a sum of floats may end otherwise elsewhere


def as_specified(row: Row) -> None:
    """Raises FedkinError for a row that names another run than its specification is of."""
    content = row.content
    run = content.get("run", {})
    asked = {
        "method": content["method"].get("name"),
        "hyper": hyper_of(content),
        "seed": run.get("seed") if isinstance(run, dict) else None,
        "rounds": run.get("rounds") if isinstance(run, dict) else None,
    }
    for name, value in asked.items():
        said = getattr(row, name)
        if said != value:
            raise FedkinError(
                f"{row.id} contradicts itself: its {name} is {said}, that of its specification "
                f"{value}"
            )


def wrong(row: Row, again: Row, alone: Sequence[Row]) -> list[str]:
    """What a row says that its run does not come to.

    Args:
        row: From anywhere.
        again: The same, filled with what the run came to now.
        alone: Rows of training alone in the same file, which helped and hurt are counted beside.

    Returns:
        As "mean is 0.9990, not 0.5242"; nothing where all is true.
    """
    found = (
        [] if row.measure == again.measure else [f"measure is {row.measure}, not {again.measure}"]
    )
    for name in NUMBERS:
        said, true = getattr(row, name), getattr(again, name)
        if not _same(said, true):
            found.append(f"{name} is {_shown(said)}, not {_shown(true)}")
    return [*found, *_wrong_clients(row.clients, again.clients), *_wrong_shares(row, again, alone)]


def _wrong_clients(said: Mapping[str, float], true: Mapping[str, float]) -> list[str]:
    if set(said) != set(true):
        return [f"clients are {len(said)} that are not the {len(true)} of its run"]
    apart = [name for name in true if not _same(said[name], true[name])]
    if not apart:
        return []
    name = apart[0]
    more = "" if len(apart) == 1 else f" ({len(apart)} of {len(true)} clients are wrong)"
    return [f"client {name} is {_shown(said[name])}, not {_shown(true[name])}{more}"]


def _wrong_shares(row: Row, again: Row, alone: Sequence[Row]) -> list[str]:
    """``helped`` and ``hurt``: a file may have several searches of local, of which one will do."""
    mine = [
        one.clients
        for one in alone
        if (one.method, one.federation, one.seed) == (ALONE, row.federation, row.seed)
        and one.measure == again.measure
    ]
    true = [compared(again, clients) for clients in mine if set(clients) & set(again.clients)]
    if row.method == ALONE or not true:
        return []
    if any(_same(row.helped, one.helped) and _same(row.hurt, one.hurt) for one in true):
        return []
    last = true[-1]
    return [
        f"{name} is {_shown(getattr(row, name))}, not {_shown(getattr(last, name))}"
        for name in ("helped", "hurt")
        if not _same(getattr(row, name), getattr(last, name))
    ]


def _same(said: float | None, true: float | None) -> bool:
    if said is None or true is None:
        return said is true
    return math.isclose(said, true, rel_tol=NEAR, abs_tol=1e-9)


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    return f"{value:.4f}" if isinstance(value, float) and abs(value) < 1000 else f"{value:,.0f}"
