"""Headers of what passes between the server app and a node: JSON beside the codec's bytes, checked on both sides."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from fedkin.core.errors import FedkinError

PROTOCOL = 3
HEADER_BYTES = 16 << 20  # of one header: an evaluation's notes may be vectors
STEPS = 4  # at most, in one message
VIEWS = 1000  # at most, of one client's models
COLUMNS, LONGEST = 20_000, 200  # at most, of one table, and letters of a name

Op = Literal["introduce", "local", "finish", "evaluate", "evaluate_all"]
Natural = Annotated[int, Field(ge=0)]
Hex = Annotated[str, Field(pattern=r"^[0-9a-f]*$", max_length=64)]
Short = Annotated[str, Field(max_length=4000)]
View = Annotated[str, Field(max_length=200)]
Split = Literal["train", "val", "test"]
Measure = Literal["rmse", "mae", "auc"]  # those of engine/measures.py, which needs more than a client app has
Some = TypeVar("Some", bound=BaseModel)


class Refused(FedkinError):
    """What arrived is not what was asked for: it is not used, and the record says why."""


def _possible(found: dict[Measure, float]) -> dict[Measure, float]:
    for name, value in found.items():  # nan and infinity are of models that diverged: the record holds NULL for them
        if value < 0 or (name == "auc" and value > 1):
            raise ValueError(f"{name} is never {value:g}")
    return found


Measures = Annotated[dict[Measure, float], AfterValidator(_possible)]


class _Header(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, ser_json_inf_nan="constants")


class Place(_Header):
    """A client's place in the federation: all that a node needs to know of the others."""

    client: Natural
    clients: int = Field(ge=1)
    classes: int = Field(ge=0, le=10_000_000)
    architecture: Short
    joined: Natural | None = None  # of one that was not in the run: after which round it comes
    data: Hex = ""  # sha256 of the data that the client joined with, where they are its own


class Base(_Header):
    """A personal state: the round whose work left it (0: the first one), and its sha256 where it is known."""

    round: Natural = 0
    digest: Hex = ""


class Step(_Header):
    """One thing to do."""

    op: Op
    round: Natural


class Request(_Header):
    """The server's half. Without a place and steps it asks who is there."""

    protocol: int = PROTOCOL
    version: Short
    experiment: Hex
    run: Hex
    name: Short
    place: Place | None = None
    base: Base = Base()
    keep: Natural = 0  # states of rounds before this one are not asked for again
    steps: tuple[Step, ...] = Field(default=(), max_length=STEPS)


class Done(_Header):
    """What became of one step. ``message``: whether a message of the codec goes with it."""

    op: Op
    round: Natural
    weight: float = 0.0
    error: Short | None = None
    seconds: float = 0.0
    scores: dict[View, dict[Split, tuple[float, float]]] = Field(default={}, max_length=VIEWS)
    notes: dict[str, Any] = {}
    measures: dict[View, dict[Split, Measures]] = Field(default={}, max_length=VIEWS)
    message: bool = False
    own: Base = Base()  # the personal state after the step


class Facts(_Header):
    """What a node tells of its data: sizes, shapes and a table's columns, and a fingerprint that says whether they
    changed."""

    train: int = Field(ge=1)
    val: Natural
    test: Natural
    shape: tuple[int, ...]
    dtype: Short
    classes: Natural
    task: Literal["classification", "regression"]
    digest: Hex
    columns: tuple[View, ...] = Field(default=(), max_length=COLUMNS)  # names of a table's inputs, in their order
    architecture: Short = ""  # of the node's own choice; empty: what the experiment gives it


class Reply(_Header):
    """The node's half."""

    protocol: int = PROTOCOL
    version: Short
    experiment: Hex
    run: Hex
    name: Short
    error: Short | None = None  # why nothing was done
    facts: Facts | None = None
    steps: tuple[Done, ...] = Field(default=(), max_length=STEPS)


def opened(kind: type[Some], header: bytes) -> Some:
    """A header of somebody else's making. Raises Refused for anything but a well-formed one."""
    if len(header) > HEADER_BYTES:
        raise Refused(f"header of {len(header)} bytes, more than the {HEADER_BYTES} allowed")
    try:
        return kind.model_validate_json(header)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "header"
        raise Refused(f"{kind.__name__.lower()} is malformed: {where}: {first['msg']}") from None


def sealed(header: BaseModel) -> bytes:
    """A header as bytes."""
    return header.model_dump_json().encode()
