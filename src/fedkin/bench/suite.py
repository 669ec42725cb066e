"""A suite is data: settings, methods, seeds and budgets, in a TOML file. fedkin's own stand in
``suites``.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator

from fedkin.core.errors import FedkinError, unknown
from fedkin.core.system.digests import short
from fedkin.core.system.user_code import is_user_code
from fedkin.methods import METHODS, known_name, taken
from fedkin.runs.section import Section
from fedkin.runs.spec import Spec, parse, read

Content = dict[str, Any]
Budget = Literal["rounds", "bytes", "compute"]
ALONE, SHARED = "local", "fedavg"
BASELINES = (ALONE, SHARED)  # whose rows every suite has
LEADERBOARD = "leaderboard"  # the folder of the rows that fedkin has
MOST_TRIALS = 64
LONGEST = 100  # letters of a setting's label
TITLE = 200  # letters of its title
LABEL = re.compile(rf"[A-Za-z0-9_.-]{{1,{LONGEST}}}")
DATA = parse({})[0].data.name  # of an experiment that names none
PUBLIC = {"source": "held-out", "labeled": True}  # unless the setting says


class Setting(Section):
    """One federation: its title, and all of its specification but method, rate and seed."""

    title: Annotated[str, Field(max_length=TITLE)]
    spec: Content

    @field_validator("spec")
    @classmethod
    def _same_data(cls, spec: Content) -> Content:
        """Who needs no public set has the same clients' data as who needs one. Rows name their
        data, those of an experiment that names none too.
        """
        data = spec.get("data", {})
        if isinstance(data, dict):
            data = {"name": DATA, **data}
        return {"public": PUBLIC, **spec, "data": data}

    @property
    def rounds(self) -> int:
        """How many rounds its specification asks for."""
        return parse(self.spec)[0].run.rounds


class Search(Section):
    """What a method tries in place of what fedkin tries. ``own``: values of its hyper-parameters,
    {name: value} each. ``fixed``: values that all trials have.
    """

    own: Annotated[tuple[Content, ...], Field(max_length=MOST_TRIALS)] = ()
    fixed: Content = Field(default={})


class Suite(Section):
    """Settings × methods × seeds.

    ``trials``: hyper-parameters that each method may try, at ``rates``. ``searches``: {method: what
    it tries} of those that do not try what they try in fedkin's suites. ``budgets``: what is equal,
    each by itself; ``fedavg`` at the setting's rounds says how many bytes and FLOPs that is, plus
    ``slack``. ``stretch``: cheaper methods get at most so many times the rounds.
    """

    title: str
    about: str = ""
    methods: tuple[str, ...] = ()  # default: all of fedkin's
    trials: Annotated[int, Field(ge=1, le=MOST_TRIALS)] = 4
    rates: Annotated[tuple[Annotated[float, Field(gt=0)], ...], Field(min_length=1)]
    searches: dict[str, Search] = Field(default={})
    seeds: Annotated[tuple[Annotated[int, Field(ge=0, lt=2**63)], ...], Field(min_length=1)]
    budgets: Annotated[tuple[Budget, ...], Field(min_length=1)] = ("rounds", "bytes", "compute")
    stretch: Annotated[float, Field(ge=1, le=100)] = 1.0
    slack: Annotated[float, Field(ge=0, le=1)] = 0.05
    settings: Annotated[dict[str, Setting], Field(min_length=1)]

    @field_validator("seeds", "rates", "budgets")
    @classmethod
    def _each_once(cls, values: tuple[Any, ...]) -> tuple[Any, ...]:
        twice = [value for value in dict.fromkeys(values) if values.count(value) > 1]
        if twice:
            raise ValueError(f"{twice[0]} is there twice: name each once")
        return values

    @field_validator("methods")
    @classmethod
    def _known(cls, methods: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(_name, methods))

    @field_validator("searches")
    @classmethod
    def _hyperparameters(cls, searches: dict[str, Search]) -> dict[str, Search]:
        """Those of fedkin's methods have these names; their values are tried later, with data."""
        by_name: dict[str, Search] = {}
        for typed, one in searches.items():
            name = _name(typed)
            if name in by_name:
                raise ValueError(f"{name} is there twice: name each once")
            if not is_user_code(name):
                _takes(name, [key for values in (*one.own, one.fixed) for key in values])
            by_name[name] = one
        return by_name

    @field_validator("settings")
    @classmethod
    def _labels(cls, settings: dict[str, Setting]) -> dict[str, Setting]:
        """A label becomes a folder's name."""
        for label in settings:
            if not LABEL.fullmatch(label) or set(label) == {"."}:
                raise ValueError(
                    f"{label[:LONGEST]!r} is no label: write at most {LONGEST} letters, digits and "
                    "._- that are not dots alone"
                )
        return settings

    @property
    def all_methods(self) -> tuple[str, ...]:
        """Those of the suite, the two baselines first."""
        return tuple(dict.fromkeys((*BASELINES, *(self.methods or METHODS))))


