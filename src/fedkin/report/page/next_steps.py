"""What a run shows, in words, and what to try next."""

import shlex
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from fedkin.core.measures import measure_named
from fedkin.report import formatting
from fedkin.report.collaboration import Groups
from fedkin.report.page.gain import LOCAL, Gain
from fedkin.report.page.lead import absolute_difference, ends_of, signed
from fedkin.report.records import Run
from fedkin.report.scores import curves
from fedkin.report.words import run_words
from fedkin.report.words.deployed import summed_up
from fedkin.runs.directory import SPEC, of_value, resumed_by
from fedkin.runs.record import FEDERATION

LEVEL = 0.05  # of the signed-rank test
FEW = 8  # clients, from which medians of two groups say something
NAMED = 5  # clients that a sentence names
LATE = 0.2  # share of the rounds that is the end of a run
WORTH = 0.005  # of a measure between 0 and 1: a change that is worth more rounds
# validation samples: that fewer turn right from one round to another is chance at the level of 5 %,
# even if none turns wrong (two-sided sign test)
ROWS = 6


class NextStep(NamedTuple):
    """A sentence, and the command that does what it says, where there is one."""

    text: str
    command: str = ""


def next_steps(
    run: Run, summary: Mapping[str, Any], gain: Gain | None, groups: Groups | None
) -> list[NextStep]:
    """What the record shows, the most important first.

    Args:
        run: An open run.
        summary: Its ``summary``.
        gain: On a baseline; None: there is none.
        groups: Of clients, as the method found them; None: there are none.

    Returns:
        A few steps, or [].
    """
    folder = shown(run.folder)
    steps = []
    if not summary["finished"]:
        advice = f"The run stopped after {run_words.progress(summary)}: it can go on from there."
        steps.append(NextStep(advice, resumed_by(shlex.split(folder)[0], run.facts)))
    steps += _of_divergence(run)
    if not summary["headline"]:
        return steps
    steps += _of_gain(run, summary, gain, folder) if gain is not None else []
    steps += [NextStep(f"{advice[:1].upper()}{advice[1:]}.") for advice in summed_up(summary)]
    steps += [NextStep(advice) for advice in _of_groups(gain, groups)] if gain is not None else []
    steps += _of_rounds(run, summary)
    summed = bool(run.rows("SELECT 1 FROM metrics WHERE client = ? LIMIT 1", FEDERATION))
    unknown = summary["method"] != LOCAL and (gain is None or gain.against != LOCAL)
    if unknown and not summed:  # of sums nobody can say who is helped
        advice = "How each client would do alone is not known yet: make the same run with local."
        beside = shown(run.folder.parent / LOCAL)
        steps.append(
            NextStep(advice, f"fedkin run {_spec_file(run)} --method local --out {beside}")
        )
    everything = "Every number, for a script:"
    steps.append(NextStep(everything, f"fedkin show {folder} --json"))
    return [_typed(step, run) for step in steps] if of_value(run.facts) else steps


def _typed(step: NextStep, run: Run) -> NextStep:
    """Without a command that would run a method which no command can name."""
    file = _spec_file(run)
    again = step.command.startswith((f"fedkin run {file}", f"fedkin doctor {file}"))
    return NextStep(step.text) if again and "--method" not in step.command else step


def box(steps: Sequence[NextStep], what: str = "this run") -> str:
    """The steps as a part of the page.

    Args:
        steps: In their order.
        what: What shows them.

    Returns:
        HTML.
    """
    items = "".join(
        f"<li>{escape(step.text)}"
        + (f"<code>{escape(step.command)}</code>" if step.command else "")
        + "</li>"
        for step in steps
    )
    return (
        '<section id="next" aria-labelledby="next-title"><h2 id="next-title">'
        f"What {escape(what)} shows, and what to do next</h2><ul>{items}</ul></section>"
    )


