"""What may stand around a method and has a certificate: transforms, noise and masks."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fedkin.certificates.sources import digest_of, file_of, files_from
from fedkin.transforms.private import keep_private
from fedkin.transforms.private_predictions import keep_predictions_private
from fedkin.transforms.protected.per_sample import keep_samples_private
from fedkin.transforms.protected.votes import keep_votes_private
from fedkin.transforms.registry import TRANSFORMS
from fedkin.transforms.under_masks import sum_under_masks

PACKAGES = ("fedkin.transforms", "fedkin.masks", "fedkin.core.protected")
KINDS = ("reference", "closed form", "law")  # of evidence; a transform sends no message of its own
BESIDE = {"masks": ("fedkin.masks.server", "fedkin.masks.client")}  # what its function checks alone

CERTIFIED: dict[str, Callable[..., Any]] = {
    **{name: one.make for name, one in TRANSFORMS.items()},
    "client_noise": keep_private,
    "prediction_noise": keep_predictions_private,
    "votes": keep_votes_private,
    "sample_noise": keep_samples_private,
    "masks": sum_under_masks,
}
"""Names of [[transforms]], and what [privacy] puts around a method."""


def sources_of(name: str) -> dict[str, Path]:
    """{module: file} of a transform and of what it is made of.

    Args:
        name: One of CERTIFIED.

    Returns:
        In the order of the modules' names.
    """
    home = inspect.unwrap(CERTIFIED[name]).__module__
    roots = {module: file_of(module) for module in (home, *BESIDE.get(name, ()))}
    return files_from(roots, PACKAGES)


def digest(name: str) -> str:
    """sha256 over a transform's sources, line ends aside.

    Args:
        name: One of CERTIFIED.

    Returns:
        64 hexadecimal digits.
    """
    return digest_of(sources_of(name))


def lacking(certificate: dict[str, Any]) -> list[str]:
    """What a whole certificate of a transform has and this one has not.

    Args:
        certificate: Of packaged().

    Returns:
        Kinds of evidence: a law, and a closed form or a reference.
    """
    shown = {kind for kind in KINDS if certificate[kind]["tests"]}
    missing = [] if "law" in shown else ["law"]
    return missing if shown & {"reference", "closed form"} else [*missing, "closed form"]
