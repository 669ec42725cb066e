"""What became of a node's raw table, for its owner and for programs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fedkin.cli.talk.json_output import print_json
from fedkin.cli.talk.node_data import say_samples
from fedkin.core.errors import FedkinError, cut, some
from fedkin.experiment.terminal import note, say
from fedkin.flower.table.words import NAMED, gaps_in_words, unknown_in_words


def factors(typed: Sequence[str]) -> dict[str, float]:
    """What columns are multiplied with.

    Args:
        typed: "COLUMN=NUMBER" each.

    Returns:
        {column: number}.

    Raises:
        FedkinError: One is not of this form.
    """
    found: dict[str, float] = {}
    for text in typed:
        name, _, number = text.rpartition("=")
        try:
            factor = float(number)
        except ValueError:
            factor = math.nan
        if not name or not math.isfinite(factor) or factor == 0:
            raise FedkinError(
                f"--times {cut(text, 40)} is not understood: write COLUMN=NUMBER, such as "
                "glucose=18.016"
            )
        if name in found:
            raise FedkinError(f"--times names column {cut(name, 40)!r} twice: name it once")
        found[name] = factor
    return found


def print_prepared(found: Mapping[str, Any], as_json: bool) -> None:
    """Print what ``fedkin deploy prepare`` did.

    Args:
        found: As ``fedkin.flower.table.prepare.prepare`` has it.
        as_json: Whether it is printed as JSON.
    """
    if as_json:
        print_json(found)
        return
    say(f"file     {found['file']}")
    say(f"rows     {found['rows']:,}")
    say_samples(found["samples"])
    say(f"columns  {found['columns']:,} inputs")
    if found["dropped"]:
        say(f"left out {some(found['dropped'], NAMED)}")
    if gaps := gaps_in_words(found["filled"]):
        note(gaps)
    for sentence in unknown_in_words(found["unknown"]):
        note(sentence)
    for sentence in found["notes"]:
        note(sentence)
