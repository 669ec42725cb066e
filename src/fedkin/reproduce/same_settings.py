"""The settings that a run was made of, and whether another one would be the same."""

import json
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.files import read_file
from fedkin.experiment.run_facts import hyper_of
from fedkin.reproduce.finished_rows import DEFAULTS, digest
from fedkin.runs.directory import of_run
from fedkin.runs.spec import Spec
from fedkin.setup.build import method_of
from fedkin.setup.population import rooted

# Beside a run's records: the settings that it was made of, before data filled them in
ASKED = "asked.json"
LARGEST = 16 << 20  # bytes of it
# values of a specification in whose place a run records what it came to
LEFT_TO_DATA = (None, "auto")


def digest_of(spec: Spec) -> str:
    """A digest of what a run of this specification would be.

    Args:
        spec: The specification.

    Returns:
        A few hexadecimal digits.
    """
    return digest(settings_of(spec), hyper_of(method_of(spec)))


def check_same(folder: Path, spec: Spec) -> None:
    """Refuse a finished run for this row unless it was made of the same specification.

    Args:
        folder: The run directory.
        spec: Of the row.

    Raises:
        FedkinError: A setting differs.
    """
    now = settings_of(spec)
    try:
        # a setting may be newer than the record
        known = {key: DEFAULTS[key] for key in now if key in DEFAULTS}
        before = {**known, **json.loads(read_file(folder / ASKED, LARGEST))}
        before.pop("run.commit_every", None)  # of an older record
        differ = [key for key in sorted({*now, *before}) if now.get(key) != before.get(key)]
    # made by hand, damaged, or killed at once: its own specification has the defaults filled in
    except (OSError, RecursionError, TypeError, ValueError):
        before = settings_of(of_run(folder))
        fixed = (key for key in now if now[key] not in LEFT_TO_DATA and key in before)
        differ = [
            key
            for key in fixed
            if now[key] != before[key] and (before[key] is not None or key[:4] == "run.")
        ]
    if differ:
        raise FedkinError(
            f"{folder} is a run of another setting ({differ[0]}): choose another --out"
        )


def settings_of(spec: Spec) -> dict[str, Any]:
    """All that decides what a run computes, by dotted key.

    Args:
        spec: The specification.

    Returns:
        {"section.key": value}.
    """
    # when records are written decides nothing, nor does where data lie
    left_out: Any = {"engine": True, "data": {"dir"}, "run": {"commit_every"}}
    content = rooted(spec).model_dump(mode="json", exclude=left_out)
    return {
        f"{section}.{key}": value
        for section, keys in content.items()
        for key, value in keys.items()
    }
