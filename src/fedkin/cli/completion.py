"""What the shell offers after Tab, where a name is asked for.

Names that take torch to list are kept in the user's cache: Tab must answer at once.
"""

from collections.abc import Iterable
from typing import get_args

from fedkin.cli.listing.kept_list import kept


def method_names(incomplete: str) -> list[str]:
    """After ``--method`` and ``fedkin methods``.

    Args:
        incomplete: What is typed so far.

    Returns:
        Names that begin so.
    """
    from fedkin.cli.listing.methods import methods

    return _beginning(incomplete, (one["name"] for one in methods()))


def data_names(incomplete: str) -> list[str]:
    """After ``--data``: data sets; the shell itself offers files where none fits.

    Args:
        incomplete: What is typed so far.

    Returns:
        Names that begin so.
    """
    from fedkin.data.named_sets import SOURCES

    return _beginning(incomplete, SOURCES)


def partition_names(incomplete: str) -> list[str]:
    """After ``--split``.

    Args:
        incomplete: What is typed so far.

    Returns:
        Names that begin so.
    """
    from fedkin.data.partitions.registry import PARTITIONS

    return _beginning(incomplete, PARTITIONS)


def model_names(incomplete: str) -> list[str]:
    """After ``--model``.

    Args:
        incomplete: What is typed so far.

    Returns:
        Names that begin so.
    """
    return _beginning(incomplete, kept("models", _models))


def transform_names(incomplete: str) -> list[str]:
    """After ``--transform``.

    Args:
        incomplete: What is typed so far.

    Returns:
        Names that begin so.
    """
    return _beginning(incomplete, kept("transforms", _transforms))


def measure_names(incomplete: str) -> list[str]:
    """After ``--measure``.

    Args:
        incomplete: What is typed so far.

    Returns:
        Names that begin so.
    """
    from fedkin.core.measures import MEASURES

    return _beginning(incomplete, MEASURES)


def engine_names(incomplete: str) -> list[str]:
    """After ``--engine``.

    Args:
        incomplete: What is typed so far.

    Returns:
        Names that begin so.
    """
    from fedkin.runs.spec import EngineSection

    return _beginning(incomplete, get_args(EngineSection.model_fields["name"].annotation))


def preset_names(incomplete: str) -> list[str]:
    """After ``fedkin reproduce``.

    Args:
        incomplete: What is typed so far.

    Returns:
        Names that begin so.
    """
    from fedkin.reproduce.preset import names

    return _beginning(incomplete, ("claims", *names()))


def error_codes(incomplete: str) -> list[str]:
    """After ``fedkin explain``.

    Args:
        incomplete: What is typed so far.

    Returns:
        Codes that begin so.
    """
    from fedkin.core.codes.families import families

    return _beginning(incomplete, families())


def _models() -> list[str]:
    from fedkin.models.build import MODELS

    return list(MODELS)


def _transforms() -> list[str]:
    from fedkin.transforms.registry import TRANSFORMS

    return list(TRANSFORMS)


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