def _of_gain(run: Run, summary: Mapping[str, Any], gain: Gain, folder: str) -> list[NextStep]:
    steps = [NextStep(_verdict(gain))] if gain.helped or gain.hurt else []
    if gain.hurt:
        steps.append(NextStep(_who(run, gain)))
    safe = _spec(run, "method").get("safe")
    if gain.hurt and not safe and summary["method"] != LOCAL:
        advice = "Fewer clients lose: with safe = true each one keeps what its validation prefers."
        steps.append(NextStep(advice, f"fedkin run {_spec_file(run)} --set method.safe=true"))
    if gain.mean < 0 and gain.sure:
        advice = f"Better here: {gain.name}. The doctor says whether federating can help."
        steps.append(NextStep(advice, f"fedkin doctor {_spec_file(run)}"))
    if gain.run:
        both = f"{shown(Path(gain.run))} {folder}"
        steps.append(NextStep("Both side by side:", f"fedkin compare {both} --html compare.html"))
    return steps


def _verdict(gain: Gain) -> str:
    p = ""
    if gain.p is not None:
        p = f", Wilcoxon p {'< 0.0001' if gain.p < 1e-4 else f'= {gain.p:.4f}'}"
    if gain.low is None:
        return "One client alone says nothing of chance."
    if not gain.sure:
        return (
            f"Not significant: the interval of the gain, {ends_of(gain)}, includes 0{p}. "
            "More seeds or more clients would tell."
        )
    what = "gain" if gain.mean > 0 else "loss"
    if gain.p is not None and gain.p >= LEVEL:
        return (
            f"Not certain: the interval of the {what} leaves 0 out ({ends_of(gain)}), the "
            f"signed-rank test does not{p}. More seeds or more clients would tell."
        )
    return (
        f"Significant for clients like these under this seed: the {what} is unlikely to be chance "
        f"({ends_of(gain)}{p}). Another seed may differ."
    )


def _who(run: Run, gain: Gain) -> str:
    """Who is hurt, the most first, and how much data they and the helped have."""
    worst = sorted(gain.hurt, key=lambda k: gain.by_client[k])
    named = ", ".join(
        f"{run.name(k)} ({signed(gain.measure, gain.by_client[k])})" for k in worst[:NAMED]
    )
    more = f" and {len(worst) - NAMED} more" if len(worst) > NAMED else ""
    who = "client" if len(worst) == 1 else "clients"
    sentence = f"Worse off than with {gain.name}: {who} {named}{more}."
    if min(len(gain.hurt), len(gain.helped)) * 2 < FEW:
        return sentence
    here, there = (_median_size(run, clients) for clients in (gain.hurt, gain.helped))
    return (
        f"{sentence} Median training samples: theirs {here:.0f}, those of the helped {there:.0f}."
    )


def _median_size(run: Run, clients: Sequence[int]) -> float:
    return float(median(run.clients[k].train for k in clients if k in run.clients))


def _of_groups(gain: Gain, groups: Groups | None) -> list[str]:
    """Which group gains most and least."""
    if groups is None:
        return []
    members: dict[str, list[float]] = {}
    for client, apart_ in gain.by_client.items():
        if client in groups.of:
            members.setdefault(str(groups.of[client]), []).append(apart_)
    if len(members) < 2:
        return []
    means = {name: sum(each) / len(each) for name, each in members.items()}
    best, worst = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
    if means[best] == means[worst]:
        return []
    remarks = [
        f"{groups.kind} {name} ({formatting.many(len(members[name]), 'client')}, mean "
        f"{signed(gain.measure, means[name])})"
        for name in (best, worst)
    ]
    return [f"Most gains: {remarks[0]}. Least: {remarks[1]}."]


