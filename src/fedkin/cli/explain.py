"""``fedkin explain``: what the code at the end of an error message means."""

from typing import Annotated

import typer

from fedkin.cli import completion
from fedkin.cli.options import AsJson
from fedkin.cli.talk.json_output import print_json
from fedkin.core.codes.families import Family, families
from fedkin.core.errors import unknown
from fedkin.experiment.terminal import say


def explain(
    code: Annotated[
        str | None,
        typer.Argument(
            metavar="CODE",
            help="Error code, e.g. FED-301; default: all.",
            show_default=False,
            autocompletion=completion.error_codes,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Explain an error code and how to fix the error."""
    known = families()
    if code is None:
        if as_json:
            print_json([_facts(one) for one in known.values()])
        else:
            for one in known.values():
                say(f"{one.code}  {one.title}")
        return
    bare = code.upper().strip("[]")
    family = known.get(bare) or known.get(f"FED-{bare}")
    if family is None:
        raise unknown("error code", code, known)
    if as_json:
        print_json(_facts(family))
    else:
        say("\n".join(_lines(family)))


def _facts(one: Family) -> dict[str, object]:
    return {
        "code": one.code,
        "title": one.title,
        "means": one.means,
        "example": one.example,
        "do": one.do,
    }


def _lines(one: Family) -> list[str]:
    return [
        f"{one.code}: {one.title}",
        "",
        one.means,
        "",
        "For example:",
        f"  error: {one.example} [{one.code}]",
        "",
        "What to do:",
        *(f"  {what}" for what in one.do),
    ]
