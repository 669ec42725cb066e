"""Certificates for people: in the terminal, and as docs/fidelity.md."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fedkin.certificates.registry import GOLDEN, HELD_AGAINST, SECTIONS, STATES, Held
from fedkin.certificates.transforms import KINDS
from fedkin.cli.listing.witnesses import in_short, met
from fedkin.report import formatting

HEADINGS = {
    "reference": "Agreement with the separate reference",
    GOLDEN: "Beside other people's public code (golden traces)",
    "closed form": "Closed forms and values by hand",
    "law": "Reductions and invariances",
    "messages": "Messages",
}
SOURCES = {
    "paper": "the paper's text",
    "summary": "the project's summary of the paper",
    "memory": "memory or a summary of the paper, whose text was not at hand, and public code",
    "definition": "the method's definition, which is no paper's",
    "authors' code": "the paper as it cites it, and held, step by step, against the authors' code",
    "public code": "the paper as it cites it, and held, step by step, against code of others",
}
NO_TRACE = "none: no numbers of public code are at hand for this method"
SYMBOLS = {"current": "yes", "stale": "STALE", "unverified": "?", "none": "none"}
COLUMNS = (
    "method",
    "certificate",
    "written from",
    "worst gap",
    "rounds",
    "clients",
    "participation",
    "golden",
    "closed forms",
    "laws",
    "sent",
)


class Section(NamedTuple):
    """A heading, sentences, and the tests behind them."""

    heading: str
    said: list[str]
    tests: list[Mapping[str, Any]]


def sections(certificate: Mapping[str, Any]) -> list[Section]:
    """What a certificate says, in order.

    Args:
        certificate: Of a method or of a transform.

    Returns:
        A heading each, with sentences and tests.
    """
    if "messages" not in certificate:  # a transform's
        shown = [kind for kind in KINDS if certificate[kind]["tests"]]
        return [Section(HEADINGS[kind], [], certificate[kind]["tests"]) for kind in shown]
    figures = {
        "reference": [
            f"written from {SOURCES[certificate['reference']['written from']]}",
            *(f"held against {code}" for code in certificate["reference"].get(HELD_AGAINST, [])),
            _agreement(certificate["reference"]),
        ],
        "closed form": _without(certificate["closed form"]),
        "law": [],
        "messages": [
            *map(_sent, certificate["messages"]["sent"]),
            *_personal(certificate["messages"]["personal"]),
        ],
    }
    parts = [
        Section(HEADINGS[kind], figures[kind], certificate[kind]["tests"]) for kind in SECTIONS
    ]
    if golden := certificate.get(GOLDEN):
        traces = [_golden(trace) for trace in golden["traces"]]
        parts.insert(1, Section(HEADINGS[GOLDEN], traces or [NO_TRACE], golden["tests"]))
    for name in ("readings", "deviations"):
        parts.append(Section(name.capitalize(), certificate[name] or ["none declared"], []))
    return parts


def overview(rows: Sequence[Held]) -> RenderableType:
    """``fedkin methods --certificate``: a row a method.

    Args:
        rows: Certificates, in order.

    Returns:
        What rich prints.
    """
    table = Table(
        box=box.SIMPLE_HEAD,
        title="Fidelity certificates",
        title_justify="left",
        caption_justify="left",
    )
    for column in COLUMNS:
        table.add_column(column, overflow="fold")
    for one in rows:
        style = {"stale": "yellow", "none": "dim"}.get(one.state)
        table.add_row(*(Text(cell) for cell in _row(one)), style=style)
    table.caption = "fedkin methods NAME --certificate tells one of them whole"
    return table


def whole(one: Held, about: Mapping[str, str]) -> RenderableType:
    """``fedkin methods NAME --certificate``.

    Args:
        one: The certificate.
        about: What is true of all methods, by kind of evidence.

    Returns:
        What rich prints.
    """
    style = "green" if one.state == "current" else "yellow"
    parts: list[RenderableType] = [
        Text.assemble((one.name, "bold"), "  ", (STATES[one.state], style))
    ]
    if not one.content:
        return parts[0]
    for section in sections(one.content):
        parts.append(Text(section.heading, style="bold"))
        parts += [Padding(Text(sentence), (0, 0, 0, 4)) for sentence in section.said]
        parts += [Padding(Text(_test(test), style="dim"), (0, 0, 0, 4)) for test in section.tests]
    parts.append(
        Text(
            f"sources {', '.join(one.content['sources'])}, sha256 {one.content['sha256']}",
            style="dim",
        )
    )
    parts += [Text(sentence, style="dim") for sentence in about.values()]
    return Group(*parts)


def markdown(packaged: Mapping[str, Any]) -> str:
    """docs/fidelity.md.

    Args:
        packaged: The file of certificates.

    Returns:
        The page.
    """
    methods = packaged["methods"]
    everywhere = _everywhere(methods)
    lines = ["# Fidelity: what is proved of each method", "", MADE, "", *in_short(methods)]
    lines += ["", INTRODUCTION, ""]
    lines += [f"- {sentence}" for sentence in packaged["about"].values()]
    columns = [column for column in COLUMNS if column != "certificate"]
    lines += ["", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name, certificate in methods.items():
        cells = dict(zip(COLUMNS, _row(Held(name, "current", certificate)), strict=True))
        cells["method"] = f"[{name}](#{name})"
        lines.append(f"| {' | '.join(cells[column] for column in columns)} |")
    lines += ["", "## Tests that every method passes", ""]
    lines += [f"- {_linked(test)}" for test in everywhere.values()]
    for name, certificate in methods.items():
        lines += ["", f"## {name}", ""]
        lines += [f"Sources {', '.join(f'`{source}`' for source in certificate['sources'])}."]
        lines += [f"Held against {', '.join(_witnesses(certificate))}."]
        for section in sections(certificate):
            own = [test for test in section.tests if test["id"] not in everywhere]
            if own or section.said:
                lines += ["", f"**{section.heading}**", "", *(f"- {text}" for text in section.said)]
                lines += [f"- {_linked(test)}" for test in own]
    return "\n".join(lines) + "\n"


_LISTED = "\n".join(f"- {name}: {words}" for name, words in SOURCES.items())
MADE = """\
This page is written by `scripts/certify` from the tests that passed; do not edit it.
`fedkin methods NAME --certificate` prints the same for the installed method, and says so where its
source is no longer what was certified."""
INTRODUCTION = f"""\
A *reference* is a slow NumPy version in a file of its own (`tests/reference`), which imports
nothing of fedkin. Most entered the repository together with their method, so the history cannot
show that either was written without the other. The *gap* is the largest difference to it in any
state, message or loss of any round, relative to the larger of 1 and the largest entry, in float64,
rounded up. *Sent* is what a client receives / sends in a round, in scalars.

