"""``fedkin bench``: the leaderboard."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedkin.cli.options import AsJson, DataDir, TrustCode, check_distinct_outputs, path_as_text
from fedkin.cli.talk.json_output import print_json
from fedkin.core.errors import FedkinError
from fedkin.core.system.posix import cores
from fedkin.core.system.user_code import find_user_code
from fedkin.experiment.terminal import console, print_notice, say

if TYPE_CHECKING:
    from fedkin.bench.row import Row
    from fedkin.bench.suite import Content

app = typer.Typer(
    name="bench",
    help="The leaderboard: equal budgets for every method, rows that can be checked.",
    no_args_is_help=True,
)
Suite = Annotated[
    str, typer.Argument(metavar="SUITE", help="small, standard, full, or your own.toml.")
]
Out = Annotated[
    Path,
    typer.Option("--out", metavar="DIR", help="Output folder; an interrupted suite continues."),
]
Settings = Annotated[
    str | None,
    typer.Option("--settings", metavar="NAME,…", help="Only these federations of the suite."),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", min=1, help="Worker processes; default: one per core."),
]
KeepRuns = Annotated[
    bool, typer.Option("--keep-runs", help="Keep the run directories of finished rows.")
]


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the suites of fedkin."""
    from fedkin.bench.suite import names, suite

    suites = {name: suite(name) for name in names()}
    if as_json:
        print_json({name: one.model_dump(mode="json") for name, one in suites.items()})
        return
    for name, one in suites.items():
        size = f"{len(one.all_methods)} methods, {one.trials} trials, {len(one.seeds)} seeds"
        say(f"{name}: {size}. {one.about}")
        for label, setting in one.settings.items():
            say(f"  {label}: {setting.title}, {setting.rounds} rounds")


@app.command("run")
def run_(
    suite: Suite = "small",
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods", metavar="NAME,…", help="Methods, in addition to local and fedavg."
        ),
    ] = None,
    settings: Settings = None,
    out: Out = Path("bench"),
    workers: Workers = None,
    keep_runs: KeepRuns = False,
    data_dir: DataDir = None,
    trust_code: TrustCode = False,
    as_json: AsJson = False,
) -> None:
    """Run a suite: hyper-parameter search, then rows. The same command continues it."""
    _run(
        suite,
        _names(methods),
        settings,
        out,
        workers,
        data_dir,
        keep_runs=keep_runs,
        as_json=as_json,
        trust_code=trust_code,
    )


@app.command()
def page(
    rows: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="ROWS…",
            help="Files of rows, output folders, or suites whose rows fedkin has; default: bench.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Output page.")] = Path(
        "leaderboard.html"
    ),
    markdown: Annotated[
        Path | None,
        typer.Option("--markdown", metavar="FILE", help="Write a Markdown table instead."),
    ] = None,
    latex: Annotated[
        Path | None,
        typer.Option("--latex", metavar="FILE", help="Write a LaTeX table instead, for a paper."),
    ] = None,
) -> None:
    """Write the leaderboard as an HTML page."""
    from fedkin.bench.leaderboard.files import write_leaderboard
    from fedkin.bench.row import half_written, incomplete, read_rows, whole_cases

    check_distinct_outputs({"--markdown": markdown, "--latex": latex})
    files = [_rows_file(one) for one in rows or [Path("bench")]]
    read = [row for file in files for row in read_rows(file)]
    cut = [remark for file in files for remark in half_written(file)]
    for remark in [*cut, *incomplete(read)]:
        print_notice(remark)
    for path in write_leaderboard(whole_cases(read), out, markdown, latex):
        say(path)


@app.command()
def add(
    method: Annotated[
        str,
        typer.Argument(
            metavar="METHOD",
            help="my_package:method, or the name of one that is installed.",
            show_default=False,
        ),
    ],
    suite: Annotated[
        str, typer.Option("--suite", metavar="SUITE", help="Suite, as in bench run.")
    ] = "small",
    try_: Annotated[
        list[str] | None,
        typer.Option(
            "--try", metavar="KEY=V,KEY=V", help="Hyper-parameters of one trial. Repeatable."
        ),
    ] = None,
    settings: Settings = None,
    out: Out = Path("bench"),
    workers: Workers = None,
    keep_runs: KeepRuns = False,
    data_dir: DataDir = None,
    trust_code: TrustCode = False,
    as_json: AsJson = False,
) -> None:
    """Add a method with the budgets of all others. The named module is imported."""
    typed_trials = tuple(_hyper(text) for text in try_ or [])
    _run(
        suite,
        (method,),
        settings,
        out,
        workers,
        data_dir,
        keep_runs=keep_runs,
        as_json=as_json,
        trust_code=trust_code,
        typed_trials=typed_trials,
        adding=True,
    )


