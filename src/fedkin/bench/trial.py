"""One run of the leaderboard: from a specification to what it scored, sent and computed."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import rmtree
from typing import Any, NamedTuple

from fedkin.bench.budgets import Used
from fedkin.bench.counting import counted
from fedkin.bench.suite import Content
from fedkin.core.errors import FedkinError, Halted
from fedkin.core.files import read_file, write_file
from fedkin.core.method import Method
from fedkin.core.system.process_settings import process_settings_kept
from fedkin.core.system.user_code import is_user_code
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from fedkin.experiment.training import Progress
from fedkin.methods import make
from fedkin.report.comparison.run_row import ComparedRun, read_with_summary
from fedkin.report.ledger import bytes_by_round
from fedkin.report.records import opened
from fedkin.reproduce.cost import clocked, cost
from fedkin.runs.directory import has_begun, path_in_run
from fedkin.runs.record import EPSILON, Record
from fedkin.runs.spec import Spec, parse
from fedkin.setup.build import base_method
from fedkin.sweep.missing_score import why_without_score

KEPT = "multiplied.json"  # of a run, beside its record
LARGEST = 1 << 24  # bytes of it
DIVERGED = "the validation score is no finite number"


class TrialResult(NamedTuple):
    """What one finished run came to; ``validation``: what hyper-parameters are chosen by.
    ``flops``: of matrix products and convolutions in a method's own steps (``Counter``).
    """

    seen: ComparedRun
    found: Mapping[str, Any]
    bytes: Used
    flops: Used
    seconds: float
    validation: float
    data_digest: str = ""


def spec_of(content: Content, data_dir: str | None = None) -> Spec:
    """The checked specification; a method of somebody's module is given as a value beside it.

    Args:
        content: A specification, as plain values.
        data_dir: The data folder; None: as the specification says.

    Returns:
        With the engine "inprocess"; its other keys, such as the device, are the setting's.

    Raises:
        FedkinError: The first mistake, in one sentence.
    """
    method = content.get("method", {})
    if is_user_code(str(method.get("name", ""))):
        method = {"name": "fedavg"}
    data = {**content["data"], **({} if data_dir is None else {"dir": data_dir})}
    engine = content.get("engine", {})
    if isinstance(engine, dict):  # a stranger's row may hold anything, which parse refuses
        engine = {**engine, "name": "inprocess"}
    whole = {**content, "method": method, "data": data, "engine": engine}
    return parse(whole, where="bench")[0]


def method_of(content: Content) -> Method | None:
    """The method as a value where it is one of somebody's module.

    Args:
        content: A specification, as plain values.

    Returns:
        None of fedkin's methods.

    Raises:
        FedkinError: Its code cannot be imported, or does not take the hyper-parameters.
    """
    options = dict(content["method"])
    name, shared = str(options.pop("name")), {"lr": content["train"]["lr"]}
    return make(name, options, shared) if is_user_code(name) else None


def run_trial(content: Content, folder: Path, data_dir: str | None) -> TrialResult:
    """Run it, or go on with it, or see that it is finished. A run that cannot be gone on with
    begins anew: its files may be damaged, which says nothing of its values.

    Args:
        content: A specification, as plain values.
        folder: The run directory.
        data_dir: The data folder; None: as the specification says.

    Returns:
        Bytes and FLOPs round by round, seconds of the processor, and the scores.

    Raises:
        FedkinError: It cannot be run, is a link, or has no validation score, or no finite one.
        Halted: The bench is stopped, or the folder cannot be written.
    """
    path_in_run(folder.parent, folder.name)
    gone_on_with = folder.exists()
    try:
        return _run_and_read(content, folder, data_dir)
    except FedkinError as error:
        if isinstance(error, Halted) or not gone_on_with:
            raise
        rmtree(folder)
    return _run_and_read(content, folder, data_dir)


def _run_and_read(content: Content, folder: Path, data_dir: str | None) -> TrialResult:
    _trained(content, folder, data_dir)
    seen, summary = read_with_summary(folder, folder.name)
    if seen.validation is None:
        raise FedkinError(why_without_score(seen, folder))
    if not math.isfinite(seen.validation):
        raise FedkinError(DIVERGED)
    spent = cost(folder)
    seconds = summary["seconds"]["total"] if spent is None else spent.total
    with opened(folder) as record:
        digest = str(record.facts.get("data_digest", ""))[:12]
        by_round = bytes_by_round(record)
    rounds = summary["rounds"]
    each = tuple(by_round.get(number, (0, 0))[1] for number in range(1, rounds + 1))
    setup, finish = (_parts(summary["communication"])[at]["total"] for at in (0, 2))
    flops = _kept(folder, rounds) or _again(content, folder, data_dir, rounds)
    sent = Used(setup, each, finish)
    return TrialResult(seen, summary, sent, flops, seconds, seen.validation, digest)


def bytes_up_and_down(communication: Mapping[str, Any]) -> tuple[int, int]:
    """Bytes of every message, of a summary's communication.

    Args:
        communication: The "communication" of a summary.

    Returns:
        (bytes up, bytes down), before, in and after the rounds together.
    """
    up, down = (sum(part[way] for part in _parts(communication)) for way in ("up", "down"))
    return up, down


def _parts(communication: Mapping[str, Any]) -> list[Mapping[str, int]]:
    """Bytes before the first round, in all rounds, after the last."""
    return [
        part["unicast"]["bytes"]
        for part in (communication["setup"], communication, communication["finish"])
    ]


def largest_epsilon(summary: Mapping[str, Any]) -> float | None:
    """What privacy had cost in the end, of the client it cost most; None without [privacy].

    Args:
        summary: The numbers of a run, as ``report.summary`` gives them.

    Returns:
        ε, from 0.
    """
    values = [value for value in summary["extras"].get(EPSILON, {}).values() if value is not None]
    return max(map(float, values)) if values else None


@process_settings_kept()
def _trained(content: Content, folder: Path, data_dir: str | None) -> None:
    """Run it, or go on, and keep the FLOPs of each of its rounds."""
    spec = spec_of(content, data_dir)
    method, counter = counted(method_of(content) or base_method(spec))
    marks: list[tuple[str, int]] = []

    def training(progress: Progress) -> Path:
        def noting(record: Record) -> None:
            marks.append((f"{record.phase} {record.round}", counter.total))
            progress(record)

        if has_begun(folder):
            return resume(folder, method=method, progress=noting)
        return run(spec, folder, method=method, progress=noting)

    try:
        clocked(folder, training)
    finally:
        if marks:
            _keep(folder, marks)


def _keep(folder: Path, marks: Sequence[tuple[str, int]]) -> None:
    """Beside what earlier sessions kept: (what was done, counted until then), in order."""
    counted, before = _read(folder), 0
    for done, until in marks:
        counted[done], before = until - before, until
    write_file(folder / KEPT, json.dumps(counted).encode(), links=False)


def _read(folder: Path) -> dict[str, int]:
    try:
        counted = json.loads(read_file(folder / KEPT, LARGEST))
    except (OSError, RecursionError, ValueError):
        return {}
    if not isinstance(counted, dict):
        return {}
    return {done: number for done, number in counted.items() if type(number) is int}


def _kept(folder: Path, rounds: int) -> Used | None:
    """None where a session was killed before it could say what it had counted."""
    counted = _read(folder)
    before, after = (
        [number for done, number in counted.items() if done.startswith(phase)]
        for phase in ("setup", "finish")
    )
    names = [f"round {number}" for number in range(1, rounds + 1)]
    each = tuple(counted[name] for name in names if name in counted)
    if not before or not after or len(each) < rounds:
        return None
    return Used(sum(before), each, sum(after))


def _again(content: Content, folder: Path, data_dir: str | None, rounds: int) -> Used:
    """Counted in a run of its own, which is the same run."""
    apart = folder.with_name(f"{folder.name}-counted")
    rmtree(apart, ignore_errors=True)  # of a bench that was killed
    _trained(content, apart, data_dir)
    used = _kept(apart, rounds)
    rmtree(apart, ignore_errors=True)
    if used is None:
        raise FedkinError(f"{folder}: the FLOPs of its rounds cannot be counted")
    return used
