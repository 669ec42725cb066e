"""What ``compare`` knows of one run: its row, its clients' scores, which data it had and which
experiment it was.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError, named_line
from fedkin.core.measures import in_columns, measure_named
from fedkin.core.system.digests import text_of
from fedkin.report import formatting
from fedkin.report.comparison.setting import Setting, setting
from fedkin.report.comparison.specified import of_values, specified
from fedkin.report.records import Run, opened
from fedkin.report.scores import scores, values
from fedkin.report.summary import of_run
from fedkin.report.words import run_words
from fedkin.runs.directory import OWN
from fedkin.runs.record import FEDERATION

# Without the best round on test: what is chosen on test data is not compared
PICKS = {pick: formatting.PICKS[pick] for pick in ("final", "best_by_validation")}
SPREADS = {key: formatting.SPREADS[key] for key in ("mean", "weighted", "worst_decile", "std")}
SCORES = [
    f"{view} {pick} {name}"
    for view in ("personal", "global")
    for pick in PICKS.values()
    for name in SPREADS.values()
]
COSTS = ["paper scalars", "paper bytes", "unicast bytes", "seconds per round", "seconds"]
MEASURED = {
    f"{view} {measure_named(name).label}": name
    for view in ("personal", "global")
    for name in in_columns()
}
NUMBERS = [*SCORES, "personal loss", "global loss", *MEASURED, *COSTS]
FINISHED = "finished"
SAME_PERSONS = ("natural", OWN)  # splits whose clients are the same under every seed
# sections of a specification that are compared as a Setting
IN_SETTING = ("data", "split", "public", "run", "engine")
# what else in [run] tells experiments apart
OF_RUN = ("sampling", "holdout_clients", "holdout_labels", "patience")
TUNED = ("method", "train")  # sections whose values are hyper-parameters


class ComparedRun(NamedTuple):
    """One run. A damaged one has a row, and nothing else."""

    row: dict[str, Any]
    setting: Setting | None = None  # which client data
    experiment: str = ""  # everything but the seed
    family: str = ""  # everything but the seed and the hyper-parameters
    measure: str = ""  # what the row's scores, ``personal`` and ``validation`` are
    personal: Mapping[int, float] = {}  # on test, by client, final
    validation: float | None = (
        None  # weighted by validation samples; ±inf where a client's is no number
    )
    validated: Mapping[int, float] = {}  # the same by client, those where it is defined
    samples: Mapping[int, int] = {}  # of validation, by client: what ``validation`` is weighted by
    unscored: str = ""  # a sentence: why the final numbers are not of the finished model
    said: Sequence[str] = ()  # sentences: what single numbers of the row are not, or are not of
    hyper: Mapping[str, Any] = {}
    tuned: Mapping[str, Any] = {}  # the same, and [train]
    folder: Path | None = None
    attacked: bool = False  # some of its clients are hostile on purpose
    persons: Mapping[int, str] = {}  # natural clients' names, by which other seeds have them too
    specified: Mapping[str, Any] = {}  # what else was asked for: see ``specified``
    summed: bool = False  # secure aggregation: a mean is known, and no client's score
    safe: bool = False  # [method] safe was asked for
    fingerprint: str = ""  # of the finished model: equal where each bit of it is
    engine: str = ""  # what was asked of the engine, which changes seconds and no bit

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return bool(self.row["state"] == FINISHED)

    @property
    def name(self) -> str:
        """What tables call the run."""
        return str(self.row["run"])

    def same_data(self, other: "ComparedRun") -> bool:
        """Whether both runs had the same client data.

        Args:
            other: Another run.

        Returns:
            False where one of them is damaged.
        """
        return (
            self.setting is not None
            and other.setting is not None
            and self.setting.same(other.setting)
        )


def read_run(folder: Path, name: str, asked: str | None = None) -> ComparedRun:
    """What one run tells; a damaged one tells only that.

    Args:
        folder: The run directory.
        name: What tables call it.
        asked: A measure in place of the run's own.

    Returns:
        Its row, and what it is compared by.
    """
    return read_with_summary(folder, name, asked)[0]


def read_with_summary(
    folder: Path, name: str, asked: str | None = None
) -> tuple[ComparedRun, Mapping[str, Any]]:
    """The same, and the run's summary, which it is made of; {} of a damaged run.

    Args:
        folder: The run directory.
        name: What tables call it.
        asked: A measure in place of the run's own.

    Returns:
        (what ``read_run`` gives, what ``summary`` gives).
    """
    try:
        with opened(folder) as run:
            summary = of_run(run, asked)
            scored = _scored(run, summary)
            facts = run.facts
            natural = facts.get("split") in SAME_PERSONS
            persons = {k: client.name for k, client in run.clients.items()} if natural else {}
            seen = _seen(Path(folder), name, summary, scored, facts, persons)
            unscored = _unscored(run, summary)
            remarks = [*filter(None, [unscored]), *seen.said]
            return seen._replace(said=remarks, unscored=unscored), summary
    except FedkinError as error:
        return ComparedRun({"run": name, "state": f"damaged: {error}"}), {}
    # a value of another kind
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return ComparedRun({"run": name, "state": f"damaged: {named_line(error)}"}), {}


def names(folders: Sequence[Path]) -> list[str]:
    """The folders' own names, or their whole paths where those are not unique.

    Args:
        folders: Run directories.

    Returns:
        A name each, no two alike.
    """
    short = [Path(folder).name or str(folder) for folder in folders]
    return short if len(set(short)) == len(short) else [str(folder) for folder in folders]


def by_experiment(seen: Sequence[ComparedRun]) -> list[list[ComparedRun]]:
    """The finished runs that differ in their seed only, each seed once (the first given).

    Args:
        seen: Runs, of which unfinished ones are left out.

    Returns:
        A list an experiment, in the order of their first runs.
    """
    groups: dict[str, dict[Any, ComparedRun]] = {}
    for one in seen:
        if one.finished:
            groups.setdefault(one.experiment, {}).setdefault(one.row["seed"], one)
    return [list(group.values()) for group in groups.values()]


class _Scored(NamedTuple):
    """A run's final scores; the fields of ``ComparedRun`` of these names."""

    personal: Mapping[int, float] = {}
    validation: float | None = None
    validated: Mapping[int, float] = {}
    samples: Mapping[int, int] = {}
    summed: bool = False


