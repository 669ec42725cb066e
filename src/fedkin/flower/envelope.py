"""Headers of what passes between the server app and a node: JSON beside the codec's bytes, checked
on both sides.
"""

import math
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from fedkin.core.errors import FedkinError
from fedkin.core.measures import ASIDE, MEASURES, Name
from fedkin.data.population import Split
from fedkin.engine.op import RemoteOp
from fedkin.runs.bounds import COUNT
from fedkin.runs.record import CLUSTER, OF_THE_SERVER

PROTOCOL = 10
HEADER_BYTES = 8 << 20  # of one header
# in one header: what is wrong with an entry takes a thousand times its bytes to say
COLONS, COMMAS = 50_000, 100_000
STEPS = 4  # at most, in one message
VIEWS = 16  # at most, of one client's models
COLUMNS, LONGEST = 20_000, 200  # at most, of one table, and letters of a name
NOTES, NUMBERS = 32, 20_000  # at most, of one evaluation's notes, and numbers in all of them
SENTENCE = 300  # letters that are kept of an error
MOST_ROUNDS = 10_000_000
MOST_CLIENTS = 1_000_000
MOST_CLASSES = 100_000
MOST_SAMPLES = 100_000_000  # of one client
MOST_FEATURES = 1 << 26  # numbers in one sample
DIVERGED = 1e30  # a loss beyond it is that of a model that diverged, and is recorded as infinite

Round = Annotated[int, Field(ge=0, le=MOST_ROUNDS)]
Samples = Annotated[int, Field(ge=0, le=MOST_SAMPLES)]
Hash = Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]  # sha256, or not known
# of a run, or of a newcomer's place in it
Token = Annotated[str, Field(pattern=r"^([0-9a-f]{16}([0-9a-f]{4})?)?$")]
Seconds = Annotated[float, Field(ge=0, le=1e9)]  # the bounds refuse nan too
Clock = Annotated[float, Field(ge=0, le=1e11)]
Short = Annotated[str, Field(max_length=1000)]
Column = Annotated[str, Field(max_length=LONGEST)]
Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_ .:-]{0,63}$")]  # a view, a note
Size = Annotated[int, Field(ge=1, le=MOST_FEATURES)]
# what engine/measures.py computes, and what stands beside it
Measure = Name | Literal["threshold", "se"]
Some = TypeVar("Some", bound=BaseModel)


class Refused(FedkinError):
    """What arrived is not what was asked for: it is not used, and the record says why."""


def _possible(measures: dict[Measure, float]) -> dict[Measure, float]:
    # nan and infinity are of models that diverged: the record holds NULL for them
    for name, value in measures.items():
        known = ASIDE.get(name) or MEASURES[name]
        if value < known.least or value > known.most:
            raise ValueError(f"{name} is never {value:g}")
    return measures


def cleaned(text: str) -> str:
    """One printable line of a stranger's text, which may say nothing.

    Args:
        text: Of any length.

    Returns:
        At most SENTENCE letters.
    """
    shown = "".join(c if c.isprintable() else " " for c in text[: 2 * SENTENCE])
    return " ".join(shown.split())[:SENTENCE] or "it gives no reason"


def _share(value: float) -> float:
    if value < 0 or value > 1:  # nan is of a regression, or of a split without samples
        raise ValueError(f"an accuracy is never {value:g}")
    return value


def _loss(value: float) -> float:
    return value if abs(value) <= DIVERGED or math.isnan(value) else math.inf


def _no_number(value: float) -> bool:
    return type(value) is float and not math.isfinite(value)


def _notes(notes: dict[str, Any]) -> dict[str, Any]:
    numbers = 0
    for name, value in notes.items():
        if name in OF_THE_SERVER:
            raise ValueError(f"{name} is for the server to say")
        if name == CLUSTER and not (type(value) is int and abs(value) <= COUNT):
            raise ValueError("a cluster is a whole number")
        vector = value if isinstance(value, list) else [value]
        if not all(
            type(x) in (int, float, bool) and (abs(x) <= DIVERGED or _no_number(x)) for x in vector
        ):
            raise ValueError(f"{name} is a number or a list of numbers up to {DIVERGED:g}")
        numbers += len(vector)
    if numbers > NUMBERS:
        raise ValueError(f"{numbers} numbers, at most {NUMBERS} are kept")
    return notes


def _room(shape: tuple[int, ...]) -> tuple[int, ...]:
    if math.prod(shape) > MOST_FEATURES:
        raise ValueError(f"a sample has at most {MOST_FEATURES:,} numbers")
    return shape


Measures = Annotated[dict[Measure, float], AfterValidator(_possible)]
Sentence = Annotated[str, AfterValidator(cleaned)]
Loss = Annotated[float, AfterValidator(_loss)]
Accuracy = Annotated[float, AfterValidator(_share)]
Scores = dict[Word, dict[Split, tuple[Loss, Accuracy]]]
Notes = Annotated[dict[Word, Any], Field(max_length=NOTES), AfterValidator(_notes)]
Shape = Annotated[tuple[Size, ...], Field(max_length=8), AfterValidator(_room)]


