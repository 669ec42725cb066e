"""A study: trials in SQLite and a run directory each. Several processes may work on one, each may
be stopped.

The objective is the experiment's measure of the personal models on validation data after the last
round. Test data are never read.

A trial is claimed under the study's lock, so that no two processes take the same one. The process
that works on it holds the trial's lock until its score is recorded. A running trial whose lock is
free was left by a process that is gone, and is taken over with what its run has committed.
"""

import math
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from fedkin.core.counts import at_least
from fedkin.core.errors import FedkinError, Halted, first_line, unknown
from fedkin.core.rng import Key
from fedkin.experiment.resume import resume
from fedkin.experiment.rounds_reporter import rounds_reporter
from fedkin.experiment.run import run
from fedkin.experiment.terminal import note
from fedkin.report.comparison.run_row import read_run
from fedkin.runs.directory import check_home, has_begun, path_in_run
from fedkin.runs.output_files import STUDY as FILE
from fedkin.runs.output_files import make_folder
from fedkin.runs.spec import Spec
from fedkin.setup.population import rooted
from fedkin.sweep.foreign import taken_over
from fedkin.sweep.missing_score import why_without_score
from fedkin.sweep.other_search import CODE, other_search
from fedkin.sweep.score import LEFT, Score, facts_of
from fedkin.sweep.space import Space, changed, check, drawn, grid
from fedkin.sweep.study_file import address, check_database, usable
from fedkin.sweep.user_code import user_code

STUDY, LOCKS = "sweep", ".locks"
Total = Callable[[list[Any]], int]
Ready = Callable[[Any, list[Any]], None]
UNKNOWN_CODE = (
    "its study does not say which code of your own its first trials ran: if you changed it since, "
    "choose another --out"
)
PATIENCE = 300.0  # seconds for a lock that is held for milliseconds


class NoValidation(FedkinError):
    """Nothing can be chosen, by any trial."""


class Claim(NamedTuple):
    """One trial that is this process's to work on."""

    number: int
    values: dict[str, Any]
    run: Path
    lock: FileLock
    total: int  # of all processes, as far as is known


# a trial, of how many, and what came of it: None before it, then its score or why it has none
Progress = Callable[[Claim, int, Score | str | None], None]


def sweep(
    base: Spec,
    space: Space,
    folder: Path,
    trials: int | None,
    sampler: str,
    progress: Progress | None = None,
) -> Any:
    """The Optuna study, after this process did its share of the trials. A study that is in the
    folder already goes on. What no trial could do is refused before the folder is made.

    Args:
        base: The experiment.
        space: What is searched: {key: values, or a range}.
        folder: Holds study.db and a run directory a trial; it is made.
        trials: How many, at least 1, of all processes together; None: the whole grid.
        sampler: A key of SAMPLERS: "grid" or "tpe".
        progress: Called before and after each trial of this process with its claim, the number of
            trials, and what came of it: None before, then its score or why it has none.

    Returns:
        The study, with all trials of all processes.

    Raises:
        FedkinError: The space or the number of trials does not fit the sampler or the experiment;
            the folder is a run's, holds runs of no sweep, is another sweep's or cannot be written;
            or the extra ``sweep`` is not installed.
    """
    at_least(1, trials=trials)
    optuna = _optuna()
    if sampler not in SAMPLERS:
        raise unknown("sampler", sampler, SAMPLERS)
    check_home(folder, FILE, "sweep")
    total_of, ready = SAMPLERS[sampler](optuna, base.run.seed, space, trials)
    data = check(base, space)
    code = user_code(base, space)
    base = rooted(base)
    make_folder(path_in_run(folder, LOCKS))
    with _alone(folder):
        study = _study(folder, base, space, data, code)
    tell = progress or (lambda claim, total, value: None)
    while (claim := _claim(study, base, space, folder, total_of, ready)) is not None:
        try:
            tell(claim, claim.total, None)
            tell(claim, claim.total, _work(study, base, claim, folder))
        finally:
            claim.lock.release()
    return study


