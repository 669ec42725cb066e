"""Rows: one finished run each, a JSON object a line, appended and fsynced, never changed."""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from fedkin.bench.suite import Budget, Content
from fedkin.core.errors import FedkinError
from fedkin.core.files import read_file
from fedkin.runs.section import Section

LARGEST = 256 * 2**20  # bytes of a file of rows
Share = Annotated[float, Field(ge=0, le=1)]
Amount = Annotated[float, Field(ge=0)]


class Tried(Section):
    """One trial: what it tried, and the validation score; or why it has none."""

    hyper: Content
    validation: float | None = None
    lost: str = ""


class Row(Section):
    """One run of the chosen hyper-parameters under one seed.

    ``case``: digest of the whole search, of which ``of`` rows came. ``content``: the
    specification, but for where data lie. ``mean``, ``worst_decile``, ``clients``: on test, of the
    personal models after the last round, by ``measure``. ``seconds``: of the processor. ``flops``:
    of multiplied matrices and convolutions, counted. ``missing``: why there is no run.
    """

    id: str
    case: str
    of: int
    suite: str
    setting: str
    data: str
    data_digest: str
    split: str
    model: str
    method: str
    hyper: Content = Field(default_factory=dict)
    trials: tuple[Tried, ...] = ()
    seed: int = 0
    rounds: int = 0
    budgets: tuple[Budget, ...] = ()
    missing: str = ""
    measure: str = "accuracy"
    mean: float | None = None
    worst_decile: float | None = None
    clients: dict[str, float] = Field(default_factory=dict)
    helped: Share | None = None
    hurt: Share | None = None
    bytes_up: Amount = 0
    bytes_down: Amount = 0
    flops: Amount = 0
    seconds: Amount = 0
    epsilon: float | None = None
    fingerprint: str = ""
    own_digest: str = ""  # of the data under this seed
    content: Content = Field(default_factory=dict)
    commit: str = ""
    versions: dict[str, str] = Field(default_factory=dict)
    machine: dict[str, str] = Field(default_factory=dict)
    date: str = ""

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
        return Row.model_validate(json.loads(line))
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
