"""The file of columns: what all nodes make of their raw tables. The operator writes it once and
carries it to every node.
"""

from pathlib import Path

from pydantic import Field, StrictFloat, StrictInt, StrictStr, ValidationError

from fedkin.core.errors import FedkinError, cut, near
from fedkin.core.files import read_file
from fedkin.core.toml import LARGEST, BadToml, parse_toml
from fedkin.data.holdout import check_fractions
from fedkin.data.tables.columns import LARGEST as LARGEST_CELL
from fedkin.data.tables.encoding import Category, Encoding, Feature, Number
from fedkin.data.tables.kinds import spelled
from fedkin.flower.envelope import COLUMNS, LONGEST
from fedkin.runs.section import Section

SPLIT = "split"  # the column of a node's file that says train, val or test
Word = StrictStr | StrictInt | StrictFloat  # as TOML has it; cells are compared as they are spelled


class ColumnEntry(Section):
    """What becomes of one column of the raw table: of numbers with ``fill``, or of words with
    ``values``.
    """

    fill: float | None = None  # what stands where a number is missing
    values: tuple[Word, ...] = ()  # an input each: 1 where the cell holds it
    rest: bool = False  # one more input, 1 for all other words
    flag: bool = False  # one more input, 1 where the cell is empty


class ColumnsFile(Section):
    """All that nodes must do alike."""

    label: str  # the raw column to predict
    classes: tuple[Word, ...] = ()  # its values: the k-th is class k; none: it holds numbers
    group: str | None = None  # a raw column: all rows of one value go into one part
    parts: tuple[float, float, float] = (0.6, 0.2, 0.2)  # of train, val and test
    missing: tuple[Word, ...] = ()  # cells that stand for nothing
    columns: dict[str, ColumnEntry] = Field(min_length=1)

    @property
    def roles(self) -> list[str]:
        """The raw columns that are no inputs: of the label, and of the group where there is one."""
        return [self.label, *([] if self.group is None else [self.group])]

    @property
    def encoding(self) -> Encoding:
        """How the raw columns become inputs, in their order."""
        return Encoding(tuple(_feature(name, one) for name, one in self.columns.items()))


def read_columns(path: Path) -> ColumnsFile:
    """A file of columns, checked.

    Args:
        path: TOML.

    Returns:
        What it says.

    Raises:
        FedkinError: It cannot be read, or its first mistake in one sentence.
    """
    try:
        content = parse_toml(read_file(path, LARGEST).decode("utf-8"))
    except OSError as error:
        raise FedkinError(f"{path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, BadToml) as error:
        raise FedkinError(f"{path} is not valid TOML: {error}") from None
    try:
        found = ColumnsFile.model_validate(content)
    except ValidationError as error:
        raise FedkinError(f"{path}: {_mistake(error)}") from None
    _check(path, found)
    return found


def _mistake(error: ValidationError) -> str:
    mistakes = error.errors()
    # a key that is written wrongly may be the one that seems to be missing
    first = next((one for one in mistakes if one["type"] == "extra_forbidden"), mistakes[0])
    where = ".".join(cut(str(part), 40) for part in first["loc"])
    if first["type"] != "extra_forbidden":
        return f"{where}: {first['msg']}"
    kind = ColumnsFile if len(first["loc"]) == 1 else ColumnEntry
    keys = kind.model_fields
    hint = near(str(first["loc"][-1]), keys) or f": the keys are {', '.join(keys)}"
    return f"unknown key {where!r}{hint}"


def _check(path: Path, found: ColumnsFile) -> None:
    """Refuse what no node's file can be."""
    for name, one in found.columns.items():
        if (one.fill is None) == (not one.values):
            raise FedkinError(
                f"{path}: column {cut(name, 40)!r} needs one of fill (it holds numbers) and values "
                "(it holds words)"
            )
        if abs(one.fill or 0) > LARGEST_CELL:
            raise FedkinError(f"{path}: column {cut(name, 40)!r}: fill is too large for float32")
        if one.fill is not None and one.rest:
            raise FedkinError(
                f"{path}: column {cut(name, 40)!r} holds numbers: rest is for columns of words"
            )
        _check_each_once(path, f"values of column {cut(name, 40)!r}", one.values)
    _check_each_once(path, "classes", found.classes)
    if len(found.classes) == 1:
        raise FedkinError(f"{path}: classes has one value: give at least 2, or none for numbers")
    for role in (found.label, found.group):
        if role in found.columns:
            raise FedkinError(
                f"{path}: column {cut(str(role), 40)!r} is the label or the group, and no input: "
                "leave it out of columns"
            )
    try:
        total = sum(check_fractions(found.parts))
    except FedkinError as error:
        raise FedkinError(f"{path}: parts: {error}") from None
    if total < 1 - 1e-9:
        raise FedkinError(f"{path}: parts sum to {total:g}: every row is in one, give a sum of 1")
    _check_inputs(path, found.encoding.outputs)


def _check_each_once(path: Path, what: str, words: tuple[Word, ...]) -> None:
    seen = set()
    for word in map(spelled, words):
        if word in seen:
            raise FedkinError(f"{path}: {what}: {cut(word, 40)!r} is there twice: name it once")
        seen.add(word)


def _check_inputs(path: Path, names: list[str]) -> None:
    if len(names) > COLUMNS or any(len(name) > LONGEST for name in names):
        raise FedkinError(
            f"{path} makes {len(names):,} inputs: a node's file has at most {COLUMNS:,}, with "
            f"names of {LONGEST} letters"
        )
    _check_each_once(path, "the names of inputs", tuple(names))
    if SPLIT in names:
        raise FedkinError(
            f"{path}: a node's file says in {SPLIT!r} which part a row is in: rename the column"
        )


def _feature(name: str, one: ColumnEntry) -> Feature:
    if one.fill is not None:
        return Number(name, one.fill, 0.0, 1.0, one.flag)
    return Category(name, tuple(map(spelled, one.values)), one.rest, one.flag)
