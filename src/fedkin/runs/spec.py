"""The specification of an experiment: a TOML file, command-line options, or Python keywords,
checked once.
"""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)

from fedkin.core.errors import FedkinError
from fedkin.core.files import near_path
from fedkin.core.measures import Name
from fedkin.core.settings.choices import Compiling
from fedkin.core.system.user_code import is_user_code, of_this_folder
from fedkin.core.toml import LARGEST, BadToml, beyond_64_bits, not_finite, parse_toml
from fedkin.runs.bounds import CLIENTS, ROUNDS
from fedkin.runs.privacy import PrivacySection
from fedkin.runs.section import OpenSection, Section
from fedkin.runs.short_form import assign, literal
from fedkin.runs.spec_errors import explained
from fedkin.runs.suggested import suggested
from fedkin.runs.training import ServerSection, TrainSection
from fedkin.runs.usual_names import USUAL_NAMES

__all__ = [
    "PANEL",
    "SECTIONS",
    "AuditSection",
    "DataSection",
    "EngineSection",
    "MethodSection",
    "ModelSection",
    "PublicSection",
    "RunSection",
    "Spec",
    "SplitSection",
    "TransformSection",
    "assign",
    "literal",
    "our_names",
    "parse",
    "read",
]

PANEL = re.compile(r"panel:[1-9]\d{0,8}")  # of run.evaluate
# a name, or code of one's own, which may be named by its file wherever it is named
Named = Annotated[str, AfterValidator(of_this_folder)]


def _own(path: str) -> str:
    if not is_user_code(path):
        raise ValueError("is no package.module:function")
    return path


class DataSection(OpenSection):
    """[data] where samples come from; further keys go to the source."""

    name: str = "digits"  # a data set, a file or a folder
    dir: str | None = None  # the folder of data sets; default: FEDKIN_DATA
    mean: Literal["auto"] | tuple[float, ...] = ()  # x enters as (x − mean) / std; pixels 0 … 1
    std: tuple[Annotated[float, Field(gt=0)], ...] = ()  # see mean, whose "auto" fits both
    client: str | None = None  # the column that names the client, in tables
    label: str | None = None  # the column of labels, in tables; default: "label"
    pool: Literal["train", "all"] = "train"  # what is divided where a set has an official test part
    test: Literal["holdout", "official"] = "holdout"  # "official": the data set's own test part


class SplitSection(OpenSection):
    """[split] how samples are divided over clients, and each client's into train, validation and
    test.
    """

    name: str = "dirichlet"  # the partition: see the table below
    holdout: Literal["fractions", "comet"] = "fractions"  # comet: a train share drawn by client
    train: float = Field(default=0.6, gt=0, le=1)  # share of a client's samples that it trains on
    val: float = Field(default=0.2, ge=0, lt=1)  # share that chooses rounds and settings
    test: float = Field(default=0.2, ge=0, lt=1)  # share that is measured
    group: str | None = None  # rows that share it stay in one part (har: "bout"); "none": no rows
    empty: Literal["error", "drop"] = "error"  # clients too small for the three parts
    # samples that a client must have; those with fewer are left out
    least: int = Field(default=0, ge=0)


class PublicSection(Section):
    """[public] a public set, for methods that exchange predictions."""

    source: str | None = (
        None  # another data set, or "held-out": samples of the same one, taken before the split
    )
    samples: int | None = Field(default=None, ge=1)  # default: a tenth of the source, at most 2,000
    labeled: bool = False  # whether methods get its labels
    labels: Literal["private", "own"] = (
        "private"  # what they number: the private classes, or classes after those
    )
    groups: Literal["whole", "parted"] = (
        "whole"  # whether rows that split.group keeps together are held out together
    )


class ModelSection(OpenSection):
    """[model] one architecture, or a map of several with a rule that says which client
    has which.
    """

    name: Named = "dnn"  # the architecture, or package.module:Class
    map: dict[str, Named] = Field(default={})  # several architectures, by names of your own
    rule: Literal["size", "turn", "random", "column"] = "size"  # who gets which of the map
    # of the map's models, in its order; default: equal ones
    shares: tuple[Annotated[float, Field(gt=0)], ...] = ()
    column: str | None = (
        None  # rule "column": the column of the table that says a client's model, by its key
    )
    family: str = "auto"  # what outputs mean; auto: categorical for classes, gaussian for numbers
    target: Literal["auto", "none", "standard"] | tuple[float, Annotated[float, Field(gt=0)]] = (
        "auto"  # as y enters the loss; auto: standard for the numbers of one's own table
    )
    buffers: Literal["global", "local", "drop"] = (
        "global"  # running statistics: averaged, kept at home, none
    )
    head: str | None = None  # the module whose output is the model's; default: found
    frozen: str | tuple[str, ...] = ()  # parameters that nobody trains or sends, by name; "body"


