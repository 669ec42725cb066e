"""One run of the leaderboard: from a specification to what it scored, sent and computed."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from torch.utils.flop_counter import FlopCounterMode

from fedkin.bench.outside import is_outside, outside_method
from fedkin.bench.suite import Content
from fedkin.core.errors import FedkinError
from fedkin.core.method import Method
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from fedkin.experiment.training import Progress
from fedkin.report.comparison.run_row import Seen, look
from fedkin.report.summary import summary
from fedkin.reproduce.cost import clocked, cost
from fedkin.runs.directory import begun
from fedkin.runs.record import EPSILON, Record
from fedkin.runs.spec import Spec, parse

PROBED = 3  # rounds of a run that only counts; the second has neither setup nor evaluation
DIVERGED = "the validation score is no finite number"


class Sent(NamedTuple):
    """Bytes of every message: before the first round, in all rounds, after the last."""

    setup: int
    rounds: int
    finish: int
    up: int
    down: int


class Work(NamedTuple):
    """Multiplications and additions of matrices and convolutions, without evaluation."""

    once: float
    round: float

    def of(self, rounds: int) -> float:
        return self.once + self.round * rounds


class Ran(NamedTuple):
    """What one finished run came to; ``validation``: what hyper-parameters are chosen by."""

    seen: Seen
    found: Mapping[str, Any]
    sent: Sent
    seconds: float
    validation: float


def spec_of(content: Content, data_dir: str | None = None, engine: str = "auto") -> Spec:
    """The checked specification; a method of somebody's module is given as a value beside it."""
    method = content.get("method", {})
    if is_outside(str(method.get("name", ""))):
        method = {"name": "fedavg"}
    data = {**content["data"], **({} if data_dir is None else {"dir": data_dir})}
    whole = {**content, "method": method, "data": data}
    return parse({**whole, "engine": {"name": "inprocess", "compile": engine}}, where="bench")[0]


def method_of(content: Content) -> Method | None:
    """The method as a value where it is one of somebody's module."""
    told = dict(content["method"])
    name = str(told.pop("name"))
    return outside_method(name, told, content["train"]["lr"]) if is_outside(name) else None


def ran(content: Content, folder: Path, data_dir: str | None) -> Ran:
    """Run it, or go on with it, or see that it is finished.

    Raises FedkinError where it cannot be run, or has no finite validation score.
    """
    method = method_of(content)
    if begun(folder):
        work = partial(_resumed, folder, method)
    else:
        work = partial(_begun, spec_of(content, data_dir), method, folder)
    clocked(folder, work)
    seen, found = look(folder, folder.name), summary(folder)
    if seen.validation is None or not abs(seen.validation) < float("inf"):
        raise FedkinError(DIVERGED)
    spent = cost(folder)
    seconds = found["seconds"]["total"] if spent is None else spent.total
    return Ran(seen, found, sent_of(found["communication"]), seconds, seen.validation)


def sent_of(told: Mapping[str, Any]) -> Sent:
    """The bytes of a summary's communication."""
    parts = [told["setup"]["unicast"], told["unicast"], told["finish"]["unicast"]]
    setup, rounds, finish = (part["bytes"]["total"] for part in parts)
    up, down = (sum(part["bytes"][way] for part in parts) for way in ("up", "down"))
    return Sent(setup, rounds, finish, up, down)


def epsilon_of(found: Mapping[str, Any]) -> float | None:
    """What privacy had cost in the end, of the client it cost most; None without [privacy]."""
    values = [value for value in found["extras"].get(EPSILON, {}).values() if value is not None]
    return max(map(float, values)) if values else None


def work_of(content: Content, folder: Path, data_dir: str | None) -> Work:
    """Counted in a run of three rounds by autograd: the same on every machine."""
    short = {**content.get("run", {}), "rounds": PROBED, "evaluate_every": PROBED}
    spec = spec_of({**content, "run": short}, data_dir, engine="never")
    marks: list[tuple[str, int]] = []
    with FlopCounterMode(display=False) as counter:

        def progress(record: Record) -> None:
            marks.append((record.phase, counter.get_total_flops()))

        run(spec, folder, method=method_of(content), progress=progress)
    return _parts(marks)


def _parts(marks: list[tuple[str, int]]) -> Work:
    """``marks``: (phase, count when it was done), in order."""
    rounds = [at for phase, at in marks if phase == "round"]
    setup = next((at for phase, at in marks if phase == "setup"), 0)
    each = rounds[1] - rounds[0]
    evaluated = max(0, rounds[2] - rounds[1] - each)
    finish = max(0, marks[-1][1] - rounds[-1] - evaluated)
    return Work(float(setup + finish), float(each))


def _begun(spec: Spec, method: Method | None, folder: Path, progress: Progress) -> Path:
    return run(spec, folder, method=method, progress=progress)


def _resumed(folder: Path, method: Method | None, progress: Progress) -> Path:
    return resume(folder, method=method, progress=progress)
