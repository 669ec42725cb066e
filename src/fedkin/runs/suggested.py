"""What nobody chose, chosen by the kind of the data."""

from collections.abc import Collection, Mapping
from typing import Any

from fedkin.core.files import typed_path

TABLES = {".csv", ".parquet", ".arrow", ".feather"}
# What a table of one's own begins with: measured by ``python -m benchmarks.own_truth``
TABLE_MODEL, TABLE_METHOD = "mlr", "finetune"
# Pictures whose pixels lie far from zero. As they are, `fedkin run` ends many points lower
# (docs/data.md). FEMNIST is black on white; of the others, each channel.
CIFAR100 = {"mean": [0.507, 0.487, 0.441], "std": [0.267, 0.256, 0.276]}
SCALES = {
    "femnist": {"mean": [0.96], "std": [0.17]},
    "cifar10": {"mean": [0.491, 0.482, 0.447], "std": [0.247, 0.243, 0.262]},
    "cifar100": CIFAR100,
    "cifar100_12k": CIFAR100,
}


def suggested(content: dict[str, Any], declared: Mapping[str, Collection[str]]) -> dict[str, Any]:
    """The sections of a specification with what the data suggest for those that chose nothing.

    Args:
        content: the sections as they were given.
        declared: the keys of each section that belong to no choice.
    """
    data = content.get("data", {})
    names = {"split": "natural"} if names_clients(data) else {}
    if is_table(str(data.get("name", ""))):
        names["model"] = TABLE_MODEL
        if "public" not in content:  # which only some methods use
            names["method"] = TABLE_METHOD
    scale = SCALES.get(str(data.get("name", ""))) if isinstance(data, dict) else None
    if scale and not scale.keys() & data.keys():
        content = {**content, "data": {**data, **scale}}
    free = {
        key: {**content.get(key, {}), "name": name}
        for key, name in names.items()
        if _is_free(content.get(key, {}), declared[key])
    }
    return {**content, **free}


def is_table(name: str) -> bool:
    """Whether data are a table of one's own, or a folder of such tables."""
    path = typed_path(name) if name else None
    if path is None or path.suffix.lower() in TABLES:
        return path is not None
    if "/" not in name or not path.is_dir():
        return False
    return any(one.suffix.lower() in TABLES for one in path.iterdir())


def names_clients(data: Mapping[str, Any]) -> bool:
    """Whether [data] says who the clients are."""
    name = data.get("name", "")
    folder = isinstance(name, str) and "/" in name and typed_path(name).is_dir()
    return data.get("client") is not None or folder or str(name).endswith(".json")


def _is_free(given: Any, declared: Collection[str]) -> bool:
    """Whether a section neither names a choice nor has a key that belongs to one."""
    if not isinstance(given, dict) or given.get("map") or "name" in given:
        return False
    return all(key in declared for key in given)
