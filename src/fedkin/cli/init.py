"""``fedkin init``: a few questions, then a commented experiment and the commands to type."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedkin.cli.options import DataDir, path_as_text
from fedkin.cli.talk.questions import agree, choose, free
from fedkin.core.errors import FedkinError, many
from fedkin.experiment.terminal import say

if TYPE_CHECKING:
    from fedkin.data.tables.proposals import Proposals
    from fedkin.doctor.plan import Answers, Plan

NOBODY = "none of them: divide the rows among invented clients"


def init(
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="File, folder or data set.", show_default=False),
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", metavar="COLUMN", help="Column of labels.")
    ] = None,
    client: Annotated[
        str | None,
        typer.Option(
            "--client", metavar="COLUMN", help="Column of client names; none: no such column."
        ),
    ] = None,
    parameters: Annotated[
        bool | None,
        typer.Option("--parameters/--no-parameters", help="Whether clients may send parameters."),
    ] = None,
    alike: Annotated[
        bool | None,
        typer.Option(
            "--same-model/--other-models", help="Whether all clients train the same model."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Experiment file; must be new.")
    ] = Path("experiment.toml"),
    yes: Annotated[bool, typer.Option("--yes", help="Accept all defaults.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Ask a few questions about the data and write a first experiment with its commands.

    Trains only the doctor's small probes; test data are not read."""
    from fedkin.doctor.plan import plan
    from fedkin.experiment.throttled_lines import ThrottledLines
    from fedkin.runs.output_files import write_outside
    from fedkin.runtime.progress import progress_to

    if out.exists():
        raise FedkinError(f"{out} is there already: choose another name with --out")
    answers = _answers(data, label, client, parameters, alike, yes, path_as_text(data_dir))
    with progress_to(ThrottledLines()):
        proposal = plan(answers, f"fedkin init {shlex.quote(answers.data)}")
    write_outside(out, proposal.text)
    _tell(out, proposal)


def _answers(
    data: str | None,
    label: str | None,
    client: str | None,
    parameters: bool | None,
    alike: bool | None,
    yes: bool,
    data_dir: str | None,
) -> "Answers":
    from fedkin.data.formats.hugging_face import HUB
    from fedkin.data.sources import as_typed
    from fedkin.doctor.plan import Answers

    text = "Where are the data? A table (.csv, .parquet), a folder, or a name: see fedkin data"
    name = as_typed(data or ("digits" if yes else free(text, "digits", "DATA")))
    table = _table(name, data_dir)
    invented = client == "none"
    if name.startswith(HUB):
        client = None if invented else client
    elif table is not None:
        chosen = None if invented else _known("--client", client, table)
        label = _known("--label", label, table) or _label(table, yes)
        client = chosen or _client(table, label, yes or invented, invented)
        invented = client is None and not table.folder
    elif label or (client and not invented):
        raise FedkinError(f"{name} is no table: leave --label and --client out")
    else:
        client, invented = None, False
    may = "May the parameters of a model leave a client? Otherwise only predictions do"
    same = "Can every device train the same model?"
    if parameters is None:
        parameters = True if yes else agree(may, True, "--parameters or --no-parameters")
    if alike is None:
        alike = True if yes else agree(same, True, "--same-model or --other-models")
    return Answers(name, data_dir, label, client, invented, parameters, alike)


def _table(name: str, data_dir: str | None) -> "Proposals | None":
    from fedkin.data.folder import data_folder
    from fedkin.data.formats.hugging_face import HUB
    from fedkin.data.formats.user_files import is_path, place_of
    from fedkin.data.sources import check_name
    from fedkin.data.tables.proposals import proposals

    check_name(name, data_dir)
    if not is_path(name) or name.startswith(HUB):
        return None
    return proposals(place_of(name, data_folder(data_dir)))


def _known(option: str, name: str | None, table: "Proposals") -> str | None:
    from fedkin.core.errors import unknown

    if name is not None and name not in table.columns:
        raise unknown(f"column for {option}", name, table.columns)
    return name


def _label(table: "Proposals", yes: bool) -> str:
    if yes:
        return table.label
    return choose("What is to be predicted?", table.columns, table.label, "--label COLUMN")


def _client(table: "Proposals", label: str, settled: bool, invented: bool) -> str | None:
    """The column of clients; None where the files are the clients, or nobody names them."""
    if table.folder or invented:
        return None
    likely = [name for name in table.clients if name != label]
    if settled:
        return likely[0] if likely else None
    names = [*likely, *(name for name in table.columns if name not in (label, *likely)), NOBODY]
    proposed = likely[0] if likely else NOBODY
    answer = choose("Who is a client? The column that names it", names, proposed, "--client COLUMN")
    return None if answer == NOBODY else answer


def _tell(out: Path, proposal: "Plan") -> None:
    mended = sum(bool(one["fix"]) and one["sure"] for one in proposal.problems)
    perhaps = sum(bool(one["fix"]) and not one["sure"] for one in proposal.problems)
    say(f"\nwrote   {out}")
    say(f"method  {proposal.method}: {proposal.why}")
    if proposal.problems:
        by_hand = len(proposal.problems) - mended - perhaps
        say(
            f"data    {many(len(proposal.problems), 'remark')}: {mended} fixed in it, {perhaps} "
            f"proposed behind a #, {by_hand} by hand: read it once"
        )
    file = shlex.quote(str(out))
    say("next")
    for method in dict.fromkeys(["local", proposal.beside, proposal.method]):
        say(f"  fedkin run {file} --method {method} --out runs/{_stem(method)}")
    pair = " ".join(f"runs/{_stem(method)}" for method in dict.fromkeys(["local", *_two(proposal)]))
    say(f"  fedkin compare {pair}")
    say(f"  fedkin export runs/{proposal.method} --all")
    if proposal.safe:
        _tell_of_safe(file, proposal.method)


def _tell_of_safe(file: str, method: str) -> None:
    from fedkin.doctor.seldom_worse import SETTING, WHAT_IT_DOES

    say(f"fewer clients lose by it: with [method] safe = true {WHAT_IT_DOES}")
    say(f"  fedkin run {file} --set {SETTING} --out runs/{method}-safe")


def _stem(method: str) -> str:
    """The folder of its run: the name without hyper-parameters."""
    return method.partition(":")[0]


def _two(proposal: "Plan") -> tuple[str, str]:
    return proposal.beside, proposal.method
