"""One method on one setting: its search at the first seed, then the chosen hyper-parameters under
every seed and budget. Validation chooses; test data are read once, into the rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.bench.budgets import Allowance, Used, rounds_within
from fedkin.bench.machine import commit, machine, today, versions
from fedkin.bench.row import Row, Tried, sentence
from fedkin.bench.search import content_of, search_of, trials
from fedkin.bench.suite import Content, Setting, Suite, digest, settled
from fedkin.bench.third_party_code import third_party_code
from fedkin.bench.trial import TrialResult, bytes_up_and_down, largest_epsilon, run_trial
from fedkin.core.errors import FedkinError, Halted
from fedkin.core.measures import comparable, measure_named
from fedkin.runs.spec import parse

NO_ROOM = "none of its budgets has room for one round"
NO_ROOM_OF = "equal {} has no room for one round"
NO_TEST = "no client's test samples define {}"


class Case(NamedTuple):
    """A method on a setting. ``own``: values of its hyper-parameters that are tried. ``code``:
    {name: digest of its file} of what is not fedkin's.
    """

    suite_name: str
    suite: Suite
    label: str
    method: str
    own: tuple[Content, ...]
    fixed: Content
    data_digest: str
    code: Mapping[str, str]

    @property
    def setting(self) -> Setting:
        """The federation that it is run on."""
        return self.suite.settings[self.label]

    @property
    def digest(self) -> str:
        """Of all that decides what its rows are."""
        left_out = {"settings", "title", "about", "searches"}  # a case has its own search
        suite = self.suite.model_dump(mode="json", exclude=left_out)
        suite.pop("methods")
        parts = [suite, settled(self.setting.spec), self.method, list(self.own), self.fixed]
        return digest([*parts, self.data_digest, *self.code.values()])

    def tried(self) -> list[Content]:
        """The specifications of the trials, but for the seed.

        Returns:
            One a trial, as plain values.
        """
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
    """A method on a setting. Code of somebody's own is looked at here alone, so that a case keeps
    its digest while it is run; it must be allowed.

    Args:
        suite_name: What rows call the suite.
        suite: Settings, methods and budgets.
        label: Of the setting.
        method: Of fedkin, or "package.module:function".
        data_digest: Of the setting's data.
        own: What a person typed to be tried; None: what the suite says, else fedkin.

    Returns:
        A case with its digests, the values that are tried, and what is fixed.

    Raises:
        FedkinError: There is no such method, or its code cannot be imported.
    """
    known, fixed = search_of(method, suite.searches)
    tried = tuple(known if own is None else own)
    code = third_party_code(method, parse(suite.settings[label].spec)[0])
    return Case(suite_name, suite, label, method, tried, fixed, data_digest, code)


def rows_of(
    case: Case, folder: Path, allowance: Allowance | None, data_dir: str | None
) -> list[Row]:
    """Everything of a case, resumed where it was stopped.

    Args:
        case: A method on a setting.
        folder: Where its runs are; it is made.
        allowance: What fedavg sends and computes; None: of fedavg and local, which define it or
            send nothing.
        data_dir: The data folder; None: as the specification says.

    Returns:
        At least one row; one without a run says why.

    Raises:
        Halted: The bench was stopped; the same call goes on.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tried, best = _searched(case, folder, data_dir)
    if best is None:
        reason = next((one.lost for one in tried if one.lost), "no trial")
        return [_missing(case, {}, tried, reason)]
    content, first = best
    runs = Runs(content, folder, data_dir)
    made: list[Row] = []
    roomless: list[tuple[int, str]] = []
    for seed in case.suite.seeds:
        for rounds, budgets in _plan(case, allowance, seed, first, runs).items():
            if rounds:
                made.append(_run_row(case, runs, seed, rounds, tuple(budgets), tried))
            else:
                roomless += [(seed, budget) for budget in budgets]
    kept = {budget for row in made for budget in row.budgets}
    for seed, budget in roomless:
        if budget in kept:  # under another seed: a mean without this one would be of other data
            made.append(_without_room(case, tried, seed, budget))
    unknown = _unknown(case, allowance)
    if allowance is not None and unknown:
        lost = _missing(case, {}, tried, allowance.missing)
        made.append(lost.model_copy(update={"budgets": unknown}))
    rows = made or [_missing(case, {}, tried, NO_ROOM)]
    return [row.model_copy(update={"of": len(rows)}) for row in rows]


