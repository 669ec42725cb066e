"""What a sweep searches: keys of a specification, each with a list of values or a range."""

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any

from fedkin.core.errors import FedkinError, unknown
from fedkin.data.population import Population
from fedkin.methods import taken
from fedkin.models.build import options_of
from fedkin.runs.short_form import pieces
from fedkin.runs.spec import MethodSection, ModelSection, Spec, literal, parse
from fedkin.runs.suggested import METHOD
from fedkin.setup.architectures import described, models_of, names_of, with_measure
from fedkin.setup.arguments.choosing import our_name
from fedkin.setup.arguments.options import chooses, place_setting
from fedkin.setup.build import method_of
from fedkin.setup.population import HELD_OUT, population_of
from fedkin.setup.requirements import check_public_labels
from fedkin.setup.user_code import permit
from fedkin.sweep.ranges import range_of

NO_VALIDATION = (
    "clients have no validation samples, and nothing else chooses: set split.val above 0"
)

NAME = "method.name"
# sections and keys that change data, labels or the number of rounds
OF_DATA = ("data", "split", "public", "run", "audit", "privacy.budget")
MOST = 100  # combinations that are tried for one that a method takes
SPACES: dict[str, dict[str, str]] = {  # the papers' grids, by name
    "rates": {"train.lr": "0.001, 0.003, 0.01, 0.03, 0.1, 0.3"},
    "cgpfl": {"method.lam": "9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19", "method.clusters": "2, 4"},
    "comet": {"method.clusters": "1, 2, 3, 4", "method.lam": "0.5, 1, 2, 4"},
    "hypcluster": {"method.clusters": "2, 3, 5, 6"},
    "ppfl": {"method.models": "2, 5, 7, 10", "method.structure": "1, 2"},
    "ppfl_models": {"method.models": "1, 2, 3, 4, 5, 7, 10"},
}

Space = dict[str, list[Any] | tuple[float, float, bool]]


def space_of(texts: Sequence[str]) -> Space:
    """``key=value, value, …`` (a list), ``key=low .. high``, ``key=log low .. high`` (ranges), or a
    name in SPACES, whose keys may be given otherwise beside it.

    Args:
        texts: What follows ``--space``, one or more.

    Returns:
        {key: a list of values, or (low, high, whether on a logarithmic scale)}.

    Raises:
        FedkinError: There is no text, a name that is no space, a key without values or given twice,
            or a range whose ends are no numbers in rising order.
    """
    named: Space = {}
    typed: Space = {}
    for text in texts:
        key, equals, values_or_range = text.partition("=")
        if equals:
            _put(typed, key.strip(), _searched(text, values_or_range))
            continue
        if text not in SPACES:
            raise _no_space(text)
        for key, values_or_range in SPACES[text].items():
            _put(named, key, _searched(text, values_or_range))
    space = named | typed
    if not space:
        raise FedkinError(
            "there is nothing to search: --space train.lr=0.01,0.1 or --space 'train.lr=log "
            "0.001 .. 0.3'"
        )
    return space


def _put(space: Space, key: str, values_or_range: list[Any] | tuple[float, float, bool]) -> None:
    """Of a key that is given twice, one list would be lost in silence."""
    if key in space:
        raise FedkinError(f"--space gives {key} twice: write all its values in one")
    space[key] = values_or_range


def _no_space(text: str) -> FedkinError:
    if "." in text:  # a key
        return FedkinError(f"--space {text} has no values: write {text}=0.01,0.1 or low .. high")
    return unknown("space", text, SPACES)


def _searched(text: str, values_or_range: str) -> list[Any] | tuple[float, float, bool]:
    if (found := range_of(text, values_or_range)) is not None:
        return found
    values = [literal(piece) for piece in pieces(values_or_range)]
    return [value for at, value in enumerate(values) if value not in values[:at]]


def instead(texts: Sequence[str]) -> list[str]:
    """Keys of the named spaces that are given otherwise, in words;

    Args:
        texts: What follows ``--space``, as ``space_of`` takes it.

    Returns:
        A sentence a key; [] where every named space is searched as it is.
    """
    typed = {key.strip() for key, equals, _ in (text.partition("=") for text in texts) if equals}
    return [
        f"{key} of the space {text} is searched as you gave it, not as {values}"
        for text in texts
        for key, values in SPACES.get(text, {}).items()
        if key in typed
    ]


def drawn(trial: Any, base: Spec, space: Space) -> dict[str, Any]:
    """The values that an Optuna trial takes.

    Args:
        trial: Optuna's, which draws by its study's sampler.
        base: The experiment, by which whole numbers are told from others.
        space: What is searched.

    Returns:
        {key: value} for every key of the space.
    """
    return {
        key: trial.suggest_categorical(key, values_or_range)
        if isinstance(values_or_range, list)
        else _number_of(trial, key, base, space)
        for key, values_or_range in space.items()
    }


