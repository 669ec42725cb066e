"""One run of the leaderboard: from a specification to what it scored, sent and computed."""

from collections.abc import Callable, Mapping
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
from fedkin.report.comparison.run_row import Seen, read_run
from fedkin.report.records import opened
from fedkin.report.summary import summary
from fedkin.reproduce.cost import clocked, cost
from fedkin.runs.directory import begun
from fedkin.runs.record import EPSILON
from fedkin.runs.spec import Spec, parse
from fedkin.setup.build import named

PROBED = 3  # rounds of a run that only counts; what the second one needs, each further one needs
STEPS = ("setup_message", "setup_update", "client_update", "server_update", "finalize")
DIVERGED = "the validation score is no finite number"


class Sent(NamedTuple):
    """Bytes of every message: before the first round, in all rounds, after the last."""

    setup: int
    rounds: int
    finish: int
    up: int
    down: int


class Work(NamedTuple):
    """Multiplications and additions of matrices and convolutions by the steps of a method."""

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
    data_digest: str = ""


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
    options = dict(content["method"])
    name = str(options.pop("name"))
    return outside_method(name, options, content["train"]["lr"]) if is_outside(name) else None


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
    seen, found = read_run(folder, folder.name), summary(folder)
    if seen.validation is None or not abs(seen.validation) < float("inf"):
        raise FedkinError(DIVERGED)
    spent = cost(folder)
    seconds = found["seconds"]["total"] if spent is None else spent.total
    with opened(folder) as record:
        digest = str(record.facts.get("data_digest", ""))[:12]
    return Ran(seen, found, sent_of(found["communication"]), seconds, seen.validation, digest)


def sent_of(found: Mapping[str, Any]) -> Sent:
    """The bytes of a summary's communication."""
    parts = [found["setup"]["unicast"], found["unicast"], found["finish"]["unicast"]]
    setup, rounds, finish = (part["bytes"]["total"] for part in parts)
    up, down = (sum(part["bytes"][way] for part in parts) for way in ("up", "down"))
    return Sent(setup, rounds, finish, up, down)


def epsilon_of(found: Mapping[str, Any]) -> float | None:
    """What privacy had cost in the end, of the client it cost most; None without [privacy]."""
    values = [value for value in found["extras"].get(EPSILON, {}).values() if value is not None]
    return max(map(float, values)) if values else None


def work_of(content: Content, folder: Path, data_dir: str | None) -> Work:
    """Counted in a run of three rounds by autograd: the same on every machine.

    The seed is left out, so that every row of a search tells the work of the same clients.
    """
    asked = {key: value for key, value in content.get("run", {}).items() if key != "seed"}
    short = {**asked, "rounds": PROBED, "evaluate_every": PROBED}
    spec = spec_of({**content, "run": short}, data_dir, engine="never")
    method, counts = counted(method_of(content) or named(spec))
    marks: list[tuple[str, int]] = []
    run(
        spec,
        folder,
        method=method,
        progress=lambda record: marks.append((record.phase, sum(counts))),
    )
    rounds = [at for phase, at in marks if phase == "round"]
    each = rounds[1] - rounds[0]
    return Work(float(marks[-1][1] - PROBED * each), float(each))


def counted(method: Method) -> tuple[Method, list[int]]:
    """The method, and a list to which each of its steps adds what it multiplied."""
    counts: list[int] = []

    def counting(step: Callable[..., Any]) -> Callable[..., Any]:
        def made(*given: Any) -> Any:
            with FlopCounterMode(display=False) as counter:
                found = step(*given)
            counts.append(counter.get_total_flops())
            return found

        return made

    steps = {name: getattr(method, name) for name in STEPS}
    counters: dict[str, Any] = {name: counting(step) for name, step in steps.items() if step}
    return method._replace(**counters), counts


def _begun(spec: Spec, method: Method | None, folder: Path, progress: Progress) -> Path:
    return run(spec, folder, method=method, progress=progress)


def _resumed(folder: Path, method: Method | None, progress: Progress) -> Path:
    return resume(folder, method=method, progress=progress)