A reference proves what it was *written from*. One from a summary or from memory shares its
mistakes with the method; golden traces of the authors' code are the witness against them. Where a
reference was *held against* public code, it quotes the functions beside its steps, and what that
code does otherwise is among the deviations. The column *written from* says one of:

{_LISTED}

A *golden trace* holds numbers that somebody else's public code produced on a tiny fixed problem
(`tests/golden`). The error is the largest absolute difference of what is named, over all rounds and
clients. The column *golden* counts the traces that a method meets in everything compared, with some
of its options."""


def _row(one: Held) -> list[str]:
    if not one.content:
        return [one.name, SYMBOLS[one.state], *[formatting.NONE] * (len(COLUMNS) - 2)]
    reference, messages = one.content["reference"], one.content["messages"]
    forms = len(one.content["closed form"]["tests"])
    first = next(iter(messages["sent"]), None)
    return [
        one.name,
        SYMBOLS[one.state],
        reference["written from"],
        formatting.NONE if reference["gap"] is None else f"{reference['gap']:.0e}",
        _range(reference["rounds"]),
        _range(reference["clients"]),
        _range(reference["participation"]),
        _traces(one.content.get(GOLDEN, {}).get("traces", [])),
        str(forms) if forms else formatting.NONE,
        str(len(one.content["law"]["tests"])),
        formatting.NONE if first is None else f"{_kinds(first['down'])} / {_kinds(first['up'])}",
    ]


def _agreement(reference: Mapping[str, Any]) -> str:
    if reference["gap"] is None:
        return "not compared"
    rounds, clients, shares = (_range(reference[k]) for k in ("rounds", "clients", "participation"))
    cases = sum(test["cases"] for test in reference["tests"])
    return (
        f"worst gap {reference['gap']:.0e} in float64; "
        f"{rounds} rounds, {clients} clients, participation {shares}, "
        f"{formatting.many(cases, 'case')}"
    )


def _witnesses(certificate: Mapping[str, Any]) -> list[str]:
    """What a method was held against: what its reference was written from, and other evidence."""
    whole, every = met(certificate.get(GOLDEN, {}).get("traces", []))
    witnesses = [f"a reference ({certificate['reference']['written from']})"]
    witnesses += (
        [f"{formatting.many(every, 'golden trace')} ({whole} met in everything)"] if every else []
    )
    tests = {kind: len(certificate[kind]["tests"]) for kind in ("closed form", "law")}
    witnesses += [formatting.many(number, kind) for kind, number in tests.items() if number]
    return witnesses


def _traces(traces: Sequence[Mapping[str, Any]]) -> str:
    """How many golden traces there are, and how many of them are met."""
    whole, every = met(traces)
    return f"{whole} of {every}" if every else formatting.NONE


def _golden(trace: Mapping[str, Any]) -> str:
    """What one trace says: what agrees with it and to what error, and each deviation with its
    figure.
    """
    whose = f"{trace['source']} at {trace['commit']}{', the authors’' if trace['authors'] else ''}"
    how = f"; {trace['how']}" if trace["how"] else ""
    words = [f"{trace['file']} ({whose}{how})"]
    if trace["errors"]:
        words.append(f"agrees to {max(trace['errors'].values()):.0e}: {', '.join(trace['errors'])}")
    for reason in dict.fromkeys(why for _, why in trace["deviations"].values()):
        figures = [
            f"{what} {figure:.1e}"
            for what, (figure, why) in trace["deviations"].items()
            if why == reason
        ]
        words.append(f"deviation, {reason}: {', '.join(figures)} apart")
    for what, (number, of, why) in trace.get("counts", {}).items():
        words.append(f"deviation, {why}: {number} of {of} {what}")
    return "; ".join(words)


def _without(forms: Mapping[str, Any]) -> list[str]:
    reason = forms.get("does not apply")
    return [f"does not apply: {reason}"] if reason else []


def _sent(sent: Mapping[str, Any]) -> str:
    setup = f"; before the first round {_kinds(sent['setup'])} up" if sent["setup"] else ""
    hyper = f" (with {formatting.plain(dict(sent['hyper']))})" if sent["hyper"] else ""
    copies = f", {sent['copies']} different ones a round" if sent["copies"] > 1 else ""
    first = f" (in the first round {_kinds(sent['first'])})" if "first" in sent else ""
    return f"down {_kinds(sent['down'])}{first}{copies}; up {_kinds(sent['up'])}{setup}{hyper}"


def _personal(texts: Sequence[str]) -> list[str]:
    return [
        f"personal: {text}" if text.startswith("none") else f"personal, in no message: {text}"
        for text in texts
    ]


def _kinds(scalars: Mapping[str, int]) -> str:
    return " + ".join(f"{number} {kind}" for kind, number in scalars.items()) or "nothing"


def _range(values: Sequence[float]) -> str:
    return formatting.NONE if not values else ", ".join(f"{value:.3g}" for value in values)


def _test(test: Mapping[str, Any]) -> str:
    return f"{test['title']} [{test['id']}{_cases(test)}]"


def _linked(test: Mapping[str, Any]) -> str:
    return f"{test['title']} (`{test['id']}`{_cases(test)})"


def _cases(test: Mapping[str, Any]) -> str:
    return f", {test['cases']} cases" if test["cases"] > 1 else ""


def _everywhere(methods: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Laws and messages that all methods have in common, by id; none where there is one method
    only.
    """
    kinds = ("law", "messages")
    tests = [
        {test["id"]: test for kind in kinds for test in one[kind]["tests"]}
        for one in methods.values()
    ]
    if len(tests) < 2:
        return {}
    return {
        id: {**test, "cases": 1}
        for id, test in tests[0].items()
        if all(id in other for other in tests)
    }