def _number_of(trial: Any, key: str, base: Spec, space: Space) -> float:
    low, high, log = space[key]
    if _whole(key, base, space):
        return int(trial.suggest_int(key, math.ceil(low), math.floor(high), log=log))
    return float(trial.suggest_float(key, low, high, log=log))


def changed(base: Spec, values: Mapping[str, Any]) -> Spec:
    """The experiment with these values, checked. Keys of a method or a model go where a value
    chooses another one.

    Args:
        base: The experiment.
        values: {key: value}, such as {"train.lr": 0.1}.

    Returns:
        A new specification.

    Raises:
        FedkinError: A key or a value that does not exist.
    """
    return _changed(base, values)[0]


def _changed(base: Spec, values: Mapping[str, Any]) -> tuple[Spec, list[str]]:
    """The same, with what was dropped, in words."""
    content = base.model_dump(exclude_none=True)
    # what nobody asked for stays unasked: a run then starts worker processes where they pay
    content["engine"] = base.engine.model_dump(exclude_none=True, exclude_unset=True)
    hints: list[str] = []
    for key in sorted(values, key=lambda key: not chooses(key)):  # first what drops keys
        hints += place_setting(content, key, values[key])
    return parse(content, where="sweep")[0], hints


def dropped(base: Spec, space: Space) -> list[str]:
    """Keys of the experiment that some trials do not use, in words: they are of another method, or
    another model, than those trials have.

    Args:
        base: The experiment.
        space: What is searched.

    Returns:
        A sentence a key, each once; [] where every trial uses all of them. The keys of the method
        that an experiment begins with where it names none are nobody's choice, and are not told.
    """
    sentences: dict[str, None] = {}
    begun = {"name": base.method.name, **base.method.options} == METHOD
    for key, values_or_range in space.items():
        if chooses(key) and not (key == NAME and begun):
            for value in _ends(values_or_range):
                sentences |= dict.fromkeys(_changed(base, {key: value})[1])
    return list(sentences)


def check(base: Spec, space: Space) -> str:
    """Refuses, before anything is written, a key or a value that does not exist, and data that no
    trial could use.

    Args:
        base: The experiment.
        space: What is searched.

    Returns:
        The digest of the data: 64 hexadecimal digits.

    Raises:
        FedkinError: A key or value that is not there; one whose trials would not compare, such as
            a key of [data] or [run], or methods of which some alone hold out public samples;
            clients without validation samples; or a value that a method or a model takes in no
            combination.
    """
    for key, values_or_range in space.items():
        ours = our_name(key)
        ours = ours if ours != key else _of_method(base, space, key) or key
        _check_comparable(key, ours)
        if ours != key:
            raise FedkinError(f"{key} is called {ours} here: --space {ours}=…")
        for value in _ends(values_or_range):
            changed(base, {key: value})
    if base.split.holdout == "fractions" and not base.split.val:
        raise FedkinError(NO_VALIDATION)
    _check_method(base, space)
    wanted = _check_public(base, space)
    population = population_of(base, wanted)
    with_measure(base, population)  # refuses one that is not for these labels
    _check_models(base, space, population)
    return population.digest()


def _check_comparable(key: str, ours: str) -> None:
    """Refuses a key, under our name, whose trials would not compare, or could not differ."""
    section = ours.partition(".")[0]
    if section in OF_DATA or ours in OF_DATA:
        raise FedkinError(
            f"{key}: a search over [{section}] would compare different data or budgets"
        )
    if section == "engine":
        raise FedkinError(f"{key}: [engine] changes no result, so there is nothing to choose")


def _check_public(base: Spec, space: Space) -> bool:
    """Whether trials hold public samples out of their clients' data without being asked to.
    Raises FedkinError where some alone would: their clients would have other data.
    """
    if base.public.source is not None:
        return False
    wanting = {
        name: method_of(changed(base, {NAME: name})).needs.public != "none"
        for name in _methods(base, space)
    }
    if len(set(wanting.values())) == 2:
        first = {wants: name for name, wants in reversed(wanting.items())}
        raise FedkinError(
            f"{first[True]} needs a public set, which is held out of the clients' data, and "
            f"{first[False]} has none, so their clients would have different data: set "
            f'public.source = "{HELD_OUT}"'
        )
    return any(wanting.values())


def _methods(base: Spec, space: Space) -> list[str]:
    """The methods that trials may have."""
    return [str(name) for name in space.get(NAME, [base.method.name])]


