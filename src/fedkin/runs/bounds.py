"""The numbers and texts of run.db: what kind each column has, and how large it may be, when written
and when read.

SQLite keeps whatever it is given, and other people's clients report whatever they like. Written by
a run, a number out of bounds becomes "not measured"; read from a record, it makes the record
damaged, since no fedkin writes it.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from fedkin.core.errors import FedkinError, cut
from fedkin.core.kinds import KINDS

ROUNDS = 10**9
CLIENTS = 10**9
STEPS = 10**6  # of a client in a round, and passes over its data: the plan of a round is in memory
BATCH = 10**7  # samples of a mini-batch, which is filled up to that size
COUNT = 2**53  # of bytes, scalars and samples: whole numbers that JSON keeps
LOSS = 1e39  # above every number of single precision: no honest loss or measure is larger
SLACK = 1e-6  # of an accuracy, for rounding
LETTERS = 200  # of a name, a view, a split
SENTENCE = 2000  # letters of a reason
NOTE = 1 << 20  # letters of one note as JSON: a membership of thousands of clusters
TEXT = 64 << 20  # letters of any text


def _whole(name: str, low: int, high: int) -> str:
    return f"typeof({name}) = 'integer' AND {name} BETWEEN {low} AND {high}"


def _perhaps_whole(name: str, high: int) -> str:
    return f"({name} IS NULL OR {_whole(name, 0, high)})"


def _text(name: str, most: int) -> str:
    return f"typeof({name}) = 'text' AND length({name}) <= {most}"


def _perhaps_text(name: str, most: int) -> str:
    return f"({name} IS NULL OR {_text(name, most)})"


def _number(name: str, low: float, high: float) -> str:
    # The + takes the column's affinity away: texts and blobs are then beyond every number.
    return f"({name} IS NULL OR +{name} BETWEEN {low!r} AND {high!r})"


_ROUND, _CLIENT = _whole("round", 0, ROUNDS), _whole("client", -1, CLIENTS)
COLUMNS = {
    "facts": [_text("name", LETTERS), _text("value", TEXT)],
    "rounds": [
        _ROUND,
        _text("phase", LETTERS),
        _text("participants", TEXT),
        _text("seconds", NOTE),
    ],
    "metrics": [
        _ROUND,
        _CLIENT,
        _text("view", LETTERS),
        _text("split", LETTERS),
        _number("loss", -LOSS, LOSS),
        _number("accuracy", -SLACK, 1 + SLACK),
    ],
    "messages": [
        _ROUND,
        _text("phase", LETTERS),
        _CLIENT,
        "direction IN ('up', 'down')",
        _whole("copy", 0, 1),
        _whole("bytes", 0, COUNT),
        *(_whole(kind, 0, COUNT) for kind in KINDS),
    ],
    "notes": [_ROUND, _CLIENT, _text("name", LETTERS), _text("value", NOTE)],
    "clients": [
        _CLIENT,
        "(name IS NULL OR typeof(name) IN ('text', 'integer'))",
        _perhaps_text("architecture", SENTENCE),
        *(_perhaps_whole(split, COUNT) for split in ("train", "val", "test")),
        _perhaps_text("histogram", TEXT),
    ],
    "events": [_ROUND, _CLIENT, _text("kind", LETTERS), _perhaps_text("text", NOTE)],
    "states": [_CLIENT, _ROUND],
    "measures": [
        _ROUND,
        _CLIENT,
        _text("view", LETTERS),
        _text("split", LETTERS),
        _text("name", LETTERS),
        _number("value", -LOSS, LOSS),
    ],
    "counted": [
        _ROUND,
        _text("view", LETTERS),
        _text("name", LETTERS),
        _whole("clients", 0, CLIENTS),
        _whole("without", 0, CLIENTS),
    ],
    "moved": [_ROUND, _whole("messages", 0, COUNT), _whole("bytes", 0, COUNT)],
}


FACTS: dict[str, tuple[type, ...]] = {  # what each fact is, where it is there
    "method": (str,),
    "data": (str,),
    "given": (str,),
    "split": (str,),
    "model": (str,),
    "measure": (str,),
    "why": (str,),
    "data_digest": (str,),
    "fingerprint": (str,),
    "deployment": (str,),
    "experiment": (str,),
    "hyper": (dict,),
    "parameters": (dict,),
    "spec": (dict,),
    "values": (dict,),
    "versions": (dict,),
    "privacy": (dict,),
    "frozen": (dict,),
    "baselines": (dict,),
    "baselines_of": (dict,),
    "code": (dict,),
    "class_names": (list,),
    "said": (list,),
    "newcomers": (list,),
    "warnings": (list,),
    "label_counts": (list,),
    "seed": (int,),
    "clients": (int,),
    "rounds": (int,),
    "released_again": (int,),
    "participation": (int, float),
    "finished": (bool,),
    "under_way": (bool,),
    "shared_model": (bool,),
}
CLIENT = re.compile("-1|[0-9]{1,9}")  # a client's number as the name of a value
ALWAYS = ("spec", "newcomers", "clients")  # where they are there, they are not null


def is_count(value: Any) -> bool:
    """Whether a value is a number of samples, of clients or of rounds.

    Args:
        value: As JSON has it.

    Returns:
        True of whole numbers from 0 to COUNT.
    """
    return isinstance(value, int) and 0 <= value <= COUNT


def is_number(value: Any) -> bool:
    """Whether a value is a number that a run writes.

    Args:
        value: As JSON has it.

    Returns:
        True of finite numbers that are no larger than LOSS.
    """
    return isinstance(value, int | float) and abs(value) <= LOSS  # nan is not


def are_counts(value: Any) -> bool:
    """Whether a value is a list of counts, such as a histogram or the participants of a round.

    Args:
        value: As JSON has it.

    Returns:
        True of such a list, an empty one too.
    """
    return isinstance(value, list) and all(map(is_count, value))


def are_numbers(value: Any) -> bool:
    """Whether a value is numbers by name, such as the seconds of a round.

    Args:
        value: As JSON has it.

    Returns:
        True of {name: number}, an empty one too.
    """
    return isinstance(value, dict) and all(map(is_number, value.values()))


def _by_client(value: Any) -> bool:
    return are_numbers(value) and all(CLIENT.fullmatch(name) for name in value)


def _are_scores(value: Any) -> bool:
    """Whether a value is {view: {split: {name: number, or None}}}."""
    return isinstance(value, dict) and all(
        isinstance(splits, dict)
        and all(isinstance(by_name, dict) for by_name in splits.values())
        and all(
            one is None or is_number(one) for by_name in splits.values() for one in by_name.values()
        )
        for splits in value.values()
    )


def _is_newcomer(value: Any) -> bool:
    """Whether a value has what is read of a client that joined afterwards."""
    if not isinstance(value, dict) or not isinstance(value.get("client"), str):
        return False
    scores: Any = value.get("scores")
    counts = [value.get(name) for name in ("train", "val", "test", "rounds")]
    labels = value.get("asked", "missing")
    return (
        all(map(is_count, counts))
        and (labels is None or is_count(labels))
        and _are_scores(scores)
        and "test" in scores.get("personal", {})
        and _are_scores(value.get("measures", {}))
    )


def _are_sections(value: Any) -> bool:
    """Whether a value is {section: table, or list of tables}, as [[transforms]] is one."""
    each = [one if isinstance(one, list) else [one] for one in value.values()]
    return all(one is None or isinstance(one, dict) for section in each for one in section)


def _any(value: Any) -> bool:
    return True


WITHIN: dict[str, Callable[[Any], bool]] = {  # what is within a fact of FACTS's kind
    "spec": _are_sections,
    "values": _are_sections,
    "label_counts": are_counts,
    "baselines": lambda value: all(map(_by_client, value.values())),
    "baselines_of": are_numbers,
}
BELOW = {"seed": 2**63, "clients": CLIENTS, "rounds": ROUNDS, "released_again": ROUNDS}


def check_facts(facts: dict[str, Any], where: str) -> None:
    """Refuse a record whose facts are of another kind than a run writes, or count too far.

    Args:
        facts: name → value, as read.
        where: The record's path, for the sentence.

    Raises:
        FedkinError: A fact is of another kind, a number is below 0 or too large, or a newcomer
            lacks its name, its samples or its scores.
    """
    for name, kinds in FACTS.items():
        value = facts.get(name)
        missing = value is None and not (name in ALWAYS and name in facts)
        wrong = not missing and not (isinstance(value, kinds) and WITHIN.get(name, _any)(value))
        if wrong or (name in BELOW and value is not None and not 0 <= value < BELOW[name]):
            raise FedkinError(f"{where} is damaged: {name} is {repr(value)[:80]}")
    for one in facts.get("newcomers", []):
        if not _is_newcomer(one):
            raise FedkinError(f"{where} is damaged: newcomers has {repr(one)[:80]}")


def check_rows(rows: Callable[[str], list[tuple[Any, ...]]], where: str) -> None:
    """Refuse a record with a value of another kind than its column's, or out of its bounds.

    Args:
        rows: what answers a query.
        where: the record's path, for the sentence.

    Raises:
        FedkinError: the first row that no fedkin writes.
    """
    there = {str(name) for (name,) in rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table, conditions in COLUMNS.items():
        if table not in there:
            continue
        wrong = " OR ".join(f"({condition}) IS NOT TRUE" for condition in conditions)
        for row in rows(f"SELECT * FROM {table} WHERE {wrong} LIMIT 1"):
            row_text = ", ".join(repr(value)[:40] for value in row)
            raise FedkinError(
                f"{where} is damaged: {table} holds a row that no run writes: {row_text[:200]}"
            )


def loss(value: float) -> float | None:
    """A loss or a measure as it is kept: None for what is not finite, or too large to be one.

    Args:
        value: A mean per sample, or a measure in its own unit.

    Returns:
        The same number, or None.
    """
    return value if math.isfinite(value) and abs(value) <= LOSS else None


def accuracy(value: float) -> float | None:
    """The share of right predictions as it is kept: None for what is no share.

    Args:
        value: A share; honest ones are in 0..1.

    Returns:
        The same number, which may be off by SLACK, or None.
    """
    return value if math.isfinite(value) and -SLACK <= value <= 1 + SLACK else None


def sentence(text: str) -> str:
    """A reason as it is kept, cut where it does not end.

    Args:
        text: Of any length.

    Returns:
        At most SENTENCE letters, and an ellipsis where it was cut.
    """
    return cut(text, SENTENCE)


def finite(value: Any) -> Any:
    """Plain values as JSON has them, which has no nan and no infinity.

    Args:
        value: Plain values and NumPy numbers, of any depth.

    Returns:
        The same, None in the place of numbers that are not finite.
    """
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if hasattr(value, "item"):  # a NumPy number
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_of(value: Any) -> str:
    """``finite`` values as text.

    Args:
        value: Plain values and NumPy numbers, of any depth.

    Returns:
        JSON that every program reads.
    """
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):  # only these few are looked at number by number
        return json.dumps(finite(value))


def note(value: Any) -> str:
    """A client's metrics as JSON; what is too long is replaced by its length.

    Args:
        value: Plain values: numbers, texts, lists, dicts.

    Returns:
        JSON of at most NOTE letters.
    """
    text = json_of(value)
    return text if len(text) <= NOTE else json.dumps(f"not kept: {len(text):,} letters")