class MethodSection(OpenSection):
    """[method] a method and its hyper-parameters."""

    name: Named = "finetune"  # the method
    safe: bool = False  # clients deploy a federated model only where their validation says so


class EngineSection(Section):
    """[engine] how the run is executed; never changes its result beyond rounding."""

    name: Literal["processes", "inprocess", "ray"] = "processes"  # where clients work
    workers: int | None = Field(default=None, ge=1)  # default: one a core
    compile: Compiling = "auto"  # steps as machine code
    state: Literal["memory", "disk"] = "memory"  # where the states of clients stay between rounds
    device: str = Field(default="cpu", pattern=r"^(cpu|cuda(:\d+)?)$")  # where models compute
    # clients whose steps are made together; default: 1, and 16 small models on a GPU
    block: int | None = Field(default=None, ge=1)


class RunSection(Section):
    """[run] how many clients and rounds, and where records go."""

    # default: 20, or all that the data name
    clients: int | None = Field(default=None, ge=1, lt=CLIENTS)
    participation: float = Field(default=1.0, gt=0, le=1)  # share of the clients in a round
    sampling: Literal["method", "uniform", "size"] = (
        "method"  # participants: as the method says, or one of the two
    )
    rounds: int = Field(default=30, ge=1, lt=ROUNDS)  # rounds of training
    seed: int = Field(default=0, ge=0, lt=2**63)  # of all randomness
    min_replies: int = Field(default=1, ge=1)  # usable replies; a round with fewer ends the run
    evaluate_every: int = Field(default=1, ge=1)  # rounds between two evaluations
    # evaluations without a better validation score that end training; default: never
    patience: int | None = Field(default=None, ge=1)
    evaluate: str = "all"  # whom rounds before the last evaluate: all, panel:N or participants
    commit_every: float = Field(default=2.0, ge=0)  # seconds between commits
    # share of those that never train, and join afterwards
    holdout_clients: float = Field(default=0.0, ge=0, lt=1)
    # … with so many labelled samples, and with all
    holdout_labels: tuple[Annotated[int, Field(ge=2)], ...] = (10, 40)
    measure: Literal["auto"] | Name | Annotated[Named, AfterValidator(_own)] = (
        "auto"  # what validation, sweeps and comparisons go by; auto: the data say
    )
    out: str | None = None  # the run directory; default: runs/ and a name of its own

    @field_validator("evaluate")
    @classmethod
    def _whom(cls, evaluate: str) -> str:
        if evaluate in ("all", "participants") or PANEL.fullmatch(evaluate):
            return evaluate
        nearest = "panel:1" if evaluate.startswith("panel") else "participants"
        nearest = "all" if evaluate[:1].lower() in ("a", "e", "") else nearest
        raise ValueError(f"write all, participants or panel:N (the nearest: {nearest})")


class AuditSection(Section):
    """[audit] what ``fedkin audit`` needs of the training that it attacks."""

    # training rows with a wrong label, half of them left out
    canaries: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _fits(self) -> "AuditSection":
        if self.canaries == 1:  # one that is guessed to be in, and one that is guessed to be out
            raise ValueError("canaries are guessed by twos, and 1 is none: ask for 2 or more")
        return self


class TransformSection(OpenSection):
    """[[transforms]] what is put around the method, in this order; further keys are its
    parameters.
    """

    name: str  # the transform: see docs/privacy.md


