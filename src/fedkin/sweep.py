"""Search hyper-parameters with Optuna: grid or TPE, in SQLite, several processes at once, resumable.

The objective is the personal models' accuracy on validation data after the last round (the loss of a regression). Test
data are never read.
"""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError, unknown
from fedkin.experiment import resume, run
from fedkin.report.look import look
from fedkin.runs.spec import Spec, assign, literal, parse

SAMPLERS = ("grid", "tpe")
RANGE = re.compile(r"(log )?(\S+) \.\. (\S+)")
SPACES: dict[str, dict[str, str]] = {  # the papers' grids, by name
    "rates": {"train.lr": "0.001, 0.003, 0.01, 0.03, 0.1, 0.3"},
    "cgpfl": {"method.lam": "9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19", "method.clusters": "2, 4"},
    "comet": {"method.clusters": "1, 2, 3, 4", "method.lam": "0.5, 1, 2, 4"},
    "hypcluster": {"method.clusters": "2, 3, 5, 6"},
    "ppfl": {"method.models": "2, 5, 7, 10", "method.structure": "1, 2"},
}

Space = dict[str, list[Any] | tuple[float, float, bool]]


def space_of(texts: Sequence[str]) -> Space:
    """``key=value, value, …`` (a list), ``key=low .. high``, ``key=log low .. high`` (ranges), or a name in SPACES."""
    found: Space = {}
    for text in texts:
        key, equals, told = text.partition("=")
        if not equals:
            if text not in SPACES:
                raise unknown("space", text, SPACES)
            found |= space_of([f"{k}={v}" for k, v in SPACES[text].items()])
        elif match := RANGE.fullmatch(told.strip()):
            low, high = _number(match[2], text), _number(match[3], text)
            if not low < high or (match[1] and low <= 0):
                raise FedkinError(f"--space {text}: the first number must be the smaller one, with log above 0")
            found[key.strip()] = (low, high, bool(match[1]))
        else:
            found[key.strip()] = [literal(piece.strip()) for piece in told.split(",")]
    if not found:
        raise FedkinError(
            "there is nothing to search: --space train.lr=0.01,0.1 or --space 'train.lr=log 0.001 .. 0.3'"
        )
    return found


def sweep(base: Spec, space: Space, folder: Path, trials: int | None, sampler: str) -> Any:
    """The Optuna study, after this process did its share. ``folder``: study.db and a run directory a trial; a study
    that is there goes on, and several processes may work on one. ``trials``: of all processes; None: the whole grid."""
    optuna = _optuna()
    if sampler not in SAMPLERS:
        raise unknown("sampler", sampler, SAMPLERS)
    ranges = [key for key, values in space.items() if isinstance(values, tuple)]
    if sampler == "grid" and ranges:
        raise FedkinError(f"{ranges[0]} is a range: a grid needs values, or take --sampler tpe")
    if sampler == "tpe" and trials is None:
        raise FedkinError("--sampler tpe needs --trials")
    folder.mkdir(parents=True, exist_ok=True)
    _check(base, space)
    seed = base.run.seed
    chosen = (
        optuna.samplers.GridSampler({key: list(values) for key, values in space.items()}, seed=seed)
        if sampler == "grid"
        else optuna.samplers.TPESampler(seed=seed)
    )
    study = optuna.create_study(
        storage=f"sqlite:///{folder / 'study.db'}", study_name="sweep", load_if_exists=True, sampler=chosen,
        direction="maximize",
    )  # fmt: skip
    _same(study, base, space)
    total = trials if trials is not None else _size(space)
    done = optuna.study.MaxTrialsCallback(total, states=(optuna.trial.TrialState.COMPLETE,))
    left = total - len(study.get_trials(states=(optuna.trial.TrialState.COMPLETE,)))
    if left > 0:
        study.optimize(lambda trial: _objective(trial, base, space, folder), n_trials=left, callbacks=[done])
    return study


def _objective(trial: Any, base: Spec, space: Space, folder: Path) -> float:
    values = {key: _suggest(trial, key, told) for key, told in space.items()}
    spec = _with(base, values)
    name = "-".join(f"{key.split('.')[-1]}={value}" for key, value in values.items())
    where = folder / re.sub(r"[^\w.=,-]+", "_", f"{trial.number:04d}-{name}")
    trial.set_user_attr("folder", where.name)
    if (where / "run.db").exists():
        resume(where)
    else:
        run(spec, where)
    seen = look(where, where.name)
    if seen.validation is None:
        raise FedkinError("clients have no validation samples, and nothing else chooses: set split.val above 0")
    return seen.validation if seen.measure == "accuracy" else -seen.validation


def _suggest(trial: Any, key: str, told: list[Any] | tuple[float, float, bool]) -> Any:
    if isinstance(told, tuple):
        if _whole(key):
            return trial.suggest_int(key, math.ceil(told[0]), math.floor(told[1]), log=told[2])
        return trial.suggest_float(key, told[0], told[1], log=told[2])
    return trial.suggest_categorical(key, told)


def _with(base: Spec, values: Mapping[str, Any]) -> Spec:
    content = base.model_dump(exclude_none=True)
    for key, value in values.items():
        assign(content, key, value)
    return parse(content, where="sweep")[0]


def _check(base: Spec, space: Space) -> None:
    """A key or a value that does not exist is told before anything is trained."""
    for key, told in space.items():
        section = key.partition(".")[0]
        if section in ("data", "split", "run"):
            raise FedkinError(f"{key}: a search over [{section}] would compare different data or budgets")
        for value in told[:2] if isinstance(told, tuple) else told:
            _with(base, {key: value})


def _same(study: Any, base: Spec, space: Space) -> None:
    now = {"spec": base.model_dump(mode="json", exclude={"engine"}), "space": {k: list(v) for k, v in space.items()}}
    before = study.user_attrs.get("fedkin")
    if before is None:
        study.set_user_attr("fedkin", now)
    elif before != now:
        raise FedkinError("this folder holds a sweep of another experiment or space: choose another --out")


def _whole(key: str) -> bool:
    """True for keys like train.batch_size, which take whole numbers."""
    section, _, name = key.partition(".")
    field = getattr(getattr(Spec(), section, None), "__pydantic_fields__", {}).get(name)
    return field is not None and "int" in str(field.annotation) and "float" not in str(field.annotation)


def _size(space: Space) -> int:
    size = 1
    for values in space.values():
        size *= len(values)
    return size


def _number(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise FedkinError(f"--space {whole} is not understood: write key=low .. high") from None


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise FedkinError("fedkin sweep needs Optuna: pip install 'fedkin[sweep]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
