"""What the program knows of each method, beneath the page that a person wrote."""

import re
from pathlib import Path
from typing import Any

from fedkin.certificates.registry import held
from fedkin.cli.listing.certificates import sections
from fedkin.cli.listing.methods import methods
from website import measured
from website.markdown import table
from website.spec_keys import toml

SHARED_PAGES = {"cgpfl_heur": "cgpfl", "fedsim": "partial_fl", "hypcluster": "ifca"}
NEEDS = {
    "one_architecture": "the same architecture at every client",
    "full_participation": "every client in every round",
    "classes": "a classification task",
    "validation": "validation samples at every client",
}


def complete(stage: Path) -> None:
    """Adds to each page of docs/methods/ what its methods need, and what was measured and proved
    of them.
    """
    for one in methods():
        name = one["name"]
        page = stage / "methods" / f"{SHARED_PAGES.get(name, name)}.md"
        if page.is_file():  # a method of another package has none
            text = page.read_text(encoding="utf-8").rstrip("\n")
            page.write_text("\n".join([text, "", *_lines(one), ""]), encoding="utf-8")


def every() -> list[dict[str, Any]]:
    """The methods as ``fedkin methods --json`` prints them, with their certificates."""
    proved = {one.name: {"state": one.state, **one.content} for one in held()}
    return [{**one, "certificate": proved[one["name"]]} for one in methods()]


def _lines(one: dict[str, Any]) -> list[str]:
    name = one["name"]
    lines = [f"## {name} at a glance", "", "Written from the installed method.", ""]
    needs = one["needs"]
    wanted = (
        ["depends on its hyper-parameters"]
        if needs is None
        else [said for key, said in NEEDS.items() if needs[key]]
        + ([f"a public set, {needs['public']}"] if needs["public"] != "none" else [])
    )
    rows = [
        ["command", f"`fedkin run --method {name}`"],
        ["other names", ", ".join(f"`{alias}`" for alias in one["aliases"]) or "none"],
        ["needs", "; ".join(wanted) or "nothing"],
        ["keys without default", ", ".join(f"`{key}`" for key in one["required"]) or "none"],
    ]
    rows += [[f"`{key}`", f"`{_value(value)}`"] for key, value in one["hyper_parameters"].items()]
    lines += table(["fact", "value"], rows)
    return [*lines, *measured.lines(name), "", *_certificate(name)]


def _value(value: Any) -> str:
    return "none" if value is None else toml(value)


def _certificate(name: str) -> list[str]:
    (found,) = held(name)
    if not found.content:
        return []
    lines = [f'??? note "Certificate of {name}: what the tests have proved"', ""]
    for section in sections(found.content):
        told = [*section.said, *(f"{test['title']} (`{test['id']}`)" for test in section.tests)]
        lines += [f"    **{section.heading}**", "", *(f"    - {_plain(one)}" for one in told), ""]
    return lines


def _plain(text: str) -> str:
    """Text of a certificate: an asterisk or a bracket in it is no Markdown."""
    return re.sub(r"(?<!`)([*\[\]<>])", r"\\\1", " ".join(text.split()))