def _scored(run: Run, summary: Mapping[str, Any]) -> _Scored:
    """Of the last round that evaluated; nothing where none did."""
    last = (summary["headline"].get("personal") or {}).get("final")
    if last is None:
        return _Scored()
    measure = summary["measure"]
    by_client = values(run, last["round"], "personal", measure)
    personal = {
        client: value
        for client, value in by_client.items()
        if value is not None and client != FEDERATION  # whose mean is no client's
    }
    validation, validated, samples = _validation(run, last["round"], measure)
    return _Scored(personal, validation, validated, samples, FEDERATION in by_client)


def _chosen(spec: Mapping[str, Any], summary: Mapping[str, Any]) -> dict[str, Any]:
    """What [run] asks for that tells experiments apart; whom rounds evaluated is of it, for the
    final numbers are those clients'.
    """
    asked_for = (spec.get("run") or {}).items()
    # a run from before a key was there is as one that leaves it open
    chosen = {name: value for name, value in asked_for if name in OF_RUN and value is not None}
    if (summary["evaluated"] or {}).get("who") == "participants":
        chosen["evaluate"] = "participants"
    return chosen


def _seen(
    folder: Path,
    name: str,
    summary: dict[str, Any],
    scored: _Scored,
    facts: Mapping[str, Any],
    persons: Mapping[int, str],
) -> ComparedRun:
    """What a record says, of whatever kind its values are."""
    whole = facts.get("spec") or {}
    chosen = _chosen(whole, summary)
    data = setting(facts, summary["clients"])
    held, code = of_values(facts)
    experiment, family = _identities(facts, data, chosen, held, code)
    hyper = facts.get("hyper") or {}
    return ComparedRun(
        row=_row(name, summary),
        setting=data,
        experiment=experiment,
        family=family,
        measure=summary["measure"],
        personal=scored.personal,
        validation=scored.validation,
        validated=scored.validated,
        samples=scored.samples,
        said=[
            *run_words.diverged_views(summary),
            *run_words.undefined_views(summary),
            *_asked(summary),
        ],
        hyper=hyper,
        tuned=_tuned({**held, **hyper}, whole.get("train") or {}),
        folder=folder,
        attacked=any(one.get("name") == "attack" for one in whole.get("transforms") or []),
        persons=persons,
        specified=specified(facts, chosen, summary["clients"]),
        summed=scored.summed,
        safe=bool((whole.get("method") or {}).get("safe")),
        fingerprint=str(summary["fingerprint"] or ""),
        engine=text_of(whole.get("engine") or {}),
    )


