"""One method on one setting: its search at the first seed, then the chosen hyper-parameters under
every seed and budget. Validation chooses; test data are read once, into the rows.
"""

from pathlib import Path
from shutil import rmtree
from typing import Any, NamedTuple

from fedkin.bench.machine import commit, machine, today, versions
from fedkin.bench.outside import code_digest, is_outside
from fedkin.bench.row import Row, Tried
from fedkin.bench.search import content_of, search_of, trials
from fedkin.bench.suite import Content, Setting, Suite, digest, settled
from fedkin.bench.trial import Ran, Work, epsilon_of, ran, work_of
from fedkin.core.errors import FedkinError, Halted
from fedkin.core.measures import measure_named

NO_ROOM = "none of its budgets has room for one round"


class Allowance(NamedTuple):
    """What a setting's budgets are: what fedavg sends and computes in the setting's rounds.
    ``missing``: why there is none but equal rounds.
    """

    bytes: float = 0.0
    flops: float = 0.0
    missing: str = ""


class Case(NamedTuple):
    """A method on a setting. ``own``: values of its hyper-parameters that are tried."""

    suite_name: str
    suite: Suite
    label: str
    method: str
    own: tuple[Content, ...]
    fixed: Content
    data_digest: str

    @property
    def setting(self) -> Setting:
        return self.suite.settings[self.label]

    @property
    def digest(self) -> str:
        """Of all that decides what its rows are."""
        suite = self.suite.model_dump(mode="json", exclude={"settings", "title", "about"})
        suite.pop("methods")
        parts = [suite, settled(self.setting.spec), self.method, list(self.own), self.fixed]
        code = [code_digest(name) for name in outside_of(self)]
        return digest([*parts, self.data_digest, *code])

    def tried(self) -> list[Content]:
        """The specifications of the trials, but for the seed."""
        points = trials(self.suite.rates, self.own, self.suite.trials)
        spec = self.setting.spec
        return [content_of(spec, self.method, lr, {**self.fixed, **own}) for lr, own in points]


def case_of(
    suite_name: str,
    suite: Suite,
    label: str,
    method: str,
    data_digest: str,
    own: list[Content] | None = None,
) -> Case:
    """``own``: of a method of somebody's module, what to try."""
    known, fixed = search_of(method)
    return Case(
        suite_name, suite, label, method, tuple(known if own is None else own), fixed, data_digest
    )


