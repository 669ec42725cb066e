"""What nobody chose, chosen by the kind of the data."""

import re
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from fedkin.core.files import typed_path
from fedkin.core.settings.chosen import data_setting

TABLES = {".csv", ".parquet", ".arrow", ".feather"}
TEXTS = ("shakespeare", "stackoverflow")  # named sets whose samples are symbols
# What data of each kind begin with: measured by ``python -m benchmarks.own_truth``
TABLE_MODEL, TEXT_MODEL = "mlr", "transformer_lm"
METHOD = {"name": "finetune", "keep": "best", "epochs": 15}
BY_PREDICTIONS = "comet"  # where a public set is named, or clients have unlike models
PATIENCE = 10  # evaluations
# Pictures whose pixels lie far from zero. As they are, `fedkin run` ends many points lower
# (docs/data.md). FEMNIST is black on white; of the others, each channel.
CIFAR100 = {"mean": [0.507, 0.487, 0.441], "std": [0.267, 0.256, 0.276]}
SCALES: dict[str, dict[str, Any]] = {
    "femnist": {"mean": [0.96], "std": [0.17]},
    "cifar10": {"mean": [0.491, 0.482, 0.447], "std": [0.247, 0.243, 0.262]},
    "cifar100": CIFAR100,
    "cifar100_12k": CIFAR100,
}
# Of a LEAF file: what the first sample of a user begins with
FIRST_SAMPLE = re.compile(rb'"x"\s*:\s*\[\s*(["\[\d.-])')
CLIENTS = {"client.npy", "client_train.npy"}  # what the archive of an .npz calls its arrays
LOOKED_AT = 1 << 20  # bytes of it, which the names of users may fill
OWN_SCALE = {"mean": "auto"}  # of pictures of one's own: that of the training rows


def suggested(content: dict[str, Any], declared: Mapping[str, Collection[str]]) -> dict[str, Any]:
    """The sections of a specification with what the data suggest for those that chose nothing.

    Args:
        content: the sections as they were given.
        declared: the keys of each section that belong to no choice.

    Returns:
        A new dict of sections; those that chose something are as they were.
    """
    data = content.get("data", {})
    scale = {} if {"mean", "std"} & data.keys() else scale_of(str(data.get("name", "")))
    free = {
        key: {**one, **content.get(key, {})}
        for key, one in _beginnings(content, data).items()
        if _is_free(content.get(key, {}), declared[key])
    }
    scaled = {"data": {**data, **scale}} if scale else {}
    return {**content, **scaled, **free, **_rounds(content)}


def _beginnings(content: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What [split], [model] and [method] begin with."""
    suggested: dict[str, dict[str, Any]] = {"method": METHOD}
    if names_clients(data):
        suggested["split"] = {"name": "natural"}
    name = str(data.get("name", ""))
    if is_table(name):
        suggested["model"] = {"name": TABLE_MODEL}
    elif is_text(name):
        suggested["model"] = {"name": TEXT_MODEL}
    model = content.get("model")
    unlike = isinstance(model, dict) and bool(model.get("map"))
    if unlike or "public" in content:
        suggested["method"] = {"name": BY_PREDICTIONS}
    return suggested


def scale_of(name: str) -> dict[str, Any]:
    """The scale that pixels of a data set get where nobody gives one.

    Args:
        name: The value of data.name; "" for none.

    Returns:
        {"mean": …} of [data], perhaps with "std"; {} where pixels enter as they are.
    """
    own = OWN_SCALE if _is_own(name) and not is_table(name) else {}
    return SCALES.get(name, own)


def _rounds(content: Mapping[str, Any]) -> dict[str, Any]:
    """[run] with early stopping, where nobody said how long training lasts and validation can
    tell. Not where [privacy] adds noise: validation scores have none, and would tell of the data.
    """
    sections = ("run", "split", "privacy")
    run, split, privacy = (content.get(section, {}) for section in sections)
    if not all(isinstance(section, dict) for section in (run, split, privacy)):
        return {}
    if privacy.get("noise") is not None:
        return {}
    chosen = {"rounds", "patience", "evaluate"} & run.keys() or {"val", "holdout"} & split.keys()
    return {} if chosen else {"run": {**run, "patience": PATIENCE}}


def is_table(name: str) -> bool:
    """Whether data are a table of one's own, or a folder of such tables.

    Args:
        name: The value of data.name; "" for none.

    Returns:
        True for .csv, .parquet, .arrow and .feather, and for a folder that has such files.
    """
    path = typed_path(name) if name else None
    if path is None or path.suffix.lower() in TABLES:
        return path is not None
    if "/" not in name or not path.is_dir():
        return False
    return any(one.suffix.lower() in TABLES for one in path.iterdir())


def is_text(name: str) -> bool:
    """Whether data are symbols of a text: a named set of them, or LEAF's JSON with texts.

    Args:
        name: The value of data.name; "" for none.

    Returns:
        Of a file, by what its first sample begins with.
    """
    if name in TEXTS:
        return True
    path = typed_path(name) if name else None
    if path is None or (path.suffix.lower() != ".json" and "/" not in name):
        return False
    files = [path, *sorted(path.glob("train/*.json")), *sorted(path.glob("*.json"))]
    first = next((file for file in files if file.is_file()), None)
    if first is None or first.suffix.lower() != ".json":
        return False
    with first.open("rb") as file:
        match = FIRST_SAMPLE.search(file.read(LOOKED_AT))
    return match is not None and match[1] == b'"'


def _is_own(name: str) -> bool:
    """Whether data are one's own, by their name alone."""
    return "/" in name or name.startswith("hf:") or name.lower().endswith(".npz")


def names_clients(data: Mapping[str, Any]) -> bool:
    """Whether [data] says who the clients are.

    Args:
        data: The section [data] as it was given.

    Returns:
        True where a column is named, for a folder, for LEAF's JSON, and for an .npz file that has
        the array ``client``.
    """
    name = data.get("name", "")
    folder = isinstance(name, str) and "/" in name and typed_path(name).is_dir()
    known = data.get("client") is not None or folder or str(name).endswith(".json")
    return known or _has_clients(str(name), data.get("dir"))


def _has_clients(name: str, folder: Any) -> bool:
    """Whether an .npz file has an array of clients. No sample of it is read."""
    if not name.lower().endswith(".npz"):
        return False
    setting = data_setting() if folder is None else None
    chosen = setting.folder if setting is not None else folder
    places = [typed_path(name)]
    if isinstance(chosen, str | Path):
        places.append(typed_path(chosen) / name)
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return not CLIENTS.isdisjoint(archive.namelist())
    except (OSError, zipfile.BadZipFile, ValueError):
        return False  # its reader says what is wrong with it


def _is_free(section: Any, declared: Collection[str]) -> bool:
    """Whether a section neither names a choice nor has a key that belongs to one."""
    if not isinstance(section, dict) or section.get("map") or "name" in section:
        return False
    return all(key in declared for key in section)
