"""Rows: one finished run each, a JSON object a line, appended and fsynced, never changed."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, BinaryIO

from pydantic import AfterValidator, Field, ValidationError

from fedkin.bench.suite import MOST_TRIALS, TITLE, Budget, Content
from fedkin.core.errors import FedkinError, cut, many
from fedkin.core.escaping import plain, plain_values
from fedkin.core.files import near_path, read_file
from fedkin.core.measures import is_measure
from fedkin.runs.bounds import LOSS
from fedkin.runs.section import Section

ROWS = "rows.jsonl"  # the file of all rows in the folder of a bench
LARGEST = 256 * 2**20  # bytes of a file of rows
BLOCK = 1 << 16  # bytes that are read first of its end
# What a row of a stranger's may hold: each is far above what a bench writes
LETTERS, SENTENCE = 200, 2000  # of a name; of a reason
VALUES = 100_000  # letters of a specification or of hyper-parameters, as JSON
DEEPEST = 50  # of their levels: what is read can be written again
MOST = 1_000_000  # clients
Text = Annotated[str, Field(max_length=LETTERS)]
Sentence = Annotated[str, Field(max_length=SENTENCE)]
Texts = Annotated[dict[Text, Sentence], Field(max_length=100)]
Count = Annotated[int, Field(ge=0, le=10**9)]
Share = Annotated[float, Field(ge=0, le=1)]
Amount = Annotated[float, Field(ge=0, le=1e30)]
Score = Annotated[float, Field(ge=-LOSS, le=LOSS)]


def letters(values: Content) -> int:
    """How long hyper-parameters are in a row.

    Args:
        values: Of JSON.

    Returns:
        Letters, at most VALUES in a row.
    """
    return len(json.dumps(values))


def _small(values: Content) -> Content:
    if _deeper(values, DEEPEST):
        raise ValueError(f"more than {DEEPEST} levels within each other")
    if letters(values) > VALUES:
        raise ValueError(f"more than {VALUES:,} letters")
    return values


def _deeper(value: Any, levels: int) -> bool:
    """Whether a JSON value has more levels than so many."""
    inside = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list) or not inside:
        return False
    return levels == 0 or any(_deeper(one, levels - 1) for one in inside)


def _once(budgets: tuple[Budget, ...]) -> tuple[Budget, ...]:
    if len(set(budgets)) < len(budgets):
        raise ValueError("a budget is there twice")
    return budgets


def _measure(name: str) -> str:
    if name != "loss" and not is_measure(name):
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


def sentence(reason: str) -> str:
    """A reason, which may hold what somebody else's code says, as a row may have it.

    Args:
        reason: Of any length.

    Returns:
        One line of at most SENTENCE characters.
    """
    return cut(plain(reason), SENTENCE - 1)


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
    of matrix products and convolutions, counted. ``missing``: why there is no run. ``code``:
    {name: digest of its file} of a method or a model that is not fedkin's.
    """

    id: Text
    case: Text
    of: Count
    suite: Sentence
    setting: Text
    title: Annotated[str, Field(max_length=TITLE)] = ""  # of the setting; "" in older rows
    data: Sentence
    data_digest: Text
    split: Text
    model: Sentence
    method: Text
    hyper: Values = Field(default_factory=dict)
    trials: Annotated[tuple[Tried, ...], Field(max_length=MOST_TRIALS)] = ()
    trials_allowed: Annotated[int, Field(ge=0, le=MOST_TRIALS)] = 0  # by the suite; 0: not told
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    rounds: Count = 0
    budgets: Annotated[tuple[Budget, ...], AfterValidator(_once)] = ()
    slack: Share = 0.05  # of its suite: bytes and FLOPs may exceed budgets by so much
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
    code: Texts = Field(default_factory=dict)
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
        """Bytes of all messages, up and down."""
        return self.bytes_up + self.bytes_down


def read_rows(path: Path) -> list[Row]:
    """The rows of a file. Its last line counts without a newline too where it is a whole row; one
    that a killed writer left unfinished is none.

    Args:
        path: Of the file.

    Returns:
        In the order of the file.

    Raises:
        FedkinError: The file is not there, or a line is no row.
    """
    whole, _, last = _text_of(path).rpartition("\n")
    lines = whole.split("\n")  # JSON may hold what splitlines() takes for the end of a line
    if _is_row(last):
        lines.append(last)
    return [row_of(line, f"{path}: line {n}") for n, line in enumerate(lines, 1) if line.strip()]


