"""Rows: one finished run each, a JSON object a line, appended and fsynced, never changed."""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError

from fedkin.bench.suite import MOST_TRIALS, Budget, Content
from fedkin.core.errors import FedkinError
from fedkin.core.files import read_file
from fedkin.core.measures import MEASURES
from fedkin.core.plain import plain_values
from fedkin.runs.bounds import LOSS
from fedkin.runs.section import Section

LARGEST = 256 * 2**20  # bytes of a file of rows
# What a row of a stranger's may hold: each is far above what a bench writes
LETTERS, SENTENCE = 200, 2000  # of a name; of a reason
VALUES = 100_000  # letters of a specification or of hyper-parameters, as JSON
MOST = 1_000_000  # clients
Text = Annotated[str, Field(max_length=LETTERS)]
Sentence = Annotated[str, Field(max_length=SENTENCE)]
Texts = Annotated[dict[Text, Sentence], Field(max_length=100)]
Count = Annotated[int, Field(ge=0, le=10**9)]
Share = Annotated[float, Field(ge=0, le=1)]
Amount = Annotated[float, Field(ge=0, le=1e30)]
Score = Annotated[float, Field(ge=-LOSS, le=LOSS)]


def _small(values: Content) -> Content:
    if len(json.dumps(values)) > VALUES:
        raise ValueError(f"more than {VALUES:,} letters")
    return values


def _measure(name: str) -> str:
    if name not in (*MEASURES, "loss"):
        raise ValueError(f"{name[:LETTERS]!r} is no measure")
    return name


def _sections(content: Content) -> Content:
    """What it takes to run it again; nothing of a row that was not run."""
    for name in ("data", "method", "train") if content else ():
        if not isinstance(content.get(name), dict):
            raise ValueError(f"it has no section {name}")
    if content and "lr" not in content["train"]:
        raise ValueError("it has no train.lr")
    return content


Values = Annotated[Content, AfterValidator(_small)]


class Tried(Section):
    """One trial: what it tried, and the validation score; or why it has none."""

    hyper: Values
    validation: Score | None = None
    lost: Sentence = ""


class Row(Section):
    """One run of the chosen hyper-parameters under one seed.

    ``case``: digest of the whole search, of which ``of`` rows came. ``content``: the
    specification, but for where data lie. ``mean``, ``worst_decile``, ``clients``: on test, of the
    personal models after the last round, by ``measure``. ``seconds``: of the processor. ``flops``:
    of multiplied matrices and convolutions, counted. ``missing``: why there is no run.
    """

    id: Text
    case: Text
    of: Count
    suite: Sentence
    setting: Text
    data: Sentence
    data_digest: Text
    split: Text
    model: Sentence
    method: Text
    hyper: Values = Field(default_factory=dict)
    trials: Annotated[tuple[Tried, ...], Field(max_length=MOST_TRIALS)] = ()
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    rounds: Count = 0
    budgets: Annotated[tuple[Budget, ...], Field(max_length=3)] = ()
    missing: Sentence = ""
    measure: Annotated[str, AfterValidator(_measure)] = "accuracy"
    mean: Score | None = None
    worst_decile: Score | None = None
    clients: Annotated[dict[Text, Score], Field(max_length=MOST)] = Field(default_factory=dict)
    helped: Share | None = None
    hurt: Share | None = None
    bytes_up: Amount = 0
    bytes_down: Amount = 0
    flops: Amount = 0
    seconds: Amount = 0
    epsilon: Amount | None = None
    fingerprint: Text = ""
    own_digest: Text = ""  # of the data under this seed
    content: Annotated[Values, AfterValidator(_sections)] = Field(default_factory=dict)
    commit: Text = ""
    versions: Texts = Field(default_factory=dict)
    machine: Texts = Field(default_factory=dict)
    date: Text = ""

    @property
    def federation(self) -> str:
        """Its suite's own: another suite's of the same name has other clients or rounds."""
        return f"{self.suite}/{self.setting}"

    @property
    def bytes(self) -> float:
        return self.bytes_up + self.bytes_down


def read_rows(path: Path) -> list[Row]:
    """The rows of a file; one that a killed writer left unfinished at its end is no row.

    Raises FedkinError for a file that is none of ours.
    """
    try:
        text = read_file(path, LARGEST).decode("utf-8")
    except FileNotFoundError:
        raise FedkinError(f"{path} does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise FedkinError(f"{path} cannot be read: {reason}") from None
    whole = text[: text.rfind("\n") + 1]
    return [row_of(line, f"{path}: line {n}") for n, line in _lines(whole)]


def row_of(line: str, where: str) -> Row:
    """One line's row. Raises FedkinError where it is none."""
    try:
        return Row.model_validate(plain_values(json.loads(line)))
    except (ValueError, RecursionError) as error:
        reason = "it is no JSON"
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            reason = f"{'.'.join(map(str, first['loc'])) or 'row'}: {first['msg'].lower()}"
        raise FedkinError(f"{where} is no row of a leaderboard: {reason}") from None


def append(path: Path, rows: Iterable[Row]) -> None:
    """Write rows at the end of a file, and wait until the disk has them. Half a line that a killed
    writer left there is cut off first.
    """
    lines = "".join(f"{_text(row)}\n" for row in rows).encode()
    try:
        with open(path, "a+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - LARGEST))
            content = file.read()
            if not content.endswith(b"\n") and content:
                file.truncate(size - len(content) + content.rfind(b"\n") + 1)
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise FedkinError(f"{path} cannot be written: {error.strerror}") from None


def whole_cases(rows: Sequence[Row]) -> list[Row]:
    """The rows of searches that are complete, each once: the last one written counts."""
    latest = {row.id: row for row in rows}
    counts: dict[str, int] = {}
    for row in latest.values():
        counts[row.case] = counts.get(row.case, 0) + 1
    return [row for row in latest.values() if counts[row.case] >= row.of]


def _text(row: Row) -> str:
    return json.dumps(row.model_dump(mode="json"), separators=(",", ":"), allow_nan=False)


def _lines(text: str) -> list[tuple[int, str]]:
    return [(n, line) for n, line in enumerate(text.splitlines(), start=1) if line.strip()]


def plain(row: Row) -> dict[str, Any]:
    """A row as JSON values."""
    return row.model_dump(mode="json")
