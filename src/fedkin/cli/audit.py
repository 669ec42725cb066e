"""``fedkin audit``: attacks on a finished run."""

from typing import Any

from fedkin.cli.options import AsJson, Folder, TrustCode
from fedkin.cli.talk.json_output import print_json
from fedkin.experiment.terminal import console, say


def audit(folder: Folder, trust_code: TrustCode = False, as_json: AsJson = False) -> None:
    """Attack a finished run: membership, class inference, canaries.

    Writes audit.html into the run directory, and changes nothing else.
    """
    from rich.text import Text

    from fedkin.audit.audit import audit as attack
    from fedkin.audit.page import tables, write_page
    from fedkin.core.system.user_code import find_user_code
    from fedkin.experiment.throttled_lines import ThrottledLines
    from fedkin.runs.output_files import check_takes_files
    from fedkin.runtime.progress import progress_to

    check_takes_files(folder)
    find_user_code()
    with progress_to(ThrottledLines()):
        result = attack(folder, trust_code)
    path = write_page(result, folder)
    if as_json:
        print_json({**result, "written": [str(path)]})
        return
    for shown in tables(result):
        console().print(_table(shown))
        console().print(Text(f"{shown.note}\n"), style="dim")
    if result["canaries"] is None:
        say("no canaries: train with --set audit.canaries=100 to have a lower bound on epsilon")
    say(path)


def _table(shown: Any) -> Any:
    from rich.table import Table

    from fedkin.audit.page import WORDS

    made = Table(title=shown.title, title_justify="left", caption=None)
    for name in shown.head:
        made.add_column(name, justify="left" if name in WORDS else "right")
    for row in shown.rows:
        made.add_row(*row)
    return made