def half_written(path: Path) -> list[str]:
    """A sentence where a file's last line is no whole row, which ``read_rows`` leaves out; none of
    a file that is not there.

    Args:
        path: Of the file, which need not be there.

    Returns:
        [] or one sentence.
    """
    last = _text_of(path).rpartition("\n")[2] if path.exists() else ""
    if not last.strip() or _is_row(last):
        return []
    return [f"{path}: the last line is left out, for whoever wrote it was stopped before its end"]


def _text_of(path: Path) -> str:
    try:
        return read_file(path, LARGEST).decode("utf-8")
    except FileNotFoundError:
        raise FedkinError(f"{path} does not exist{near_path(path)}") from None
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise FedkinError(f"{path} cannot be read: {why}") from None


def row_of(line: str, where: str) -> Row:
    """One line's row.

    Args:
        line: JSON.
        where: What messages call the line.

    Returns:
        The row, checked.

    Raises:
        FedkinError: It is none.
    """
    try:
        return Row.model_validate(plain_values(json.loads(line)))
    except (ValueError, RecursionError) as error:
        reason = "it is too deep" if isinstance(error, RecursionError) else "it is no JSON"
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            reason = f"{'.'.join(map(str, first['loc'])) or 'row'}: {first['msg'].lower()}"
        raise FedkinError(f"{where} is no row of a leaderboard: {reason}") from None


def _is_row(line: str) -> bool:
    try:
        row_of(line, "")
    except FedkinError:
        return False
    return True


def append(path: Path, rows: Iterable[Row]) -> None:
    """Write rows at the end of a file, and wait until the disk has them. Half a line that a killed
    writer left there is cut off first.

    Args:
        path: Of the file; it is made where it is not there.
        rows: What is added.

    Raises:
        FedkinError: The file cannot be written.
    """
    lines = "".join(f"{_text(row)}\n" for row in rows).encode()
    try:
        with open(path, "a+b") as file:
            size = file.seek(0, os.SEEK_END)
            last = _last_line(file, size)
            if last and _is_row(last.decode(errors="replace")):
                file.write(b"\n")
            elif last:
                file.truncate(size - len(last))
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise FedkinError(f"{path} cannot be written: {error.strerror}") from None


def _last_line(file: BinaryIO, size: int) -> bytes:
    """What stands behind the last newline of a file of ``size`` bytes, read from its end."""
    last = b""
    while len(last) < min(size, LARGEST):
        step = min(max(BLOCK, len(last)), size - len(last))
        file.seek(size - len(last) - step)
        last = file.read(step) + last
        _, newline, behind = last.rpartition(b"\n")
        if newline:
            return behind
    return last


def whole_cases(rows: Sequence[Row]) -> list[Row]:
    """The rows of searches that are complete, each once: the last one written counts.

    Args:
        rows: In the order in which they were written.

    Returns:
        Those that count.
    """
    latest = _latest(rows)
    counts = Counter(row.case for row in latest)
    return [row for row in latest if counts[row.case] >= row.of]


def incomplete(rows: Sequence[Row]) -> list[str]:
    """A sentence a search of which rows are lacking, so that none of it counts.

    Args:
        rows: In the order in which they were written.

    Returns:
        [] where all are complete.
    """
    latest = _latest(rows)
    counts = Counter(row.case for row in latest)
    return [
        f"{row.federation}: the search of {row.method} is left out, for it has {counts[row.case]} "
        f"of its {row.of} rows"
        for row in {row.case: row for row in latest}.values()
        if counts[row.case] < row.of
    ]


def in_one_line(rows: Sequence[Row]) -> str:
    """What a case came to.

    Args:
        rows: Of one case, at least one.

    Returns:
        Its mean under the first of its budgets, its seconds, and what of the others is missing.
    """
    first = set(rows[0].budgets[:1])
    in_budget = [row for row in rows if first <= set(row.budgets)]
    failure = next((row.missing for row in in_budget if row.missing), "")
    if failure:
        return f"not run: {failure}"
    means = [row.mean for row in in_budget if row.mean is not None]
    seconds = sum(row.seconds for row in rows)
    other_failures = "".join(
        f"; {', '.join(row.budgets)}: {row.missing}" for row in rows if row.missing
    )
    mean = f"{sum(means) / len(means):.4f}" if means else "is defined for no client"
    score = f"{rows[0].measure} {mean}"
    return f"{score}  {seconds:.0f} s for its {many(len(rows), 'row')}{other_failures}"


def _latest(rows: Sequence[Row]) -> list[Row]:
    """Each once, where it was written last."""
    latest: dict[str, Row] = {}
    for row in rows:
        latest.pop(row.id, None)
        latest[row.id] = row
    return list(latest.values())


def _text(row: Row) -> str:
    return json.dumps(row.model_dump(mode="json"), separators=(",", ":"), allow_nan=False)