def _run_row(
    case: Case, runs: "Runs", seed: int, rounds: int, budgets: tuple[Any, ...], tried: list[Tried]
) -> Row:
    whole, done = _with(runs.content, seed, rounds), runs.of(seed, rounds)
    if isinstance(done, TrialResult) and _tested(done)["mean"] is not None:
        return filled(_row(case, whole, tried), done, budgets)
    why = NO_TEST.format(done.seen.measure) if isinstance(done, TrialResult) else done
    lost = _missing(case, whole, tried, f"seed {seed}: {why}")
    return lost.model_copy(update={"budgets": budgets, "seed": seed})


def _without_room(case: Case, tried: list[Tried], seed: int, budget: str) -> Row:
    lost = _missing(case, {}, tried, f"seed {seed}: {NO_ROOM_OF.format(budget)}")
    own = digest([case.digest, seed, budget])
    return lost.model_copy(update={"id": own, "budgets": (budget,), "seed": seed})


@dataclass
class Runs:
    """Of the chosen hyper-parameters, each made once; what failed is kept as its error."""

    content: Content
    folder: Path
    data_dir: str | None
    known: dict[tuple[int, int], TrialResult | FedkinError] = field(default_factory=dict)

    def of(self, seed: int, rounds: int) -> TrialResult | FedkinError:
        """One run.

        Args:
            seed: Of the run.
            rounds: Of the run.

        Returns:
            What it came to, or why it failed.

        Raises:
            Halted: The bench is stopped.
        """
        if (seed, rounds) not in self.known:
            whole = _with(self.content, seed, rounds)
            try:
                self.known[seed, rounds] = run_trial(
                    whole, self.folder / digest(whole), self.data_dir
                )
            except Halted:
                raise
            except FedkinError as error:  # it diverged under this seed, say
                self.known[seed, rounds] = error
        return self.known[seed, rounds]

    def used(self, budget: str, seed: int, rounds: int) -> Used | None:
        """What that run used of a budget; None where it failed.

        Args:
            budget: "bytes" or "compute".
            seed: Of the run.
            rounds: Of the run.

        Returns:
            Bytes or FLOPs, round by round.
        """
        done = self.of(seed, rounds)
        return _used(done, budget) if isinstance(done, TrialResult) else None


def _used(done: TrialResult, budget: str) -> Used:
    return done.flops if budget == "compute" else done.bytes


def _unknown(case: Case, allowance: Allowance | None) -> tuple[Any, ...]:
    """The budgets that nobody knows, for fedavg, whose use they are, could not be run."""
    if allowance is None or not allowance.missing:
        return ()
    return tuple(budget for budget in case.suite.budgets if budget != "rounds")


def _searched(
    case: Case, folder: Path, data_dir: str | None
) -> tuple[list[Tried], tuple[Content, TrialResult] | None]:
    """Every trial, and the best of them by validation; the first of equals."""
    tried: list[Tried] = []
    best: tuple[Content, TrialResult] | None = None
    seed, rounds = case.suite.seeds[0], case.setting.rounds
    for content in case.tried():
        whole = _with(content, seed, rounds)
        hyper = hyper_of(content)
        try:
            done = run_trial(whole, folder / digest(whole), data_dir)
        except Halted:
            raise
        except FedkinError as error:
            tried.append(Tried(hyper=hyper, lost=sentence(str(error))))
            continue
        tried.append(Tried(hyper=hyper, validation=done.validation))
        if best is None or _better(done, best[1]):
            best = content, done
    return tried, best