def _of_rounds(run: Run, summary: Mapping[str, Any]) -> list[NextStep]:
    """Whether the rounds were too few, or too many, by validation data."""
    view, picks = next(iter(summary["headline"].items()))
    best, measure = picks["best_by_validation"], summary["measure"]
    curve = curves(run, measure)[view]
    points = zip(curve.rounds, curve.validation, strict=True)
    # what clients do at the end by themselves is no round, and more rounds are no more of it
    known = [(at, v) for at, v in points if v is not None and at <= summary["rounds"]]
    if best is None or len(known) < 5:
        return []
    sign = measure_named(measure).sign
    late = known[-1 - max(1, round(LATE * len(known)))]
    last = known[-1][1]
    changed = sign * (last - late[1])
    scale = max(abs(last), 1e-9) if measure_named(measure).most != 1.0 else 1.0
    top = dict(known).get(best["round"], last)
    least, lost = _by_chance(run, measure), sign * (top - last)
    rounds = run.planned() or len(known)
    if changed > WORTH * scale and changed >= least:
        advice = (
            f"Validation {formatting.label(measure)} still improved by "
            f"{absolute_difference(measure, changed)} since round {late[0]}: more rounds may help."
        )
        return [NextStep(advice, f"fedkin run {_spec_file(run)} --rounds {2 * rounds}")]
    if lost > 2 * WORTH * scale and lost >= least:
        advice = (
            f"By validation round {best['round']} was better than the last by "
            f"{absolute_difference(measure, abs(top - last))}: fewer rounds or a smaller step may "
            "be enough."
        )
        return [NextStep(advice, f"fedkin run {_spec_file(run)} --rounds {best['round']}")]
    return []


def _by_chance(run: Run, measure: str) -> float:
    """The least change of a measure that can be more than chance: of accuracy that of ``ROWS``
    validation samples; 0 of others, which are not counts.
    """
    if measure != "accuracy":
        return 0.0
    ((samples,),) = run.rows("SELECT sum(val) FROM clients")
    return ROWS / samples * (1 - 1e-9) if samples else 0.0


def _of_divergence(run: Run) -> list[NextStep]:
    """Whose loss was no finite number, in how many of the rounds that were evaluated. Of a split
    that holds no samples nobody has a loss.
    """
    query = f"""
        WITH held AS (
            SELECT client, train, val, test FROM clients
            UNION ALL SELECT {FEDERATION}, sum(train), sum(val), sum(test) FROM clients
        )
        SELECT count(DISTINCT m.round), max(m.round), count(DISTINCT m.client), min(m.client)
        FROM metrics m JOIN held USING (client)
        WHERE m.loss IS NULL
            AND CASE m.split WHEN 'train' THEN train WHEN 'val' THEN val ELSE test END > 0
    """
    ((rounds, last, clients, first),) = run.rows(query)
    if not rounds:
        return []
    ((evaluated,),) = run.rows("SELECT count(DISTINCT round) FROM metrics")
    of_sum = first == FEDERATION
    who = "a client or more" if of_sum else formatting.many(clients, "client")
    advice = (
        f"Diverged: the loss of {who} was no finite number in {rounds} of "
        f"{formatting.many(evaluated, 'evaluated round')}, last in round {last}."
    )
    lr = _spec(run, "train").get("lr")
    if not isinstance(lr, int | float) or isinstance(lr, bool) or lr <= 0:
        return [NextStep(advice)]
    command = f"fedkin run {_spec_file(run)} --set train.lr={lr / 10:g}"
    return [NextStep(f"{advice} A smaller learning rate may be enough:", command)]


def _spec(run: Run, section: str) -> Mapping[str, Any]:
    section_facts = (run.facts.get("spec") or {}).get(section)
    return section_facts if isinstance(section_facts, Mapping) else {}


def _spec_file(run: Run) -> str:
    return shown(run.folder / SPEC)


def shown(path: Path) -> str:
    """A path to be typed here.

    Args:
        path: Of a file or folder.

    Returns:
        ``near`` it, quoted for a shell.
    """
    return shlex.quote(str(near(path)))


def near(path: Path) -> Path:
    """A path as seen from here; a page that is passed on names no folders of this machine.

    Args:
        path: Of a file or folder.

    Returns:
        Relative where it can be, else its last part (of an experiment's file the last two).
    """
    whole, here = path.absolute(), Path.cwd()
    if whole.is_relative_to(here):
        return whole.relative_to(here)
    return Path(*whole.parts[-2:]) if whole.name == SPEC else Path(whole.name)
