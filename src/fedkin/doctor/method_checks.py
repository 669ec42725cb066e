"""What every method must keep, tried on a small federation: whoever writes one learns in seconds
whether the engine can trust it.
"""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError
from fedkin.experiment.resume import resume
from fedkin.experiment.run import experiment, run
from fedkin.experiment.training import Interrupted
from fedkin.report.frames import metrics
from fedkin.report.summary import summary
from fedkin.runs.record import Record
from fedkin.setup.arguments.typed_method import typed_method
from fedkin.setup.build import base_method

Content = dict[str, dict[str, Any]]  # {section: {key: value}}, as in TOML

CLIENTS, ROUNDS = 6, 4
STOP = 2  # the round after which a run is interrupted
TOLERANCE = 1e-3  # of losses of two ways to compute a step in float32


class Check(NamedTuple):
    """One rule and whether it holds; None where it does not apply, for the reason in ``found``."""

    rule: str
    holds: bool | None
    found: str


def check_method(text: str) -> list[Check]:
    """Run a method on ``digits`` again and again, and compare what must be the same.

    Args:
        text: As after ``--method``: a name, or ``package.module:function:key=value`` of one's own,
            which is imported.

    Returns:
        A verdict each rule.

    Raises:
        FedkinError: There is no such method, or it cannot be run at all.
        Interrupted: After Ctrl-C.
    """
    content = _small_experiment(*typed_method(text))
    with tempfile.TemporaryDirectory(prefix="fedkin-check-") as scratch:
        place = Path(scratch)
        plain = run(experiment(content), place / "plain")
        return [
            _tried(rule, partial(check, content, plain, place / str(number)))
            for number, (rule, check) in enumerate(RULES.items())
        ]


def _small_experiment(name: str, options: dict[str, Any]) -> Content:
    """What has all that the method needs, and takes a second."""
    method = {"name": name, **options}
    needs = base_method(experiment({"method": method})).needs
    everyone = needs.full_participation or needs.pooled
    return {
        "method": method,
        "data": {"name": "digits"},
        "split": {"name": "dirichlet"},
        "model": {"name": "dnn" if needs.head else "mlr"},
        "train": {"steps": 3},
        "public": {"labeled": needs.public == "labeled"},
        "run": {
            "clients": CLIENTS,
            "rounds": ROUNDS,
            "commit_every": 0.0,  # so that a run that is interrupted has all its rounds
            "participation": 1.0 if everyone else 0.5,
        },
        "engine": {"name": "inprocess", "compile": "trace"},
    }


def _tried(rule: str, check: Callable[[], str]) -> Check:
    try:
        different = check()
    except Interrupted:
        raise
    except NotApplicable as reason:
        return Check(rule, None, str(reason))
    except FedkinError as error:
        return Check(rule, False, str(error))
    return Check(rule, not different, different)


class NotApplicable(Exception):
    """The rule does not apply to this method."""


def _again(content: Content, plain: Path, folder: Path) -> str:
    return _same_bits(plain, run(experiment(content), folder))


def _workers(content: Content, plain: Path, folder: Path) -> str:
    spec = experiment(content, engine__name="processes", engine__workers=2)
    return _same_bits(plain, run(spec, folder))


def _resumed(content: Content, plain: Path, folder: Path) -> str:
    def stop(record: Record) -> None:
        if record.round == STOP:
            raise Stopped

    try:
        run(experiment(content), folder, progress=stop)
    except Stopped:
        resume(folder)
    return _same_bits(plain, folder)


class Stopped(Exception):
    """A check interrupts its own run."""


def _replayed(content: Content, plain: Path, folder: Path) -> str:
    return _differs(plain, run(experiment(content, engine__compile="never"), folder), TOLERANCE)


def _masked(content: Content, plain: Path, folder: Path) -> str:
    spec = experiment(content, privacy__secure_aggregation=True)
    try:
        masked = run(spec, folder)
    except Interrupted:
        raise
    except FedkinError as reason:
        raise NotApplicable(str(reason).partition(": try ")[0]) from None
    return _same_bits(plain, masked)


RULES: dict[str, Callable[[Content, Path, Path], str]] = {
    "the same seed gives the same bits again": _again,
    "two worker processes give the bits of one process": _workers,
    "an interrupted run that is resumed gives the bits of one that was not": _resumed,
    "a recorded step computes what plain PyTorch does": _replayed,
    "sums under secure aggregation give the bits of plain sums": _masked,
}


def _same_bits(one: Path, other: Path) -> str:
    """An empty text where two runs ended with the same bits, else where they part."""
    if summary(one)["fingerprint"] == summary(other)["fingerprint"]:
        return ""
    return _differs(one, other, 0.0) or "some tensors of their last states differ"


def _differs(one: Path, other: Path, tolerance: float) -> str:
    """An empty text where two runs have the same losses, else the first that differ."""
    key = ["round", "client", "view", "split"]
    both = metrics(one).merge(metrics(other), on=key, suffixes=("", "_other"))
    gap = (both["loss"] - both["loss_other"]).abs()
    apart = both[gap > tolerance * (1 + both["loss"].abs())].sort_values(key)
    if apart.empty:
        return ""
    first = apart.iloc[0]
    return (
        f"round {first['round']}, client {first['name']}: loss {first['loss']:.6g} and "
        f"{first['loss_other']:.6g}"
    )
