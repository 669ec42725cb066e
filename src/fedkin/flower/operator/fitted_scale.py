"""The scale that a simulation fits to its table, and that nodes do not fit to theirs."""

from pathlib import Path

from fedkin.data.formats.frames import SUFFIXES
from fedkin.data.tables.encoding import Encoding, Number
from fedkin.runs.spec import Spec
from fedkin.setup.population import population_of

WHERE = 'docs/deploy.md, "Scale from sums"'


def unscaled(spec: Spec) -> str | None:
    """A note on the columns of an experiment's tables, which nodes do not standardise.

    Args:
        spec: The experiment, as its file has it.

    Returns:
        A sentence, with what was fitted to the experiment's own table where it can be read and has
        numbers alone; None where the experiment gives a scale, or is not about tables.
    """
    data = spec.data
    table = data.label is not None or data.name.lower().endswith(SUFFIXES)
    here = Path(data.name).exists()  # nothing is downloaded for a note
    if data.mean or data.std or not table:
        return None
    said = (
        "nodes do not standardise columns as fedkin run does: data.mean and data.std are empty, so "
        "columns enter the model in their own units"
    )
    try:
        encoding = population_of(spec, False).encoding if here else None
    except Exception:  # whatever is wrong with these data, no node reads them
        encoding = None
    pair = None if encoding is None else _pair(encoding)
    if pair is None:
        return f"{said}; give both in experiment.toml, here and on every node ({WHERE})"
    return f"{said}; fedkin run fits {pair} to this table: give nodes these, or others ({WHERE})"


def _pair(encoding: Encoding) -> str | None:
    """The two keys as TOML; None where a column is no number, which nodes do not take."""
    columns = [one for one in encoding.features if isinstance(one, Number) and not one.flag]
    if len(columns) < len(encoding.features):
        return None
    mean = ", ".join(f"{one.mean:.9g}" for one in columns)
    std = ", ".join(f"{one.std:.9g}" for one in columns)
    return f"mean = [{mean}] and std = [{std}]"