def _claim(
    study: Any, base: Spec, space: Space, folder: Path, total_of: Total, ready: Ready
) -> Claim | None:
    """The next trial: one that was left by a process that is gone, else a new one; None where all
    are taken.
    """
    with _alone(folder):
        claimed = [
            trial for trial in study.get_trials(deepcopy=False) if "folder" in trial.user_attrs
        ]
        total = total_of([trial.params for trial in claimed])
        for trial in claimed:
            if trial.state.name == "RUNNING" and (lock := _free(folder, trial.number)):
                run = _run_of(trial, folder, space, lock)
                return Claim(trial.number, trial.params, run, lock, total)
        if len(claimed) >= total:
            return None
        asked = _left(study)
        if asked is None:
            ready(study, [trial.params for trial in claimed])
            asked = study.ask()
        values = drawn(asked, base, space)
        name = "-".join(f"{key.split('.')[-1]}={value}" for key, value in values.items())
        where = _unused(folder, re.sub(r"[^\w.=,-]+", "_", f"{asked.number:04d}-{name}"))
        run = taken_over(folder, space, asked.number, values, where)
        lock = _free(folder, asked.number)
        assert lock is not None, "a new number has no other owner"
        asked.set_user_attr("folder", where)  # from here on it counts
        return Claim(asked.number, values, run, lock, total)


def _left(study: Any) -> Any:
    """Optuna's last trial where a process was killed after asking for it and before it had its
    folder; None where there is none.
    """
    last = study.get_trials(deepcopy=False)[-1:]
    if not last or last[0].state.name != "RUNNING" or "folder" in last[0].user_attrs:
        return None
    return _optuna().trial.Trial(study, last[0]._trial_id)


def _run_of(trial: Any, folder: Path, space: Space, lock: FileLock) -> Path:
    """The run directory of a trial that is taken over; the lock is given back where it is none."""
    try:
        return taken_over(folder, space, trial.number, trial.params, trial.user_attrs["folder"])
    except FedkinError:
        lock.release()
        raise


def _work(study: Any, base: Spec, claim: Claim, folder: Path) -> Score | str:
    """Train, and tell the study: the trial's score, or why it has none. What stops the whole sweep
    leaves the trial to whoever comes next. A run that cannot be gone on with begins anew.
    """
    gone_on_with = claim.run.exists()
    try:
        score = _score(base, claim)
    except (Halted, NoValidation):
        raise
    except FedkinError as error:
        if gone_on_with:  # its files may be damaged, which says nothing of its values
            return _work(study, base, _anew(study, claim, folder, error), folder)
        with _alone(folder):
            study.set_user_attr(f"lost {claim.number}", str(error))
            study.tell(claim.number, state=_optuna().trial.TrialState.FAIL)
        return str(error)
    with _alone(folder):
        for name, value in facts_of(score, claim.number).items():
            study.set_user_attr(name, value)
        study.tell(claim.number, score.objective)
    return score


def _anew(study: Any, claim: Claim, folder: Path, error: FedkinError) -> Claim:
    """A trial whose run directory cannot be gone on with, in a new one; the other stays."""
    with _alone(folder):
        where = _unused(folder, claim.run.name)
        (begun_trial,) = (t for t in study.get_trials(deepcopy=False) if t.number == claim.number)
        # Optuna lets nobody but who asked for a trial write to it
        left = [*begun_trial.user_attrs.get(LEFT, ()), claim.run.name]  # its noise is spent
        study._storage.set_trial_user_attr(begun_trial._trial_id, LEFT, left)
        study._storage.set_trial_user_attr(begun_trial._trial_id, "folder", where)
    note(f"trial {claim.number + 1} begins anew in {folder / where}: {first_line(error)}")
    return claim._replace(run=folder / where)


def _score(base: Spec, claim: Claim) -> Score:
    reporter = rounds_reporter(f"rounds of trial {claim.number + 1}", base.run.rounds)
    if has_begun(claim.run):
        resume(claim.run, progress=reporter)
    else:
        run(changed(base, claim.values), claim.run, progress=reporter)
    seen = read_run(claim.run, claim.run.name)
    if seen.validation is None:
        raise NoValidation(why_without_score(seen, claim.run))
    if not math.isfinite(seen.validation):
        raise FedkinError("a client's validation loss is not a finite number")
    rounds = seen.row["rounds"]
    return Score(seen.measure, seen.validation, seen.validated, seen.samples, seen.unscored, rounds)


