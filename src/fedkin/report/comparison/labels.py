"""What tells experiments of one method apart, in a few words."""

from collections.abc import Mapping, Sequence
from typing import Any

from fedkin.core.errors import some
from fedkin.core.system.digests import text_of
from fedkin.report import formatting
from fedkin.report.comparison.run_row import ComparedRun, by_experiment

MOST = 4  # keys beside the hyper-parameters


def labels(groups: Sequence[Sequence[ComparedRun]]) -> list[str]:
    """The hyper-parameters in which experiments of one method differ; where these are the same, the
    other keys of the specification (model, rounds, privacy) too, or else the run's name; "" where
    there is one.

    Args:
        groups: Runs by experiment.

    Returns:
        A text each.
    """
    methods = [str(group[0].row["method"]) for group in groups]
    so_far = _extended(methods, [""] * len(groups), [_tuned(group, groups) for group in groups])
    others = [group[0].specified for group in groups]
    more = [_of_keys(others, _alike(k, methods, so_far)) for k in range(len(groups))]
    so_far = _extended(methods, so_far, more)
    return _extended(methods, so_far, [f"run {group[0].name}" for group in groups])


def paper_names(seen: Sequence[ComparedRun]) -> dict[str, str]:
    """What a paper's chart calls the runs: a folder's name, as of a sweep's trial, says little to
    its readers.

    Args:
        seen: Runs, each with a name of its own.

    Returns:
        {a run's name: its method, with the setting and the seed where these tell it from others},
        no two alike. One that is not finished, or repeats another, keeps its name beside the
        method.
    """
    names = {one.name: f"{one.row.get('method', '')}, run {one.name}" for one in seen}
    groups = by_experiment(seen)
    for group, label in zip(groups, labels(groups), strict=True):
        for one in group:
            seed = f"seed {one.row['seed']}" if len(group) > 1 else ""
            parts = (str(one.row["method"]), label, seed)
            names[one.name] = ", ".join(part for part in parts if part)
    return names


def _extended(methods: Sequence[str], before: Sequence[str], more: Sequence[str]) -> list[str]:
    """``more`` beside the labels that another experiment of the method has too."""
    return [
        ", ".join(part for part in (label, more[k]) if part)
        if len(_alike(k, methods, before)) > 1
        else label
        for k, label in enumerate(before)
    ]


def _alike(number: int, methods: Sequence[str], labels: Sequence[str]) -> list[int]:
    """Numbers of the experiments with this one's method and label, this one first."""
    mine = (methods[number], labels[number])
    every = [k for k, other in enumerate(zip(methods, labels, strict=True)) if other == mine]
    return sorted(every, key=lambda k: k != number)


def _tuned(group: Sequence[ComparedRun], groups: Sequence[Sequence[ComparedRun]]) -> str:
    """The hyper-parameters in which it differs from others of its method."""
    method, own = group[0].row["method"], group[0].tuned
    others = [other[0].tuned for other in groups if other[0].row["method"] == method]
    return ", ".join(f"{name} = {_typed(own.get(name))}" for name in _differing(own, others))


def _typed(value: Any) -> Any:
    """As somebody writes it in a specification; numbers in full, for they may differ by little."""
    return formatting.plain(value) if isinstance(value, bool) else value


def _of_keys(every: Sequence[Mapping[str, Any]], alike: Sequence[int]) -> str:
    """The keys in which the first of these differs from the rest; "no privacy" where nothing of
    what others ask for is asked for.
    """
    own = every[alike[0]]
    differ = _differing(own, [every[k] for k in alike])
    settings = [f"{name} = {_value(own[name])}" for name in differ if own.get(name) is not None]
    lacking = dict.fromkeys(name.split(".")[0] for name in differ)
    return some(settings or [f"no {name}" for name in lacking], MOST)


def _differing(own: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> list[str]:
    keys = dict.fromkeys(name for other in others for name in other)
    return [
        name
        for name in keys
        if any(text_of(other.get(name)) != text_of(own.get(name)) for other in others)
    ]


def _value(value: Any) -> str:
    """Of a transform its name and what it asks for; a section of defaults alone is there."""
    if isinstance(value, list):
        return ", ".join(_value(one) for one in value)
    if not isinstance(value, Mapping):
        return formatting.plain(value)
    asked = {name: content for name, content in value.items() if content is not None}
    name = str(asked.pop("name", ""))
    if not name:
        return formatting.plain(asked or True)
    return f"{name} ({formatting.plain(asked)})" if asked else name
