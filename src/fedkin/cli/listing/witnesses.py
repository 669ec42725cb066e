"""What methods were held against, counted: the top of docs/fidelity.md."""

from collections.abc import Mapping, Sequence
from typing import Any

from fedkin.certificates.registry import GOLDEN, HELD_AGAINST
from fedkin.core.errors import many
from fedkin.report import formatting

MET = "golden traces, numbers of public code: one or more met in everything compared"
READ = "public code, read step by step beside the reference"
ALONE = {  # what the reference was written from, where no public code is beside it
    "paper": "the paper's text alone",
    "definition": "its own definition, which is no paper's",
}
REST = "a summary of the paper, or memory, alone"
STRONGEST_FIRST = (MET, READ, *ALONE.values(), REST)


def met(traces: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """How many golden traces are met in everything, with some option, and how many there are.

    Args:
        traces: Of a certificate.

    Returns:
        (met, all).
    """
    whole = {
        trace["file"] for trace in traces if not trace["deviations"] and not trace.get("counts")
    }
    return len(whole), len({trace["file"] for trace in traces})


def strongest(certificate: Mapping[str, Any]) -> str:
    """The strongest witness of a method's reference.

    Args:
        certificate: Of a method.

    Returns:
        One of ``STRONGEST_FIRST``.
    """
    reference = certificate["reference"]
    if met(certificate.get(GOLDEN, {}).get("traces", []))[0]:
        return MET
    return READ if reference.get(HELD_AGAINST) else ALONE.get(reference["written from"], REST)


def in_short(methods: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The summary: a sentence, and a table of the methods by their strongest witness.

    Args:
        methods: Certificates by name.

    Returns:
        Lines of Markdown.
    """
    gaps = [one["reference"]["gap"] for one in methods.values()]
    known = [gap for gap in gaps if gap is not None]
    forms = sum(bool(one["closed form"]["tests"]) for one in methods.values())
    laws = [len(one["law"]["tests"]) for one in methods.values()]
    least = f"{min(laws, default=0)} to {max(laws, default=0)}"
    lines = [
        f"**In short.** {len(known)} of {many(len(methods), 'method')} agree with a separate "
        f"reference, to {max(known, default=0.0):.0e} at worst.",
        f"{forms} also meet closed forms, and each passes {least} laws (reductions, invariances).",
        "Here each is counted once, by the strongest witness beside that:",
        "",
        "| held against | methods | which |",
        "|---|---|---|",
    ]
    for witness in STRONGEST_FIRST:
        names = [name for name, one in methods.items() if strongest(one) == witness]
        which = ", ".join(_linked(name, methods[name]) for name in names) or formatting.NONE
        lines.append(f"| {witness} | {len(names)} | {which} |")
    return [*lines, f"| all | {len(methods)} | |"]


def _linked(name: str, certificate: Mapping[str, Any]) -> str:
    """Its heading; where some traces are not met in everything, how many are."""
    whole, every = met(certificate.get(GOLDEN, {}).get("traces", []))
    some = f" ({whole} of {many(every, 'trace')} met)" if whole < every else ""
    return f"[{name}](#{name}){some}"