def _identities(
    facts: Mapping[str, Any],
    data: Setting,
    chosen: Mapping[str, Any],
    held: Mapping[str, Any],
    code: Mapping[str, Any],
) -> tuple[str, str]:
    """(``ComparedRun.experiment``, ``ComparedRun.family``).

    ``held`` and ``code`` are those of ``of_values``.
    """
    whole = facts.get("spec") or {}
    spec = {part: content for part, content in whole.items() if part not in IN_SETTING}
    untuned = {part: content for part, content in spec.items() if part not in TUNED}
    parts = ("method", "rounds", "participation", "model", "versions")
    named = str((whole.get("method") or {}).get("name"))
    if ":" in named:  # a function of somebody's module: another module may have one of its name
        code = {**code, "method.path": named}
    fixed = [data.text, chosen, *(facts.get(part) for part in parts), *([code] if code else [])]
    whole_key = text_of([fixed, facts.get("hyper"), spec, *([held] if held else [])])
    return whole_key, text_of([fixed, untuned])


def _validation(
    run: Run, at: int, measure: str
) -> tuple[float | None, dict[int, float], dict[int, int]]:
    """(the mean weighted by validation samples, by client where it is defined, those samples).

    A client whose loss is no number diverged: worse than any number. One where the measure is not
    defined, as an AUC of one class, has no say.
    """
    by_client = values(run, at, "personal", measure, "val")
    losses = {k: loss for k, (loss, _) in scores(run, at, "personal", "val").items()}
    worst = -math.inf if measure_named(measure).higher else math.inf
    if FEDERATION in by_client:  # a sum is weighted already, and has no clients
        validated = any(client.val for client in run.clients.values())
        spoiled = validated and losses[FEDERATION] is None
        return worst if spoiled else by_client[FEDERATION], {}, {}
    sizes = {k: run.clients[k].val for k in by_client if k in run.clients and run.clients[k].val}
    known: dict[int, float] = {}
    for k in sizes:
        value = worst if losses[k] is None else by_client[k]
        if value is not None:
            known[k] = value
    if not known:
        return None, {}, {}
    mean = sum(value * sizes[k] for k, value in known.items()) / sum(sizes[k] for k in known)
    return mean, {k: value for k, value in known.items() if math.isfinite(value)}, sizes


def _unscored(run: Run, summary: Mapping[str, Any]) -> str:
    """Of a finished model that nobody could score, as where a client lied in its evaluation under
    masks: the final numbers are those of an earlier model; "" of any other.
    """
    shown = {picks["final"]["round"] for picks in summary["headline"].values()}
    if not run.finished or not shown or max(shown) == run.database.last_round():
        return ""
    return f"the finished model has no scores: its final numbers are of round {max(shown)}"


def _asked(summary: Mapping[str, Any]) -> list[str]:
    """Whom the run's rounds evaluated, and how sure the numbers of the best round are."""
    remarks = run_words.evaluation_remarks(summary)
    for view, picks in summary["headline"].items() if remarks else ():
        ends = (picks["best_by_validation"] or {}).get("interval")
        remarks = [
            f"{sentence}; {view}: {formatting.interval(summary['measure'], ends)}"
            for sentence in remarks
        ]
    return remarks


def _tuned(hyper: Mapping[str, Any], train: Mapping[str, Any]) -> dict[str, Any]:
    """With [train], but for what the method took over from it. [method] safe is recorded among the
    hyper-parameters where it is asked for.
    """
    return {
        "safe": False,
        **hyper,
        **{f"train.{name}": value for name, value in train.items() if name not in hyper},
    }


def _row(name: str, summary: dict[str, Any]) -> dict[str, Any]:
    row = {key: summary[key] for key in ("method", "seed", "rounds", "measure")} | {"run": name}
    planned = "?" if summary["planned"] is None else summary["planned"]
    row["state"] = (
        FINISHED if summary["finished"] else f"unfinished: round {summary['rounds']} of {planned}"
    )
    for view in ("personal", "global"):
        for pick, shown in PICKS.items():
            numbers = (summary["headline"].get(view) or {}).get(pick) or {}
            row |= {f"{view} {shown} {SPREADS[key]}": numbers.get(key) for key in SPREADS}
        row[f"{view} loss"] = summary["loss"].get(view, {}).get("final", {}).get("mean")
        accuracy = (summary["accuracy"].get(view) or {}).get("final") or {}
        measures = {"accuracy": accuracy, **summary["measures"].get(view, {})}
        row |= {
            f"{view} {formatting.label(name)}": measures.get(name, {}).get("mean")
            for name in in_columns()
        }
    row["paper scalars"] = summary["communication"]["paper"]["scalars"]["total"]
    row["paper bytes"] = summary["communication"]["paper"]["bytes"]["total"]
    row["unicast bytes"] = summary["communication"]["unicast"]["bytes"]["total"]
    row["seconds per round"] = summary["seconds"]["per_round"]
    row["seconds"] = summary["seconds"]["total"]
    return row
