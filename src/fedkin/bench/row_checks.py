"""Checks of a row: against its own specification, and against what a new run of it comes to."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fedkin.bench.case import hyper_of
from fedkin.bench.gain_over_local import with_helped_and_hurt
from fedkin.bench.row import Row
from fedkin.bench.suite import ALONE, SHARED
from fedkin.core.errors import FedkinError

NUMBERS = ("mean", "worst_decile", "bytes_up", "bytes_down", "flops", "epsilon")
NEAR = 1e-6  # relative: a sum of floats may end otherwise elsewhere


def check_against_spec(row: Row) -> None:
    """Refuse a row that names another run than its specification is of.

    Args:
        row: From anywhere.

    Raises:
        FedkinError: Its method, seed, rounds or data are not those of its specification.
    """
    content = row.content
    run = content.get("run", {})
    asked = {
        "method": content["method"].get("name"),
        "hyper": hyper_of(content),
        "seed": run.get("seed") if isinstance(run, dict) else None,
        "rounds": run.get("rounds") if isinstance(run, dict) else None,
        **{part: _name(content.get(part, {})) for part in ("data", "split", "model")},
    }
    for name, value in asked.items():
        claimed = getattr(row, name)
        if claimed != value:
            raise FedkinError(
                f"{row.id} contradicts itself: its {name} is {claimed}, that of its specification "
                f"{value}"
            )


def _name(section: Any) -> Any:
    return section.get("name", "") if isinstance(section, dict) else None


def mismatches(row: Row, again: Row, beside: Sequence[Row]) -> list[str]:
    """What a row says that its run does not come to.

    Args:
        row: From anywhere.
        again: The same, filled with what the run came to now.
        beside: The rows of its file: helped and hurt are counted beside training alone, budgets
            are those of fedavg.

    Returns:
        As "mean is 0.9990, not 0.5242"; nothing where all is true.
    """
    differences = (
        [] if row.measure == again.measure else [f"measure is {row.measure}, not {again.measure}"]
    )
    for name in NUMBERS:
        claimed, true = getattr(row, name), getattr(again, name)
        if not _same(claimed, true):
            differences.append(f"{name} is {_shown(claimed)}, not {_shown(true)}")
    return [
        *differences,
        *_wrong_clients(row.clients, again.clients),
        *_wrong_shares(row, again, beside),
        *_wrong_budgets(row, again, beside),
    ]


def _wrong_clients(claimed: Mapping[str, float], true: Mapping[str, float]) -> list[str]:
    if set(claimed) != set(true):
        return [f"clients are {len(claimed)} that are not the {len(true)} of its run"]
    apart = [name for name in true if not _same(claimed[name], true[name])]
    if not apart:
        return []
    name = apart[0]
    more = "" if len(apart) == 1 else f" ({len(apart)} of {len(true)} clients are wrong)"
    return [f"client {name} is {_shown(claimed[name])}, not {_shown(true[name])}{more}"]


def _wrong_shares(row: Row, again: Row, alone: Sequence[Row]) -> list[str]:
    """``helped`` and ``hurt``: a file may have several searches of local, of which one will do."""
    mine = [
        one.clients
        for one in alone
        if (one.method, one.federation, one.seed) == (ALONE, row.federation, row.seed)
        and one.measure == again.measure
    ]
    true = [
        with_helped_and_hurt(again, clients)
        for clients in mine
        if set(clients) & set(again.clients)
    ]
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


def _wrong_budgets(row: Row, again: Row, beside: Sequence[Row]) -> list[str]:
    """Budgets that the run does not keep; a file may have several searches of fedavg, of which one
    will do.
    """
    every = [
        one
        for one in beside
        if (one.method, one.federation) == (SHARED, row.federation) and not one.missing
    ]
    mine = [one for one in every if one.seed == row.seed] or every
    if row.method == SHARED or not mine:
        return []
    exceeded = [_exceeded(row, again, one) for one in mine]
    return min(exceeded, key=len)


def _exceeded(row: Row, again: Row, fedavg: Row) -> list[str]:
    differences = []
    if "rounds" in row.budgets and again.rounds != fedavg.rounds:
        differences.append(
            f"rounds are no equal rounds: {again.rounds}, and {fedavg.rounds} of fedavg"
        )
    if row.slack != fedavg.slack:
        differences.append(f"slack is {_shown(row.slack)}, and {_shown(fedavg.slack)} of fedavg")
    used = {"bytes": (again.bytes, fedavg.bytes), "compute": (again.flops, fedavg.flops)}
    for budget, (own, whole) in used.items():
        # nobody stretches training alone, which sends nothing
        if budget in row.budgets and row.method != ALONE and own > whole * (1 + fedavg.slack):
            differences.append(
                f"equal {budget} are exceeded: {_shown(own)}, and {_shown(whole)} of fedavg"
            )
    return differences


def _same(claimed: float | None, true: float | None) -> bool:
    if claimed is None or true is None:
        return claimed is true
    return math.isclose(claimed, true, rel_tol=NEAR, abs_tol=1e-9)


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    return f"{value:.4f}" if isinstance(value, float) and abs(value) < 1000 else f"{value:,.0f}"
