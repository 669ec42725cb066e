"""audit.html: one page that needs nothing else, and the same tables for a terminal."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.audit.inversion import NEAR
from fedkin.core.errors import percent
from fedkin.report.page.document import document
from fedkin.report.page.tables import section, table
from fedkin.runs.directory import path_in_run
from fedkin.runs.output_files import write_outside

NAME = "audit.html"
NONE, DASH = "none", "–"
WORDS = ("target", "attack", "kind", "seen")  # columns of words, which stand left; numbers right


class AuditTable(NamedTuple):
    """A table: its title, what it says, its columns, its rows."""

    title: str
    note: str
    head: tuple[str, ...]
    rows: list[list[str]]


def write_page(result: Mapping[str, Any], folder: Path) -> Path:
    """Write audit.html into a run directory: what an audit found, as tables.

    Args:
        result: What ``audit`` gave.
        folder: The run directory.

    Returns:
        The path of the page.

    Raises:
        FedkinError: It cannot be written, or is reached through a link.
    """
    title = f"Audit of {result['method']}, {result['rounds']} rounds"
    many = f"{result['clients']} of {result['of']} clients were attacked."
    parts = [f"<h1>{escape(title)}</h1>", f"<p>{escape(many)}</p>", f"<p>{escape(LIMIT)}</p>"]
    for number, shown in enumerate(tables(result)):
        head = [(name, "" if name in WORDS else "n") for name in shown.head]
        parts.append(section(f"t{number}", shown.title, shown.note, table(head, list(shown.rows))))
    whole = document(title, ["<main>", *parts, "</main>"], {"figures": [], "owns": []})
    return write_outside(path_in_run(folder, NAME), whole)


LIMIT = (
    "An attack that fails proves nothing: a better one may succeed. A lower bound proves, with "
    "its confidence, that epsilon is not below it. One above the upper bound proves that the "
    "promise does not hold."
)


def tables(result: Mapping[str, Any]) -> list[AuditTable]:
    """What an audit found, as text.

    Args:
        result: What ``audit`` gave.

    Returns:
        The tables in the order of the page.
    """
    shown = [_membership(result["membership"], result["false_alarms"])]
    if result["labels"] is not None:
        shown.append(_labels(result["labels"]))
    if result["properties"] is not None:
        shown.append(_properties(result["properties"]))
    if result["inversion"] is not None:
        shown.append(_inversion(result["inversion"]))
    if result["canaries"] is not None:
        shown.append(_canaries(result["canaries"], result["confidence"]))
    shown.append(_kinds(result["kinds"]))
    return shown


def _membership(rows: Sequence[Mapping[str, Any]], false_alarms: float) -> AuditTable:
    return AuditTable(
        "Which samples were trained on",
        "AUC: the chance that a training sample looks more like one than a test sample of the "
        "same client; 0.5 tells nothing. Hits: training samples found at "
        f"{percent(false_alarms, 0)} false alarms, by one threshold for all clients. Samples: of "
        "training, and of test. Message: what a client would send next.",
        ("target", "attack", "AUC", "hits", "samples"),
        [
            [
                one["target"],
                one["attack"],
                f"{one['auc']:.3f}",
                percent(one["hits"]),
                f"{one['members']:,} and {one['others']:,}",
            ]
            for one in rows
        ],
    )


def _labels(result: Mapping[str, Any]) -> AuditTable:
    return AuditTable(
        "Which classes a client has",
        "Correlation of what its message says with what is special about its classes, mean over "
        "clients; 0 tells nothing.",
        ("target", "correlation", "clients"),
        [["message", f"{result['correlation']:.2f}", str(result["clients"])]],
    )


def _properties(result: Mapping[str, Any]) -> AuditTable:
    def number(value: float | None, digits: int) -> str:
        return NONE if value is None else f"{value:.{digits}f}"

    def part(value: float | None) -> str:
        return NONE if value is None else percent(value)

    return AuditTable(
        "Which properties a client has",
        "Has a class: AUC of whether it has any sample of a class, 0.5 tells nothing. Most: share "
        "of clients whose most frequent class is inferred; by chance: the best guess without "
        "messages. Alike: rank correlation over pairs of clients, of how far messages and classes "
        "are apart.",
        ("target", "has a class", "most", "by chance", "alike", "clients"),
        [
            [
                result["kind"],
                number(result["has"], 3),
                part(result["most"]),
                part(result["chance"]),
                number(result["alike"], 2),
                str(result["clients"]),
            ]
        ],
    )


def _inversion(result: Mapping[str, Any]) -> AuditTable:
    return AuditTable(
        "Which samples can be rebuilt from a message",
        f"Rebuilt: correlation of {NEAR} or more with a row of the first layer's change over that "
        "of its bias. By chance: the same of test samples, which nobody trained on. AUC: the "
        "chance that a training sample is nearer than a test sample of the same client.",
        ("target", "closest", "rebuilt", "by chance", "AUC", "clients"),
        [
            [
                "message",
                f"{result['closest']:.3f}",
                percent(result["rebuilt"]),
                percent(result["chance"]),
                f"{result['auc']:.3f}",
                str(result["clients"]),
            ]
        ],
    )


def _canaries(rows: Sequence[Mapping[str, Any]], confidence: float) -> AuditTable:
    return AuditTable(
        "What canaries prove of epsilon, for one row",
        f"Lower: proved by the guesses, with confidence {percent(confidence, 0)} (Steinke et al., "
        "2023), each row by itself. Upper: what [privacy] promises, none where it promises "
        "nothing.",
        ("target", "canaries", "right guesses", "lower", "upper", "delta"),
        [
            [
                one["target"],
                str(one["canaries"]),
                f"{one['right']} of {one['guesses']}",
                f"{one['lower']:.2f}",
                NONE if one["upper"] is None else f"{one['upper']:.2f}",
                f"{one['delta']:.1g}",
            ]
            for one in rows
        ],
    )


def _kinds(rows: Sequence[Mapping[str, Any]]) -> AuditTable:
    return AuditTable(
        "What is proved and promised of one row, kind by kind",
        "Seen: what the server sees of it. Lower: what canaries prove of epsilon. Upper: what "
        "[privacy] promises of what the server sees: none where the server itself adds the noise, "
        "for then the promise is of the models alone. A dash: not attacked.",
        ("kind", "seen", "lower", "upper", "delta"),
        [
            [
                one["kind"],
                one["seen"],
                DASH if one["lower"] is None else f"{one['lower']:.2f}",
                NONE if one["upper"] is None else f"{one['upper']:.2f}",
                DASH if one["upper"] is None else f"{one['delta']:.1g}",
            ]
            for one in rows
        ],
    )