def _better(one: TrialResult, other: TrialResult) -> bool:
    sign = measure_named(one.seen.measure).sign
    return sign * comparable(one.validation) > sign * comparable(other.validation)


def _plan(
    case: Case, allowance: Allowance | None, seed: int, first: TrialResult, runs: Runs
) -> dict[int, list[str]]:
    """{rounds: the budgets that they keep under a seed}; 0: those that not one round fits."""
    rounds, slack = case.setting.rounds, case.suite.slack
    unknown = _unknown(case, allowance)
    plan: dict[int, list[str]] = {}
    most = int(rounds * case.suite.stretch)
    for budget in case.suite.budgets:
        if budget in unknown:
            continue
        fit = rounds
        if allowance is not None and budget != "rounds":
            start = runs.used(budget, seed, rounds) or _used(first, budget)
            used_by = partial(runs.used, budget, seed)
            whole = allowance.of(budget, seed)
            fit = rounds_within(whole, start, used_by, rounds=rounds, most=most, slack=slack)
        plan.setdefault(fit, []).append(budget)
    return plan


def _with(content: Content, seed: int, rounds: int) -> Content:
    changed = {"seed": seed, "rounds": rounds, "evaluate_every": rounds}
    return {**content, "run": {**content.get("run", {}), **changed}}


def hyper_of(content: Content) -> Content:
    """What a search chose: the method's own values and the rate.

    Args:
        content: A specification.

    Returns:
        {name: value}; "lr" is that of [train].
    """
    own = {key: value for key, value in content["method"].items() if key != "name"}
    return {**own, "lr": content["train"]["lr"]}


def _row(case: Case, content: Content, tried: list[Tried]) -> Row:
    spec = case.setting.spec
    parts = {key: spec.get(key, {}) for key in ("data", "split", "model")}
    hyper = hyper_of(content) if content else {}
    return Row(
        id=digest([case.digest, settled(content)]),
        case=case.digest,
        of=1,  # until all rows of the case are there
        suite=case.suite_name,
        setting=case.label,
        title=case.setting.title,
        data=parts["data"].get("name", ""),
        data_digest=case.data_digest,
        split=parts["split"].get("name", ""),
        model=parts["model"].get("name", ""),
        method=case.method,
        hyper=hyper,
        trials=tuple(tried),
        trials_allowed=case.suite.trials,
        slack=case.suite.slack,
        content=content,
        code=dict(case.code),
        commit=commit(),
        versions=versions(),
        machine=machine(),
        date=today(),
    )


def _missing(case: Case, content: Content, tried: list[Tried], why: str) -> Row:
    return _row(case, content, tried).model_copy(update={"missing": sentence(why)})


def _tested(done: TrialResult) -> Mapping[str, Any]:
    """Its last scores on test data; their mean is None where the measure is defined for nobody."""
    last: Mapping[str, Any] = done.found["headline"]["personal"]["final"]
    return last


def filled(row: Row, done: TrialResult, budgets: tuple[Any, ...]) -> Row:
    """The row with what its run came to.

    Args:
        row: Of a search, without numbers.
        done: What its run came to.
        budgets: Those that the run keeps.

    Returns:
        A copy.
    """
    last = _tested(done)
    up, down = bytes_up_and_down(done.found["communication"])
    numbers = {
        "seed": row.content["run"]["seed"],
        "rounds": row.content["run"]["rounds"],
        "budgets": budgets,
        "measure": done.seen.measure,
        "mean": last["mean"],
        "worst_decile": last["worst_decile"],
        "clients": {str(k): round(v, 6) for k, v in done.seen.personal.items()},
        "bytes_up": up,
        "bytes_down": down,
        "flops": done.flops.total,
        "seconds": round(done.seconds, 3),
        "epsilon": largest_epsilon(done.found),
        "fingerprint": done.found["fingerprint"],
        "own_digest": done.data_digest,
    }
    return row.model_copy(update=numbers)