def _grid(optuna: Any, seed: int, space: Space, trials: int | None) -> tuple[Total, Ready]:
    points = grid(space)
    # a part of the grid is spread over it
    order = Key(seed).numpy("sweep").permutation(len(points))

    def ready(study: Any, claimed: list[Any]) -> None:
        # else it was killed here
        if not study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.WAITING,)):
            study.enqueue_trial(next(points[k] for k in order if points[k] not in claimed))

    def total_of(claimed: list[Any]) -> int:
        """Every point once; "tpe", which may have begun the study, takes some again."""
        again = len(claimed) - sum(point in claimed for point in points)
        whole = len(points) + again
        return min(trials or whole, whole)

    return total_of, ready


def _tpe(optuna: Any, seed: int, space: Space, trials: int | None) -> tuple[Total, Ready]:
    if trials is None:
        raise FedkinError("--sampler tpe needs --trials")

    def ready(study: Any, claimed: list[Any]) -> None:
        # each trial its own: processes must not draw alike
        own = Key(seed, len(claimed)).integer("sweep") % 2**32
        study.sampler = optuna.samplers.TPESampler(seed=own, constant_liar=True)

    return lambda claimed: trials, ready


SAMPLERS: dict[str, Callable[[Any, int, Space, int | None], tuple[Total, Ready]]] = {
    "grid": _grid,
    "tpe": _tpe,
}
"""name → (how many trials, what makes a study ready for the next one), both given the values that
are taken.
"""


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time reads or writes the study."""
    try:
        lock = FileLock(path_in_run(folder, LOCKS, "study.lock"), timeout=PATIENCE)
        with lock, usable(folder / FILE, _optuna()):
            yield
    except Timeout:
        raise FedkinError(
            f"{folder} is held by another process for minutes: is it stopped?"
        ) from None


def _free(folder: Path, number: int) -> FileLock | None:
    """A trial's lock, taken; None where another process works on it."""
    lock = FileLock(path_in_run(folder, LOCKS, f"{number:04d}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    return lock


def _study(folder: Path, base: Spec, space: Space, data: str, code: dict[str, str]) -> Any:
    """The folder's study.

    One of something else makes room if no trial of it has come to anything.
    """
    now = {
        "spec": base.model_dump(mode="json", exclude={"engine"}),
        "space": {k: list(v) for k, v in space.items()},
    }
    begun_with = {CODE: code, "data": data, "fedkin": now}
    optuna, path = _optuna(), path_in_run(folder, FILE)
    check_database(path, optuna)
    storage = address(path)
    open_study = partial(
        optuna.create_study, storage=storage, study_name=STUDY, direction="maximize"
    )
    study = open_study(load_if_exists=True)
    of_before = "fedkin" in study.user_attrs and CODE not in study.user_attrs
    other = other_search(study, begun_with)
    if not other:
        if code and of_before:
            note(f"{folder}: {UNKNOWN_CODE}")
        return study
    trials = study.get_trials(deepcopy=False)
    if any(one.state.name == "COMPLETE" or _worked_on(folder, one) for one in trials):
        raise FedkinError(f"{folder} {other}")
    optuna.delete_study(study_name=STUDY, storage=storage)
    study = open_study()
    other_search(study, begun_with)
    return study


def _worked_on(folder: Path, trial: Any) -> bool:
    """Whether some process is at a trial just now."""
    if trial.state.name != "RUNNING":
        return False
    lock = _free(folder, trial.number)
    if lock is not None:
        lock.release()
    return lock is None


def _unused(folder: Path, name: str) -> str:
    """A trial's folder; those of a study that made room stay as they are."""
    return next(
        free
        for n in count(1)
        if not (folder / (free := name if n == 1 else f"{name}-{n}")).exists()
    )


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise FedkinError(
            "fedkin sweep needs Optuna, the extra sweep: in fedkin's checkout, "
            "pip install -c constraints.txt '.[sweep]'"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    # it warns of values that are lists, which JSON, and so its database, keeps as they are
    warnings.filterwarnings("ignore", "Choices for a categorical distribution", UserWarning)
    return optuna