def _check_method(base: Spec, space: Space) -> None:
    """Raises FedkinError for a key that a method has not, and for a value that it takes beside no
    others.
    """
    asked = {
        key: values_or_range
        for key, values_or_range in space.items()
        if key.startswith(("method.", "train."))
    }
    asked = {NAME: _methods(base, space), **asked}
    own = [key for key in asked if key.startswith("method.")]
    for name in _methods(base, space):
        one = changed(base, {NAME: name})
        permit(one)  # --space names it, or the experiment whose code may be imported
        searched = [key.split(".")[1] for key in own]  # with those of every method: name, safe
        hyper = [key for key in searched if key not in MethodSection.model_fields]
        taken(name, [*one.method.options, *hyper])
    _check_values(base, asked, own, _check_built)


def _check_built(spec: Spec) -> None:
    """What a method says without data, and that it finds the labels that it needs."""
    check_public_labels(method_of(spec), spec.public.labeled)


def _check_models(base: Spec, space: Space, population: Population) -> None:
    """The same of what an architecture has not, or does not take."""

    def build(spec: Spec) -> None:
        permit(spec)  # --space names it, or the experiment whose code may be imported
        models_of(spec, population, sorted(names_of(spec)))

    asked = {
        key: values_or_range for key, values_or_range in space.items() if key.startswith("model.")
    }
    _check_values(base, asked, list(asked), build)


def _check_values(
    base: Spec, asked: Space, own: Sequence[str], build: Callable[[Spec], Any]
) -> None:
    """Raises what ``build`` says of a value of ``own`` that it takes in no combination with the
    others.
    """
    for key in own:
        values_or_range = asked[key]
        for values in (
            [_ends(values_or_range)]
            if isinstance(values_or_range, tuple)
            else [[value] for value in values_or_range]
        ):
            _check_one(base, {**asked, key: values}, build)


def _check_one(base: Spec, space: Space, build: Callable[[Spec], Any]) -> None:
    """A combination that is not taken is a trial that is lost, and no error while
    another one is.
    """
    wrong: FedkinError | None = None
    for tried, point in enumerate(product(*map(_ends, space.values()))):
        try:
            build(changed(base, dict(zip(space, point, strict=True))))
            return
        except FedkinError as error:
            wrong = wrong or error
        if tried == MOST:
            return
    if wrong is not None:
        raise wrong


def _ends(values_or_range: list[Any] | tuple[float, float, bool]) -> list[Any]:
    """The values of a list; of a range its ends, whole numbers as such."""
    return (
        values_or_range
        if isinstance(values_or_range, list)
        else [int(end) if end.is_integer() else end for end in values_or_range[:2]]
    )


def _of_method(base: Spec, space: Space, key: str) -> str:
    """The key of a hyper-parameter that was typed without its section; "" of any other key."""
    if "." in key or key in Spec.model_fields:
        return ""
    for name in _methods(base, space):
        permit(changed(base, {NAME: name}))  # as in _check_method
        with suppress(FedkinError):
            taken(name, [key])
            return f"method.{key}"
    return ""


def _whole(key: str, base: Spec, space: Space) -> bool:
    """True for keys like train.batch_size, method.clusters and model.hidden, which take whole
    numbers.
    """
    section, _, name = key.partition(".")
    if section == "method" and name.partition(".")[0] not in MethodSection.model_fields:
        name = name.partition(".")[0]
        kinds = [str(taken(method, [name])[name].annotation) for method in _methods(base, space)]
    elif section == "model" and name.partition(".")[0] not in ModelSection.model_fields:
        models = map(str, space.get("model.name", names_of(base)))
        kinds = [_kind(options_of(described(model)[0])[name]) for model in models]
    else:
        field = getattr(getattr(Spec(), section, None), "__pydantic_fields__", {}).get(name)
        kinds = [] if field is None else [str(field.annotation)]
    return any(re.search(r"\bint\b", kind) and "float" not in kind for kind in kinds)


def _kind(option: inspect.Parameter) -> str:
    """What an architecture's option is said to be, or what its default is: of 0 nobody knows."""
    if option.annotation is not option.empty:
        return str(option.annotation)
    return type(option.default).__name__ if option.default else ""


def grid(space: Space) -> list[dict[str, Any]]:
    """Every combination of the values, in order.

    Args:
        space: What is searched.

    Returns:
        {key: value} a combination; the last key changes fastest.

    Raises:
        FedkinError: A key has a range, of which no grid can be made.
    """
    if ranges := [
        key for key, values_or_range in space.items() if isinstance(values_or_range, tuple)
    ]:
        raise FedkinError(f"{ranges[0]} is a range: a grid needs values, or take --sampler tpe")
    return [dict(zip(space, values, strict=True)) for values in product(*space.values())]