@app.command()
def verify(
    row: Annotated[
        str,
        typer.Argument(
            metavar="ROW", help="Id of a row, or its first letters.", show_default=False
        ),
    ],
    rows: Annotated[
        Path | None,
        typer.Option(
            "--rows",
            metavar="FILE",
            help="File of rows, output folder, or a suite whose rows fedkin has.",
        ),
    ] = None,
    trust_code: TrustCode = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Repeat a row, compare bits and numbers; exit status 1 if they differ."""
    from fedkin.bench.row import half_written, read_rows
    from fedkin.bench.verify import named
    from fedkin.bench.verify import verify as again

    file = _rows_file(rows or Path("bench"))
    whole = read_rows(file)
    for remark in half_written(file):
        print_notice(remark)
    claimed = named(whole, row)
    find_user_code()
    done = again(claimed, path_as_text(data_dir), trust_code, whole)
    if as_json:
        print_json({**done._asdict(), "row": claimed.id})
    else:
        say(done.sentence)
    if not done.confirmed:
        raise typer.Exit(1)


def _rows_file(named: Path) -> Path:
    """The file itself, that of a bench's folder, or fedkin's own of a suite."""
    from fedkin.bench.row import ROWS
    from fedkin.bench.suite import committed

    if named.is_dir():
        return named / ROWS
    return (None if named.exists() else committed(str(named))) or named


def _hyper(text: str) -> "Content":
    """``lam=0.1,clusters=3`` as values."""
    from fedkin.runs.spec import literal

    pieces = [piece.partition("=") for piece in text.split(",")]
    if not all(key.strip() and equals for key, equals, _ in pieces):
        raise FedkinError(f"--try {text} is not understood: write --try lam=0.1,clusters=3")
    values = {key.strip(): literal(value.strip()) for key, _, value in pieces}
    if len(values) < len(pieces):
        raise FedkinError(f"--try {text} has two values of one name: write a --try for each")
    return values


def _run(
    suite: str,
    methods: tuple[str, ...],
    settings: str | None,
    out: Path,
    workers: int | None,
    data_dir: Path | None,
    *,
    keep_runs: bool,
    as_json: bool,
    trust_code: bool,
    typed_trials: "tuple[Content, ...]" = (),
    adding: bool = False,
) -> None:
    from fedkin.bench.request import BenchRequest
    from fedkin.bench.row import ROWS
    from fedkin.bench.running import bench
    from fedkin.bench.suite import suite as suite_named
    from fedkin.cli.talk.bench_rows import means

    find_user_code()
    request = BenchRequest(
        Path(suite).stem,
        suite_named(suite),
        out,
        workers or cores(),
        path_as_text(data_dir),
        methods,
        _names(settings),
        typed_trials,
        keep_runs,
        trust_code or not suite.endswith(".toml"),
    )
    with redirect_stdout(sys.stderr):  # what a module prints that is imported is no result
        rows = bench(request, print_notice)
    if as_json:
        print_json([row.model_dump(mode="json") for row in rows])
    else:
        console().print(means(rows))
        if adding:
            _show_standing(methods[0], suite, rows, out / ROWS)
        say(out / ROWS)


def _show_standing(method: str, suite: str, rows: "list[Row]", file: Path) -> None:
    """Where a method that was added stands among all rows of the file and of the suite."""
    from fedkin.bench.leaderboard.standing import standings
    from fedkin.bench.row import read_rows, whole_cases
    from fedkin.bench.suite import committed
    from fedkin.methods import known_name

    federations = {row.federation for row in rows}
    rows_here = [row for row in read_rows(file) if row.federation in federations]
    committed_file = committed(suite)
    all_rows = [*([] if committed_file is None else read_rows(committed_file)), *rows_here]
    name = known_name(method)
    sentences = standings(
        name, whole_cases([row for row in all_rows if row.federation in federations])
    )
    for sentence in sentences:
        say(sentence)
    if sentences != standings(name, whole_cases(rows_here)):
        say(f"the other methods' rows are those that fedkin has of {suite}")


def _names(text: str | None) -> tuple[str, ...]:
    """A list with commas; empty where nothing was asked for."""
    if text is None:
        return ()
    names = tuple(word.strip() for word in text.split(",") if word.strip())
    if not names:
        raise FedkinError(f"{text!r} names nothing: write names with commas between them")
    return names