class Spec(Section):
    """A whole experiment."""

    data: DataSection = DataSection()
    split: SplitSection = SplitSection()
    public: PublicSection = PublicSection()
    model: ModelSection = ModelSection()
    method: MethodSection = MethodSection()
    train: TrainSection = TrainSection()
    server: ServerSection = ServerSection()
    engine: EngineSection = EngineSection()
    run: RunSection = RunSection()
    privacy: PrivacySection = PrivacySection()
    audit: AuditSection = AuditSection()
    transforms: tuple[TransformSection, ...] = ()

    def replace(self, section: str, **values: Any) -> "Spec":
        """The same experiment with other values of some keys, as ``dataclasses.replace`` has it:
        they are not checked again.

        Args:
            section: "run", "data", …; not "transforms", which are several.
            **values: Of its keys.

        Returns:
            A copy; nothing but these keys differs.
        """
        changed = getattr(self, section).model_copy(update=values)
        return self.model_copy(update={section: changed})

    @model_serializer(mode="wrap")
    def _sections(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without what is not asked for: an experiment of before it was there reads as ever."""
        content: dict[str, Any] = whole(self)
        unasked = {"transforms": not self.transforms, "privacy": self.privacy == PrivacySection()}
        unasked["audit"] = not self.audit.canaries
        return {key: value for key, value in content.items() if not unasked.get(key)}

    @model_validator(mode="before")
    @classmethod
    def _as_the_data_suggest(cls, content: Any) -> Any:
        """What nobody chose is chosen by the kind of the data: who the clients are, and what a
        table of one's own begins with.
        """
        if not isinstance(content, dict) or not isinstance(content.get("data", {}), dict):
            return content
        declared = {
            key: type(one.default).model_fields
            for key, one in cls.model_fields.items()
            if isinstance(one.default, BaseModel)
        }
        return suggested(content, declared)


SECTIONS = tuple(name for name in Spec.model_fields if name != "transforms")


def parse(
    content: dict[str, Any], text: str = "", where: str = "specification"
) -> tuple[Spec, list[str]]:
    """A checked Spec and hints about renamed keys.

    Args:
        content: {section: {key: value}}, as TOML has them.
        text: The TOML source, to name the line of a mistake.
        where: What is read, for the sentence.

    Returns:
        The specification, and a hint for each key that has another name here.

    Raises:
        FedkinError: The first mistake, in one sentence.
    """
    content, hints = our_names(content)
    content.pop("record", None)  # what a run wrote beside its specification
    try:
        spec = Spec.model_validate(content)
    except ValidationError as error:
        raise FedkinError(f"{where}: {explained(error, text, Spec())}") from None
    whole = spec.model_dump()
    if key := beyond_64_bits(whole):
        raise FedkinError(f"{where}: {key} has more than 64 bits")
    if key := not_finite(whole):
        raise FedkinError(f"{where}: {key} is NaN or infinity: give a finite number")
    return spec, hints


def read(path: Path) -> tuple[dict[str, Any], str]:
    """A TOML file as a dict, and its text.

    Args:
        path: The file's.

    Returns:
        Its content, unchecked, and the text.

    Raises:
        FedkinError: It is not there, cannot be read, or is not valid TOML.
    """
    try:
        with open(path, "rb") as file:  # a pipe may be typed in a file's place
            text = file.read(LARGEST + 1).decode("utf-8")
        return parse_toml(text), text
    except FileNotFoundError:
        raise FedkinError(f"{path} does not exist{near_path(path) or ': check the path'}") from None
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text, so no experiment"
        raise FedkinError(f"{path} cannot be read: {why}") from None
    except BadToml as error:
        raise FedkinError(f"{path} is not valid TOML: {error}") from None


def our_names(content: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The content under our names where it has the usual ones of other libraries.

    Args:
        content: {section: {key: value}} or {key: value}, as TOML has them.

    Returns:
        The content, and a hint for each key that was renamed.

    Raises:
        FedkinError: Two names stand for one key.
    """
    ours: dict[str, Any] = {}
    named: dict[str, str] = {}  # key → the name under which it was given
    hints: list[str] = []

    def enter(key: str, goes: str, value: Any) -> None:
        if goes in named:
            raise FedkinError(f"{named[goes]} and {key} are one key here: give {goes} alone")
        named[goes] = key
        if goes != key:
            hints.append(f"{key} is called {goes} here")
        assign(ours, goes, value)

    for key, value in content.items():
        plain = key.replace("-", "_")
        if isinstance(value, dict) and key in SECTIONS:
            for inner, item in value.items():
                enter(f"{key}.{inner}", _goes(key, inner), item)
            ours.setdefault(key, {})
        elif plain in USUAL_NAMES and not isinstance(value, dict):
            enter(key, USUAL_NAMES[plain], value)
        else:
            ours[key] = value
    return ours, hints


def _goes(section: str, key: str) -> str:
    """Our name of a section's key."""
    renamed, ours = USUAL_NAMES.get(key.replace("-", "_")), f"{section}.{key}"
    if renamed is None or ours == "split.alpha" or not _moves(section, renamed):
        return ours
    return ours if key in type(getattr(Spec(), section)).model_fields else renamed


def _moves(section: str, renamed: str) -> bool:
    """A usual name moves to our section, except that method's own keys (a method's lr or alpha)
    stay.
    """
    return section != "method" or renamed.startswith("method.")