def rows_of(
    case: Case, folder: Path, allowance: Allowance | None, data_dir: str | None
) -> list[Row]:
    """Everything of a case, resumed where it was stopped. ``allowance``: None of fedavg and local,
    which define it or send nothing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tried, best = _searched(case, folder, data_dir)
    if best is None:
        reason = next((one.lost for one in tried if one.lost), "no trial")
        return [_missing(case, {}, 1, tried, reason)]
    content, first = best
    try:
        work = _work(content, folder, data_dir)
    except Halted:
        raise
    except FedkinError as error:
        return [_missing(case, {}, 1, tried, str(error))]
    plan = _plan(case, allowance, first, work)
    runs = [
        (seed, rounds, budgets) for rounds, budgets in plan.items() for seed in case.suite.seeds
    ]
    unknown = _unknown(case, allowance)
    number = len(runs) + bool(unknown)
    found = []
    for seed, rounds, budgets in runs:
        whole = _with(content, seed, rounds)
        try:
            done = ran(whole, folder / _name(whole), data_dir)
        except Halted:
            raise
        except FedkinError as error:  # it diverged under this seed, say
            lost = _missing(case, whole, number, tried, f"seed {seed}: {error}")
            found.append(lost.model_copy(update={"budgets": tuple(budgets), "seed": seed}))
            continue
        row = _row(case, whole, number, tried)
        found.append(filled(row, done, work.of(rounds), tuple(budgets)))
    if allowance is not None and unknown:
        lost = _missing(case, {}, number, tried, allowance.missing)
        found.append(lost.model_copy(update={"budgets": unknown}))
    return found or [_missing(case, {}, 1, tried, NO_ROOM)]


def _unknown(case: Case, allowance: Allowance | None) -> tuple[Any, ...]:
    """The budgets that nobody knows, for fedavg, whose use they are, could not be run."""
    if allowance is None or not allowance.missing:
        return ()
    return tuple(budget for budget in case.suite.budgets if budget != "rounds")


def _searched(
    case: Case, folder: Path, data_dir: str | None
) -> tuple[list[Tried], tuple[Content, Ran] | None]:
    """Every trial, and the best of them by validation; the first of equals."""
    tried: list[Tried] = []
    best: tuple[Content, Ran] | None = None
    for content in case.tried():
        whole = _with(content, case.suite.seeds[0], case.setting.rounds)
        hyper = hyper_of(content)
        try:
            done = ran(whole, folder / _name(whole), data_dir)
        except Halted:
            raise
        except FedkinError as error:
            tried.append(Tried(hyper=hyper, lost=str(error)))
            continue
        tried.append(Tried(hyper=hyper, validation=done.validation))
        sign = 1 if measure_named(done.seen.measure).higher else -1
        if best is None or sign * done.validation > sign * best[1].validation:
            best = content, done
    return tried, best


def _plan(case: Case, allowance: Allowance | None, first: Ran, work: Work) -> dict[int, list[Any]]:
    """{rounds: the budgets that it keeps}; a budget that not one round fits has none."""
    rounds = case.setting.rounds
    unknown = _unknown(case, allowance)
    plan: dict[int, list[Any]] = {}
    most = int(rounds * case.suite.stretch) if allowance is not None else rounds
    for budget in case.suite.budgets:
        if budget in unknown:
            continue
        fit = rounds
        if allowance is not None and budget == "bytes":
            sent = first.sent
            once = sent.setup + sent.finish
            fit = fitting(allowance.bytes * (1 + case.suite.slack) - once, sent.rounds / rounds)
        elif allowance is not None and budget == "compute":
            fit = fitting(allowance.flops * (1 + case.suite.slack) - work.once, work.round)
        fit = min(fit, most)
        at = rounds if rounds <= fit <= rounds * (1 + case.suite.slack) else fit
        if at >= 1:
            plan.setdefault(at, []).append(budget)
    return plan


def fitting(left: float, each: float) -> int:
    """How many rounds a budget has room for.

    >>> fitting(10.0, 3.0), fitting(-1.0, 3.0), fitting(5.0, 0.0) > 10**6
    (3, 0, True)
    """
    if left < 0:
        return 0
    return int(left / each + 1e-9) if each > 0 else 2**31


def _work(content: Content, folder: Path, data_dir: str | None) -> Work:
    probe = folder / "probe"
    rmtree(probe, ignore_errors=True)  # of a bench that was killed: it takes seconds
    return work_of(content, probe, data_dir)


def _with(content: Content, seed: int, rounds: int) -> Content:
    changed = {"seed": seed, "rounds": rounds, "evaluate_every": rounds}
    return {**content, "run": {**content.get("run", {}), **changed}}


def hyper_of(content: Content) -> Content:
    """What a search chose: the method's own values and the rate."""
    own = {key: value for key, value in content["method"].items() if key != "name"}
    return {**own, "lr": content["train"]["lr"]}


def _name(content: Content) -> str:
    return digest(content)


def _row(case: Case, content: Content, number: int, tried: list[Tried]) -> Row:
    spec = case.setting.spec
    parts = {key: spec.get(key, {}) for key in ("data", "split", "model")}
    hyper = hyper_of(content) if content else {}
    return Row(
        id=digest([case.digest, settled(content)]),
        case=case.digest,
        of=number,
        suite=case.suite_name,
        setting=case.label,
        data=parts["data"].get("name", ""),
        data_digest=case.data_digest,
        split=parts["split"].get("name", ""),
        model=parts["model"].get("name", ""),
        method=case.method,
        hyper=hyper,
        trials=tuple(tried),
        content=content,
        commit=commit(),
        versions=versions(),
        machine=machine(),
        date=today(),
    )


def _missing(case: Case, content: Content, number: int, tried: list[Tried], why: str) -> Row:
    return _row(case, content, number, tried).model_copy(update={"missing": why})


def filled(row: Row, done: Ran, flops: float, budgets: tuple[Any, ...]) -> Row:
    """The row with what its run came to."""
    last = done.found["headline"]["personal"]["final"]
    numbers = {
        "seed": row.content["run"]["seed"],
        "rounds": row.content["run"]["rounds"],
        "budgets": budgets,
        "measure": done.seen.measure,
        "mean": last["mean"],
        "worst_decile": last["worst_decile"],
        "clients": {str(k): round(v, 6) for k, v in done.seen.personal.items()},
        "bytes_up": done.sent.up,
        "bytes_down": done.sent.down,
        "flops": flops,
        "seconds": round(done.seconds, 3),
        "epsilon": epsilon_of(done.found),
        "fingerprint": done.found["fingerprint"],
        "own_digest": done.data_digest,
    }
    return row.model_copy(update=numbers)


def outside_of(case: Case) -> list[str]:
    """The code of somebody's own that a case names."""
    return [case.method] if is_outside(case.method) else []