def _name(name: str) -> str:
    """A method's own name; code of somebody's own is looked at later, if it is trusted."""
    if is_user_code(name):
        return name
    try:
        return known_name(name)
    except FedkinError as error:
        raise ValueError(str(error)) from None


def _takes(name: str, keys: Sequence[str]) -> None:
    try:
        taken(name, keys)
    except FedkinError as error:
        raise ValueError(str(error)) from None


def names() -> list[str]:
    """fedkin's own suites, the shortest first.

    Returns:
        Keys for ``suite``.
    """
    order = ("small", "standard", "full")
    return sorted(_packaged(), key=lambda name: order.index(name) if name in order else len(order))


def suite(name: str) -> Suite:
    """One of fedkin's suites, or that of a TOML file.

    Args:
        name: "small", say, or the path of a TOML file.

    Returns:
        The suite, checked.

    Raises:
        FedkinError: The name does not exist, or the file holds what a suite cannot have.
    """
    if name in _packaged():
        content = read(Path(str(_packaged()[name])))[0]
    elif name.endswith(".toml"):
        content = read(Path(name))[0]
    else:
        raise unknown("suite", name, [*_packaged(), "your_own.toml"])
    return parsed(content, name)


def committed(name: str) -> Path | None:
    """The file of the rows that fedkin itself has of one of its suites.

    Args:
        name: Of a suite.

    Returns:
        In the installed package, else in the checkout; None where there are none.
    """
    here = Path(__file__).parent
    folders = (here / LEADERBOARD, here.parents[2] / "docs" / LEADERBOARD)
    files = (folder / f"{name}.jsonl" for folder in folders if name in names())
    return next((file for file in files if file.is_file()), None)


def parsed(content: Content, where: str) -> Suite:
    """A checked suite.

    Args:
        content: As TOML has it.
        where: What messages call the file.

    Returns:
        A suite, every setting of which is a valid specification.

    Raises:
        FedkinError: The first mistake, in one sentence.
    """
    try:
        checked = Suite.model_validate(content)
    except ValidationError as error:
        if "settings" not in content and content.keys() & Spec.model_fields.keys():
            raise FedkinError(
                f"{where} is an experiment, not a suite: give it to fedkin run, or write it as the "
                "spec of a setting (docs/bench.md)"
            ) from None
        raise FedkinError(f"{where}: {_said(error)}") from None
    for label, setting in checked.settings.items():
        for key in ("method", "transforms"):
            if key in setting.spec:
                raise FedkinError(f"{where}: settings.{label}.spec.{key} is the suite's to choose")
        engine = setting.spec.get("engine", {})
        for key in ("name", "workers"):
            if isinstance(engine, dict) and key in engine:
                raise FedkinError(
                    f"{where}: settings.{label}.spec.engine.{key}: a run of the bench is one "
                    "process; fedkin bench run --workers says how many run at a time"
                )
        parse(setting.spec, where=f"{where}: settings.{label}.spec")
    return checked


def digest(content: Any) -> str:
    """Twelve letters that stand for plain values.

    Args:
        content: Plain values.

    Returns:
        Equal for equal values.
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return short(text)


def settled(content: Content) -> Content:
    """A specification without [public] groups, for digests beside that of the data, which tells
    which samples are public: rows of before that key was there keep their names.

    Args:
        content: A specification.

    Returns:
        A copy, or the same.
    """
    public = content.get("public")
    if not isinstance(public, dict):
        return content
    return {**content, "public": {key: public[key] for key in public if key != "groups"}}


def _said(error: ValidationError) -> str:
    first = error.errors()[0]
    key, reason = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
    if first["type"] == "too_short":
        return f"{key}: name at least one"
    return f"{key or 'suite'}: {reason[0].lower()}{reason[1:]}"


@cache
def _packaged() -> Mapping[str, Any]:
    folder = resources.files("fedkin.bench").joinpath("suites")
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    return {file.name.removesuffix(".toml"): file for file in files if file.name.endswith(".toml")}
