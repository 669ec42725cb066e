"""A node's data, for its owner and for programs."""

from collections.abc import Mapping
from typing import Any

from fedkin.cli.talk.json_output import print_json
from fedkin.core.errors import some
from fedkin.experiment.terminal import note, say

NAMED = 20  # columns, and classes, in a line


def print_check(found: Mapping[str, Any], as_json: bool) -> None:
    """Print what ``fedkin deploy check`` found.

    Args:
        found: As ``fedkin.flower.node.checked.checked`` has it.
        as_json: Whether it is printed as JSON.
    """
    if as_json:
        print_json(found)
        return
    say(f"node     {found['client']}")
    if found["data"] is None:
        say("data     its part of the experiment's [data]: a rehearsal")
        return
    say(f"data     {found['data']} can be used")
    say_samples(found["samples"])
    columns, shape = found["columns"], found["shape"]
    if columns:
        say(f"columns  {len(columns)}: {some(columns, NAMED)}")
    else:
        say(f"shape    {' x '.join(map(str, shape))}")
    if found["classes"]:
        each = [f"{label} ({count:,})" for label, count in found["classes"].items()]
        say(f"classes  of so many training samples: {some(each, NAMED)}")
    else:
        say("labels   numbers, for a regression: classes would be whole numbers")
    for sentence in found["notes"]:
        note(sentence)


def say_samples(samples: Mapping[str, int]) -> None:
    """Print how many samples a node has in each part.

    Args:
        samples: {split: how many}.
    """
    told = ", ".join(f"{count:,} {split}" for split, count in samples.items())
    say(f"samples  {told}")
