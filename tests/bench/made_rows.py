"""Rows as a suite leaves them, made up: three federations, methods of known order, two seeds."""

import random

from fedkin.bench.row import Row
from tests.bench.test_verify import a_row

SETTINGS = ("digits-dirichlet", "digits-shards", "har")
LEVELS = {
    "local": 0.6,
    "fedavg": 0.5,
    "ditto": 0.7,
    "apfl": 0.8,
    "fedrep": 0.65,
    "centralized": 0.9,
}
BYTES = {"local": 0, "fedavg": 4000, "ditto": 4000, "apfl": 9000, "fedrep": 3000}
OWN = "my_methods:slower"
ALL = ("rounds", "bytes", "compute")


def made_rows() -> list[Row]:
    """``apfl`` is first everywhere; ``ditto`` needs twice the work."""
    rng, found = random.Random(5), []
    for setting in SETTINGS:
        for method, level in LEVELS.items():
            plans = [(10, ALL)] if method != "ditto" else [(10, ALL[:2]), (5, ALL[2:])]
            for rounds, budgets in plans:
                found += [
                    _row(rng, setting, method, level, seed, rounds, budgets) for seed in (0, 1)
                ]
    return [*found, _missing()]


def with_own_method() -> list[Row]:
    """The same, and a method that is not fedkin's: the scores of ditto, for twice the FLOPs."""
    rows = made_rows()
    own = [
        row.model_copy(update={"method": OWN, "id": f"0{row.id[1:]}", "flops": 2 * row.flops})
        for row in rows
        if row.method == "ditto"
    ]
    return [*rows, *own]


def _row(
    rng: random.Random,
    setting: str,
    method: str,
    level: float,
    seed: int,
    rounds: int,
    budgets: tuple[str, ...],
) -> Row:
    values = {str(k): round(level + rng.uniform(-0.1, 0.1), 6) for k in range(12)}
    sent = BYTES.get(method, 5000)
    told = {
        "suite": "small",
        "setting": setting,
        "method": method,
        "seed": seed,
        "rounds": rounds,
        "budgets": budgets,
        "clients": values,
        "mean": sum(values.values()) / 12,
        "worst_decile": min(values.values()),
        "hyper": {"lr": 0.1},
        "bytes_up": sent,
        "bytes_down": sent,
        "flops": rounds * 1e6,
        "hurt": None if method == "local" else 0.25,
        "versions": {"fedkin": "0.1.0"},
    }
    return a_row(id=f"{rng.getrandbits(48):012x}", **told)


def _missing() -> Row:
    told = {"suite": "small", "method": "fedbn", "missing": "no <batch> norm", "mean": None}
    return a_row(id="ffffffffffff", setting="har", budgets=(), clients={}, **told)
