"""One's own data read and looked at in one pass: a fault that keeps them from being read is noted
and mended.
"""

from typing import Any, NamedTuple

import numpy as np

from fedkin.core.errors import FedkinError, many
from fedkin.data.formats.user_files import is_path
from fedkin.data.quality.columns import spelling_problems
from fedkin.data.quality.dates import dates, is_dates
from fedkin.data.quality.identifiers import identifiers
from fedkin.data.quality.label_codes import disjoint_label_codes
from fedkin.data.quality.labels import AMOUNTS, WHOLE, label_problems
from fedkin.data.quality.leaks import leaks
from fedkin.data.quality.parsed_columns import parsed_columns
from fedkin.data.quality.problem import Problem, Unreadable, merged
from fedkin.data.source import Source
from fedkin.data.tables.findings import findings, label_of, numbers_as_words
from fedkin.runs.spec import Spec, assign, parse
from fedkin.setup.population import source_of

MOST = 40  # faults that are mended one after the other before reading is given up
SHOWN = 3  # of them, which are then named


class DataCheck(NamedTuple):
    """What was found.

    ``spec``: with what had to be mended for reading; ``faults``: what that was.
    """

    found: dict[str, Any]
    spec: Spec
    faults: tuple[Problem, ...]


def check_data(spec: Spec) -> DataCheck:
    """Everything that is wrong with the data of a specification.

    Args:
        spec: The specification, of which [data] counts.

    Returns:
        What was found, and what had to be mended for reading.

    Raises:
        FedkinError: for what has no fix, a file that is not there for instance.
    """
    faults: list[Problem] = []
    source, mended = _read(spec, faults)
    facts = findings(source, mended.data.label or "label", mended.data.client)
    asked = [one for one in facts["problems"] if one["kind"] != WHOLE or not _task_said(spec)]
    facts["problems"] = [*(fault.plain() for fault in faults), *asked]
    return DataCheck(facts, mended, tuple(faults))


def data_notes(spec: Spec) -> list[str]:
    """What a run says of one's own data before it begins: labels of one class, names of clients
    or classes that are likely one, labels that some site has in other codes, and in a table whole
    numbers taken for classes, numbers and dates read as words and what would let a model cheat:
    leaks of one column, identifiers. Unlike ``check_data`` it leaves pairs of columns alone.

    Args:
        spec: The specification, of which [data] counts.

    Returns:
        A sentence a fault; [] for other data than one's own.

    Raises:
        FedkinError: The data cannot be read.
    """
    if not is_path(spec.data.name):
        return []
    source = source_of(spec)
    faults = _plain_faults(source, spec)
    if source.columns is not None:
        columns = parsed_columns(source.columns.columns, source.x)
        dated = dates(columns, spec.data.label or "label")
        written, others = numbers_as_words(source, columns, spec.data.label)
        plain = [one for one in others if not is_dates(one)]
        cheats = [
            *written,
            *identifiers(plain),
            *leaks(plain, label_of(source), pairs=False),
            *dated,
        ]
        faults += {one.columns: one for one in cheats}.values()
    return [one.sentence for one in faults]


def _task_said(spec: Spec) -> bool:
    """Whether somebody has said what whole numbers in the label's column are."""
    return bool(spec.data.options.get("task", "auto") != "auto")


def _plain_faults(source: Source, spec: Spec) -> list[Problem]:
    """Of labels and clients: what makes a score mean nothing, or clients of one client."""
    names = [] if source.client is None else list(map(str, np.unique(source.client)))
    label = spec.data.label
    client = spec.data.client
    # spellings in other columns cost little
    ours = ((), (label or "label",), *(() if client is None else ((client,),)))
    spelled = spelling_problems(source, names, label, client)
    spelled = [one for one in spelled if one.columns in ours]
    kinds = {"one class", AMOUNTS, *(() if _task_said(spec) else (WHOLE,))}
    labels = [one for one in label_problems(source) if one.kind in kinds]
    return [*labels, *disjoint_label_codes(source), *spelled]


def _read(spec: Spec, faults: list[Problem]) -> tuple[Source, Spec]:
    for _ in range(MOST):
        try:
            return source_of(spec), spec
        except Unreadable as error:
            again = with_fixes(spec, list(error.problems))
            if again == spec:
                raise
            faults += error.problems
            spec = again
        except FedkinError as error:
            if not faults:
                raise
            known = "; ".join(fault.sentence for fault in faults)
            raise FedkinError(
                f"{error} (besides {many(len(faults), 'fault')} with a fix: {known})"
            ) from None
    first = "; ".join(fault.sentence for fault in faults[:SHOWN])
    raise FedkinError(
        f"{spec.data.name} has more than {MOST} faults that keep it from being read, of which the "
        f"first are: {first}"
    )


def with_fixes(spec: Spec, problems: list[Problem]) -> Spec:
    """The specification with the fixes of these problems beside what it says already.

    Args:
        spec: The specification.
        problems: Faults, of which each has a fix.

    Returns:
        A new specification; an equal one where nothing changed.

    Raises:
        FedkinError: A fix does not fit the specification.
    """
    content: dict[str, Any] = spec.model_dump(exclude_unset=True)
    data = spec.data.options | {key: getattr(spec.data, key) for key in spec.data.model_fields_set}
    before = {f"data.{key}": _plain(value) for key, value in data.items()}
    fixes = merged([problem.fix for problem in problems])
    for key, value in fixes.items():
        assign(
            content,
            key,
            merged([{key: before[key]}, {key: value}])[key] if key in before else value,
        )
    return parse(content)[0]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