class _Header(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, ser_json_inf_nan="constants"
    )


class Place(_Header):
    """A client's place in the federation: all that a node needs to know of the others."""

    client: int = Field(ge=0, lt=MOST_CLIENTS)
    clients: int = Field(ge=1, le=MOST_CLIENTS)
    classes: int = Field(ge=0, le=MOST_CLASSES)
    architecture: Short
    joined: Round | None = None  # of one that was not in the run: after which round it comes
    data: Hash = ""  # sha256 of the data that the client joined with, where they are its own
    frozen: Hash = ""  # of its architecture's frozen parameters, which every place has alike
    public: Hash = ""  # of the public set, which every place has alike; empty: there is none


class Base(_Header):
    """A personal state: the round whose work left it (0: the first one), and its sha256 where it is
    known.
    """

    round: Round = 0
    digest: Hash = ""


class RemoteStep(_Header):
    """One thing to do."""

    op: RemoteOp
    round: Round
    trained: Round | None = None  # of a task: the last round that trained, where not the one before


class Request(_Header):
    """The server's half. Without a place and steps it asks who is there."""

    protocol: int = PROTOCOL
    version: Short
    experiment: Hash
    run: Token
    name: Short
    place: Place | None = None
    base: Base = Base()
    keep: Round = 0  # states of rounds before this one are not asked for again
    steps: tuple[RemoteStep, ...] = Field(default=(), max_length=STEPS)


class Done(_Header):
    """What became of one step. ``message``: whether a message of the codec goes with it."""

    op: RemoteOp
    round: Round
    weight: float = Field(default=0.0, ge=0, le=MOST_SAMPLES)
    error: Sentence | None = None
    seconds: Seconds = 0.0
    scores: Scores = Field(default={}, max_length=VIEWS)
    notes: Notes = {}
    measures: dict[Word, dict[Split, Measures]] = Field(default={}, max_length=VIEWS)
    message: bool = False
    own: Base = Base()  # the personal state after the step


class Facts(_Header):
    """What a node tells of its data: sizes, shapes and a table's columns, and a fingerprint that
    says whether they changed.
    """

    train: int = Field(ge=1, le=MOST_SAMPLES)
    val: Samples
    test: Samples
    shape: Shape
    dtype: Literal["uint8", "float32", "int64"]  # pixels, numbers, tokens
    classes: int = Field(ge=0, le=MOST_CLASSES)
    task: Literal["classification", "regression"]
    digest: Hash
    # names of a table's inputs, in their order
    columns: tuple[Column, ...] = Field(default=(), max_length=COLUMNS)
    architecture: Short = ""  # of the node's own choice; empty: what the experiment gives it


class NodeReply(_Header):
    """The node's half."""

    protocol: int = PROTOCOL
    version: Short
    experiment: Hash
    run: Token
    name: Short
    error: Sentence | None = None  # why nothing was done
    facts: Facts | None = None
    clock: Clock | None = None  # the node's, when it says who it is: seconds since 1970
    steps: tuple[Done, ...] = Field(default=(), max_length=STEPS)


class ProtocolVersion(BaseModel):
    """What the headers of every version say, whatever else stands there."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    protocol: int
    version: Short
    error: Sentence | None = None


def protocol_version(header: bytes) -> ProtocolVersion | None:
    """Which protocol and version a header is of, before it is read by the fields of this one.

    Args:
        header: Of somebody else's making.

    Returns:
        None where it does not say.

    Raises:
        Refused: It is too large.
    """
    _check_size(header)
    try:
        return ProtocolVersion.model_validate_json(header)
    except ValidationError:
        return None


def opened(kind: type[Some], header: bytes) -> Some:
    """A header of somebody else's making.

    Args:
        kind: What it should be.
        header: JSON, or anything.

    Returns:
        The header, checked.

    Raises:
        Refused: It is too large, or not well-formed.
    """
    _check_size(header)
    try:
        return kind.model_validate_json(header)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part)[:60] for part in first["loc"]) or "header"
        raise Refused(
            cleaned(f"{kind.__name__.lower()} is malformed: {where}: {first['msg']}")
        ) from None


def _check_size(header: bytes) -> None:
    if len(header) > HEADER_BYTES:
        raise Refused(f"header of {len(header)} bytes, more than the {HEADER_BYTES} allowed")
    for sign, most in ((b":", COLONS), (b",", COMMAS)):
        if header.count(sign) > most:
            raise Refused(f"header of more than {most:,} entries")


def sealed(header: BaseModel) -> bytes:
    """A header as bytes.

    Args:
        header: Of this version.

    Returns:
        JSON, UTF-8.
    """
    return header.model_dump_json().encode()
