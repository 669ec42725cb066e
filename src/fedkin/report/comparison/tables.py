"""What ``fedkin compare`` tells, as tables of text: for the terminal and as Markdown."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from fedkin.core.escaping import markdown as markdown_text
from fedkin.core.measures import measure_named
from fedkin.report import formatting
from fedkin.report.comparison.compare import Comparison
from fedkin.report.comparison.damage import damage_sheet
from fedkin.report.comparison.damage import plain as plain_damages
from fedkin.report.comparison.experiments.over_seeds import AGAINST, counted
from fedkin.report.comparison.fitting import Fitting
from fedkin.report.comparison.rank_table import rank_table, ranked
from fedkin.report.comparison.run_row import COSTS, FINISHED, MEASURED
from fedkin.report.comparison.sheet import TIES, Sheet

Rows = Sequence[Mapping[str, Any]]
SENT = ("paper scalars", "paper bytes", "unicast bytes")  # counts, often equal under all seeds
PAIRED = ("clients", "difference", "low", "p", "better", "worse")  # what rows are sorted by
WEIGHTED = "by val.: weighted, at the best round by validation; global: weighted, final"


def compare(comparison: Comparison) -> RenderableType:
    """The comparison for the terminal.

    Args:
        comparison: The runs and their numbers, as ``compare.comparison`` reads them.

    Returns:
        What rich prints: tables, hints and warnings.
    """
    parts: list[RenderableType] = [_fitting(sheet, comparison) for sheet in tables_of(comparison)]
    parts += [Text(hint) for hint in comparison.hints]
    parts += [
        Text(f"! {text}", style="yellow") for text in [*troubles(comparison), *comparison.warnings]
    ]
    return Group(*parts)


def markdown(comparison: Comparison) -> str:
    """The comparison as Markdown.

    Args:
        comparison: The runs and their numbers, as ``compare.comparison`` reads them.

    Returns:
        Tables, then hints and warnings as a list.
    """
    lines: list[str] = []
    for sheet in tables_of(comparison):
        lines += [f"**{sheet.title}**", "", _piped(sheet.columns)]
        lines += [_piped(["---"] * sheet.texts + ["---:"] * (len(sheet.columns) - sheet.texts))]
        lines += [*map(_piped, sheet.rows), "", *([sheet.caption, ""] if sheet.caption else [])]
    lines += [f"- {text}" for text in notes(comparison)]
    return "\n".join(lines).rstrip() + "\n"


def notes(comparison: Comparison) -> list[str]:
    """What is said below the tables.

    Args:
        comparison: The runs and their numbers, as ``compare.comparison`` reads them.

    Returns:
        Hints, then warnings.
    """
    return [*comparison.hints, *troubles(comparison), *comparison.warnings]


def plain(comparison: Comparison) -> dict[str, Any]:
    """The comparison as plain values: what ``fedkin compare --json`` prints.

    Args:
        comparison: The runs and their numbers, as ``compare.comparison`` reads them.

    Returns:
        {"measure", "runs", "ranks", "seeds", "baseline", "against", "choice", "damage", "warnings",
        "hints"}.
    """
    return {
        "measure": comparison.measure,
        "runs": comparison.rows,
        "ranks": ranked(comparison)[0],
        "seeds": comparison.over_seeds,
        "baseline": comparison.baseline,
        "against": comparison.pairs,
        "choice": comparison.settings,
        "damage": plain_damages(comparison.seen),
        "warnings": [*troubles(comparison), *comparison.warnings],
        "hints": comparison.hints,
    }


def troubles(comparison: Comparison) -> list[str]:
    """Which runs are not finished, or damaged.

    Args:
        comparison: The runs and their numbers, as ``compare.comparison`` reads them.

    Returns:
        A sentence a run.
    """
    return [
        f"{row['run']} is {row['state']}" for row in comparison.rows if row["state"] != FINISHED
    ]


def tables_of(comparison: Comparison) -> list[Sheet]:
    """Those that have something to tell.

    Args:
        comparison: The runs and their numbers, as ``compare.comparison`` reads them.

    Returns:
        At least one row each.
    """
    view = view_of(comparison.rows)
    every = [_scores(comparison, view), _costs(comparison.rows)]
    return [*(sheet for sheet in every if sheet.rows), *experiment_sheets(comparison)]


def experiment_sheets(comparison: Comparison, means: bool = True) -> list[Sheet]:
    """Those whose rows are experiments, not runs.

    Args:
        comparison: The runs and their numbers, as ``compare.comparison`` reads them.
        means: Whether those over seeds are among them.

    Returns:
        At least one row each.
    """
    every = [
        rank_table(comparison),
        _seeds(
            comparison.over_seeds if means else [], view_of(comparison.rows), comparison.measure
        ),
        _against(comparison.pairs, comparison.baseline, comparison.measure),
        _choice(comparison.settings),
        damage_sheet(comparison.seen),
    ]
    return [sheet for sheet in every if sheet.rows]


def _scores(comparison: Comparison, view: str) -> Sheet:
    runs, measure = comparison.rows, comparison.measure
    shown = score_columns(runs, view, measure)
    whole = all(row["state"] == FINISHED for row in runs)
    columns = ["run", "method", *([] if whole else ["state"]), "seed", "rounds", *shown.values()]
    rows = []
    for row in runs:
        state = [] if whole else ["" if row["state"] == FINISHED else row["state"].split(":")[0]]
        cells = [
            row["run"],
            row["method"] or formatting.NONE,
            *state,
            formatting.integer(row["seed"]),
            formatting.integer(row["rounds"]),
        ]
        rows.append([*cells, *(cell(name, row[name], measure) for name in shown)])
    title = scores_are(measure, view)
    return Sheet(title, columns, rows, 2 if whole else 3, WEIGHTED if view else "")


def scores_are(measure: str, view: str) -> str:
    """What the scores of runs are, and their unit.

    Args:
        measure: The name of the measure.
        view: "personal", "global" or "", as ``view_of`` finds it.

    Returns:
        The beginning of a sentence, or a title.
    """
    return f"Test {_with_unit(measure)} over clients, {view or 'personal'} view, final round"


def _with_unit(measure: str) -> str:
    unit = " in %" if formatting.is_share(measure) else ""
    return f"{formatting.label(measure)}{unit}"


def _costs(runs: Rows) -> Sheet:
    names = {name: name for name in COSTS} | {"helped": "helped %", "hurt": "hurt %"}
    shown = {name: title for name, title in names.items() if has(runs, name)}
    rows = [[row["run"], *(cell(name, row[name]) for name in shown)] for row in runs]
    return Sheet(costs_are(shown), ["run", *shown.values()], rows, 1)


def costs_are(shown: Collection[str]) -> str:
    """What a table of costs has.

    Args:
        shown: Its columns.

    Returns:
        A title.
    """
    return (
        "Costs, and clients better or worse off than under local" if "helped" in shown else "Costs"
    )


def _seeds(seeds: Rows, view: str, measure: str) -> Sheet:
    shown = score_columns(seeds, view, measure) | {
        name: name for name in ("paper bytes", "unicast bytes", "seconds")
    }
    rows = []
    for row in seeds:
        numbers = [spread(name, row, measure) for name in shown]
        rows.append([row["method"], row["setting"], counted(row["seeds"]), *numbers])
    what = _with_unit(measure)
    title = f"Finished runs that differ only in seed: test {what}, mean ± sd over seeds"
    columns = ["method", "setting", "seeds", *shown.values()]
    values = [[row[name] for name in shown] for row in seeds]
    return Sheet(title, columns, rows, 3, WEIGHTED if view else "", values)


def spread(name: str, row: Mapping[str, Any], measure: str) -> str:
    """A mean over seeds with its standard deviation: 72.10 ± 0.83.

    Args:
        name: Of the column.
        row: Of ``over_seeds``.
        measure: What the scores are.

    Returns:
        A dash of what an experiment has not; the mean alone of one seed, and of what is sent
        where it is the same under all.
    """
    mean, apart = cell(name, row[name], measure), row[f"{name} sd"]
    if mean == formatting.NONE or apart != apart or (name in SENT and not apart):
        return mean
    return f"{mean} ± {cell(name, apart, measure)}"


def _against(against: Rows, baseline: str, measure: str) -> Sheet:
    rows = []
    for row in against:
        form = _points if formatting.is_share(row["measure"]) else formatting.decimal
        low, high = form(row["low"]), form(row["high"])
        numbers = [form(row["difference"]), f"{low} … {high}", _p(row["p"])]
        shares = [
            formatting.percent_or_dash(row[name]).removesuffix(" %") for name in ("better", "worse")
        ]
        words = [row["method"], row["setting"], counted(row["seeds"])]
        rows.append([*words, str(row["clients"]), *numbers, *shares])
    unit = ", in points of %" if formatting.is_share(measure) else ""
    less = "" if measure_named(measure).higher else " (less is better)"
    label = formatting.label(measure)
    columns = ["method", "setting", "seeds", "pairs", "mean difference", "95% interval", "p"]
    return Sheet(
        title=f"Client by client against {baseline}: final personal test {label}{unit}{less}",
        columns=[*columns, "better %", "worse %"],
        rows=rows,
        texts=3,
        values=[[row[name] for name in PAIRED] for row in against],
        caption="a pair is a client under one seed; "
        f"interval: {formatting.WAYS}; of several seeds: Student's t, by seeds and their clients; "
        "p: Wilcoxon, signed rank, of one seed (it compares ranks; for the mean take the interval)",
    )


def _choice(choice: Rows) -> Sheet:
    rows = []
    for row in choice:
        verdict = "chosen" if row["chosen"] else ""
        columns = [
            formatting.value(row["measure"], row["validation"]),
            formatting.rank(row["rank"], row["tie"]),
        ]
        rows.append([row["method"], row["setting"], verdict, counted(row["seeds"]), *columns])
    title = "Settings by validation, final round; only the chosen ones are in the tables above"
    return Sheet(title, ["method", "setting", "", "seeds", "validation", "rank"], rows, 4, TIES)


def has(rows: Rows, name: str) -> bool:
    """Whether any row has a number there.

    Args:
        rows: Of a table.
        name: Of a column that all of them have.

    Returns:
        False where all are None or nan.
    """
    return any(row[name] is not None and row[name] == row[name] for row in rows)


def view_of(runs: Rows) -> str:
    """The view that the table shows; "" if no run has an accuracy.

    Args:
        runs: Rows, one a run.

    Returns:
        "personal", "global" or "".
    """
    for view in ("personal", "global"):
        if has(runs, f"{view} final mean"):
            return view
    return ""


def score_columns(table: Rows, view: str, measure: str) -> dict[str, str]:
    """{column: heading} of the scores that are shown.

    Args:
        table: Rows of runs or of experiments.
        view: "personal" or "global"; "": losses are shown.
        measure: What the scores are.

    Returns:
        In the order of the table.
    """
    others = [
        name
        for name, of in MEASURED.items()
        if of != measure and name.startswith(view or "personal")
    ]
    measured = {name: name for name in others if has(table, name)}
    if not view:
        losses = [f"{name} loss" for name in ("personal", "global") if has(table, f"{name} loss")]
        return {name: name for name in losses} | measured
    names = {"mean": "mean", "weighted": "weighted", "std": "std", "worst decile": "worst decile"}
    shown = {f"{view} final {name}": title for name, title in names.items()}
    shown[f"{view} best by validation weighted"] = "by val."
    if view == "personal" and has(table, "global final weighted"):
        shown["global final weighted"] = "global"
    return shown | {name: name.removeprefix(f"{view} ") for name in measured}


def cell(name: str, value: float, measure: str = "accuracy") -> str:
    """A number of a run as text, by the name of its column;

    Args:
        name: Of the column.
        value: The number, or nan.
        measure: What the scores are.

    Returns:
        Text; a dash for nan.
    """
    if name.endswith(" bytes"):
        return formatting.size(value)
    if name == "paper scalars":
        return formatting.count(value)
    if name.startswith("seconds"):
        return formatting.seconds(value)
    if name.endswith("loss"):
        return formatting.decimal(value)
    known = MEASURED.get(name, "accuracy" if name in AGAINST else measure)
    return formatting.value(known, value).removesuffix(" %")


def _points(value: float | None) -> str:
    """0.0123 → +1.23."""
    if value is None or value != value:
        return formatting.NONE
    return f"{round(100 * value, 2) + 0.0:+.2f}"  # no -0.00


def _p(value: float | None) -> str:
    if value is None or value != value:
        return formatting.NONE
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def _fitting(sheet: Sheet, comparison: Comparison) -> Fitting:
    unfinished = {row["run"] for row in comparison.rows if row["state"] != FINISHED}
    return Fitting(sheet, [at for at, cells in enumerate(sheet.rows) if cells[0] in unfinished])


def _piped(cells: Sequence[str]) -> str:
    return f"| {' | '.join(markdown_text(cell).replace('|', chr(92) + '|') for cell in cells)} |"
