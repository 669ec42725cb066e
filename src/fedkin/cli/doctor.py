"""``fedkin doctor``: an experiment looked at before it is run."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedkin.cli import completion
from fedkin.cli.options import (
    AsJson,
    Changes,
    ClientsAsInRun,
    DataAsInRun,
    DataDir,
    MethodAsInRun,
    SpecFile,
    SplitAsInRun,
    TrustCode,
    path_as_text,
)
from fedkin.cli.talk.json_output import print_json
from fedkin.experiment.terminal import console, tell_hints

if TYPE_CHECKING:
    from rich.table import Table


def doctor(
    spec: SpecFile = None,
    data: DataAsInRun = None,
    method: MethodAsInRun = None,
    split: SplitAsInRun = None,
    clients: ClientsAsInRun = None,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure",
            metavar="NAME",
            help="As in fedkin run.",
            autocompletion=completion.measure_names,
        ),
    ] = None,
    rounds: Annotated[
        int, typer.Option("--rounds", min=0, help="Rounds of the cost probe; 0: no probe.")
    ] = 3,
    methods: Annotated[
        str | None,
        typer.Option("--methods", metavar="NAME,…", help="Further methods for the cost probe."),
    ] = None,
    set_: Changes = None,
    data_dir: DataDir = None,
    trust_code: TrustCode = False,
    as_json: AsJson = False,
) -> None:
    """Check an experiment before a long run.

    Estimates heterogeneity, pitfalls, costs, and whether federated training is likely to help, and
    recommends methods. Test data are not read."""
    from fedkin.core.system.user_code import find_user_code
    from fedkin.doctor.candidates import split_names
    from fedkin.doctor.diagnosis import diagnosis
    from fedkin.experiment.throttled_lines import ThrottledLines
    from fedkin.runtime.progress import progress_to
    from fedkin.setup.arguments.options import chooses_method, specification

    options = {
        "data": data,
        "method": method,
        "split": split,
        "clients": clients,
        "measure": measure,
        "data_dir": path_as_text(data_dir),
    }
    experiment, hints = specification(spec, options, set_ or [], trust_code, "doctor")
    tell_hints(hints)
    find_user_code()
    extra_methods = split_names(methods or "")
    with progress_to(ThrottledLines()):
        named = bool(method or spec or chooses_method(set_ or []))
        findings = diagnosis(experiment, rounds, extra_methods, named=named)
    if as_json:
        print_json(findings)
    else:
        _show(findings, experiment.method.name if named and not experiment.method.safe else "")


def _show(diagnosis: dict[str, Any], asked: str) -> None:
    """As text. ``asked``: the method that somebody chose; "" where nobody did, or it is safe."""
    out = console()
    for line in _data_lines(diagnosis["data"]):
        out.print(line, highlight=False, markup=False)
    for line in _verdict_lines(diagnosis["verdict"]):
        out.print(line, highlight=False, markup=False)
    if diagnosis["left_out"]:
        out.print(
            f"  the methods of the best way are {', '.join(diagnosis['left_out'])}: this "
            "experiment's [privacy] or transforms take none of them",
            highlight=False,
            markup=False,
        )
    if diagnosis["privacy"] is not None:
        if diagnosis["verdict"] is not None:
            out.print("  all that is without noise: what the noise costs, a run shows")
        from fedkin.report.words.run_words import privacy

        out.print(f"Privacy: {privacy(diagnosis['privacy'])}", highlight=False, markup=False)
    if diagnosis["candidates"]:
        federate = bool(diagnosis["verdict"] and diagnosis["verdict"]["federate"])
        out.print(_candidate_table(diagnosis["candidates"], federate, diagnosis["may_lose"]))
    if diagnosis["may_lose"]:
        out.print(_may_lose_line(diagnosis["may_lose"], asked), highlight=False, markup=False)
    if diagnosis["safe"]:
        out.print(_safe_line(diagnosis["safe"]), highlight=False, markup=False)
    out.print("Traps" if diagnosis["traps"] else "No trap that is known", style="bold")
    for trap in diagnosis["traps"]:
        out.print(f"! {trap}", style="yellow", highlight=False, markup=False)
    if diagnosis["probes"]:
        out.print(_cost_table(diagnosis))


def _verdict_lines(verdict: dict[str, Any] | None) -> list[str]:
    from fedkin.report import formatting

    if verdict is None:
        takes = "clients with enough rows to train on and to validate, and not too many classes"
        return ["", f"Verdict: none. It takes {takes}"]
    measure = verdict["measure"]
    alone, together, constant = (
        formatting.value(measure, verdict[name]) for name in ("alone", "federated", "constant")
    )
    gain_of = (
        "such a gain if there were none"
        if verdict["federate"]
        else "so small a gain if there were one worth having"
    )
    gain = f"{verdict['gain']:+.4f} [{verdict['low']:+.4f}, {verdict['high']:+.4f}]"
    return [
        "",
        f"Verdict: {verdict['says']} ({formatting.percent_or_dash(verdict['wrong'])} chance of "
        f"{gain_of})",
        f"  {formatting.label(measure)}: each client alone {alone}, federated {together}; always "
        f"the most frequent class, or the mean: {constant}",
        f"  gain {gain} (95 %) over {formatting.many(verdict['clients'], 'client')}, linear and "
        "small models, every row predicted by models that have not seen it",
    ]


def _may_lose_line(caution: dict[str, Any], asked: str) -> str:
    from fedkin.doctor.kinds import in_words
    from fedkin.methods import own_name

    beside, named = caution["beside"], set(caution["methods"])
    one = own_name(asked, named)
    own_method = f"; {one}, which this experiment has, is one of them" if {one} <= named else ""
    return (
        f"With their defaults {in_words(named)} may end points below {' or '.join(beside)} on such "
        f"data: run {' and '.join(f'--method {method}' for method in beside)} beside them"
        f"{own_method}"
    )


def _safe_line(methods: list[str]) -> str:
    from fedkin.doctor.kinds import listed
    from fedkin.doctor.seldom_worse import SETTING, WHAT_IT_DOES

    return f"Fewer clients lose by {listed(methods)}: with --set {SETTING} {WHAT_IT_DOES}"


def _candidate_table(
    candidates: list[dict[str, Any]], federate: bool, caution: dict[str, Any] | None
) -> "Table":
    from rich.text import Text

    from fedkin.core.errors import some
    from fedkin.doctor.candidates import split_name
    from fedkin.doctor.kinds import listed

    title = f"{('One', 'Two', 'Three')[len(candidates) - 1]} to try first"
    losing = [
        one for one in candidates if caution and split_name(one["method"])[0] in caution["methods"]
    ]
    if federate and caution and losing:
        may = (
            "each" if len(losing) == len(candidates) else listed([one["method"] for one in losing])
        )
        title += f", beside {listed(caution['beside'])}: {may} may end below (see under the table)"
    if not federate:
        title = (
            f"Begin with local, each client alone. If you federate nevertheless, {title.lower()}"
        )
    table = _table(title, ("method", "gain over alone", "why", "would lose", "needs"))
    for one in candidates:
        gain = f"{one['gain']:+.4f} [{one['low']:+.4f}, {one['high']:+.4f}]"
        lose = some(one["lose"], 3) if one["lose"] else "nobody that can be identified"
        needs = ", ".join(one["needs"]) or "nothing"
        table.add_row(one["method"], gain, one["reason"], Text(lose), needs)
    return table


def _cost_table(diagnosis: dict[str, Any]) -> "Table":
    from rich.text import Text

    from fedkin.report import formatting

    title = f"The whole experiment ({diagnosis['of']} rounds) in one process, from "
    title += f"{formatting.many(diagnosis['rounds'], 'round')} of each"
    table = _table(title, ("method", "time", "sent", "states"))
    for one in diagnosis["probes"]:
        if one["failed"]:
            table.add_row(one["method"], Text(f"cannot run: {one['failed']}"))
            continue
        sizes = (formatting.size(one[name]) for name in ("bytes", "memory"))
        table.add_row(one["method"], formatting.seconds(one["seconds"]), *sizes)
    return table


def _table(title: str, columns: tuple[str, ...]) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(title=f"\n{title}", title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _span(clients: int, sizes: dict[str, Any]) -> str:
    from fedkin.core.errors import many

    if sizes["least"] == sizes["most"]:
        each = many(sizes["most"], "training sample")
        return each if clients == 1 else f"{each} each"
    return f"{sizes['least']} to {sizes['most']} training samples, median {sizes['median']:.0f}"


def _data_lines(data: dict[str, Any]) -> list[str]:
    from fedkin.core.errors import percent
    from fedkin.report import formatting

    sizes = data["samples"]
    lines = [
        f"{formatting.many(data['clients'], 'client')} with {_span(data['clients'], sizes)}",
        "smallest: "
        + ", ".join(
            f"{one['client']} ({one['train']} train, {one['val']} val)" for one in data["smallest"]
        ),
    ]
    if data["labels"] is not None:
        apart = data["labels"]
        classes = formatting.many(round(apart["classes"]), "class", "classes")
        lines.append(
            f"labels:   {apart['distance']:.2f} from those of all (total variation, 0 to 1; "
            f"{apart['chance']:.2f} by "
            f"chance); a client has {classes} (median)"
        )
    if data["features"] is not None:
        apart = data["features"]
        lines.append(
            f"features: {percent(apart['between'])} of their variance within a class lies "
            "between clients "
            f"({percent(apart['chance'])} by chance)"
        )
    return lines
