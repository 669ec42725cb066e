"""A suite that takes seconds: three uneven clients of digits, two rounds."""

from pathlib import Path
from typing import Any

from fedkin.bench.suite import parsed

SPEC: dict[str, Any] = {
    "data": {"name": "digits"},
    "split": {"name": "dirichlet", "alpha": 1.0, "train": 0.2, "val": 0.1, "test": 0.1},
    "model": {"name": "mlr"},
    "train": {"batch_size": 20, "epochs": 1},
    "run": {"clients": 3, "rounds": 4},
}
CONTENT: dict[str, Any] = {
    "title": "Tiny",
    "methods": ["ditto"],
    "trials": 2,
    "rates": [0.0001, 0.2],
    "seeds": [3],
    "settings": {"digits": {"title": "Digits", "spec": SPEC}},
}


def tiny(**changes: Any) -> Any:
    return parsed({**CONTENT, **changes}, "tiny")


def quiet(text: str) -> None:
    del text


def tiny_request(out: Path, **changes: Any) -> Any:
    from fedkin.bench.request import BenchRequest

    suite = changes.pop("suite", None) or tiny()
    return BenchRequest("tiny", suite, out, 1, **changes)
