"""The page of what ``--json`` prints: from json_output.json, of tests.cli.json_outputs."""

import json
from pathlib import Path
from typing import Any

from website.json_schema import rows
from website.markdown import table

FILE = Path(__file__).with_name("json_output.json")
INTRODUCTION = """\
# What --json prints

After this page you can read fedkin's output in a program. Every command with `--json` prints one
JSON document on standard output and nothing else there. A number that is not finite, or that was
not taken, is `null`. The types come from the outputs of small runs.
[`json-output.json`](../json-output.json) holds the JSON Schema of every command; a test holds the
real output of each command against it. `[]` stands for each item of a list, NAME for a name that
your data, method or settings choose.
"""


def schemas() -> dict[str, Any]:
    """Command, without "fedkin" → JSON Schema."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def page() -> dict[str, str]:
    """The page, by its place in the site."""
    lines = [INTRODUCTION]
    for command, schema in schemas().items():
        told = [[f"`{path}`", kind] for path, kind in dict(rows(schema)).items()]
        lines += [f"## fedkin {command} --json", "", *table(["value", "type"], told), ""]
    return {"reference/json.md": "\n".join(lines)}
