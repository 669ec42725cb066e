"""Whether a method takes [method] safe = true here, with which fewer clients lose by it."""

from collections.abc import Mapping
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.doctor.candidates import split_name
from fedkin.runs.spec import MethodSection
from fedkin.setup.build import Assembled, assemble_with_population

SETTING = "method.safe=true"
WHAT_IT_DOES = (
    "each client deploys a federated model, or a mixture with the one that it trained alone, only "
    "where its validation samples say that it is better"
)


def takes_safe(parts: Assembled, candidate: str) -> bool:
    """Whether the experiment runs with a method made safe: there is a federated model, models train
    by gradients, and every client has validation samples.

    Args:
        parts: The experiment, with whatever method.
        candidate: A method as it is typed after --method.

    Returns:
        True or False; nothing is trained.
    """
    return takes(parts, candidate, {"safe": True})


def takes(parts: Assembled, candidate: str, more: Mapping[str, Any] | None = None) -> bool:
    """Whether the experiment runs with another method.

    Args:
        parts: The experiment, with whatever method.
        candidate: A method as it is typed after --method.
        more: Keys of [method] beside those of the candidate.

    Returns:
        True or False; nothing is trained.
    """
    name, options = split_name(candidate)
    section = MethodSection.model_validate({"name": name, **options, **(more or {})})
    spec = parts.spec.model_copy(update={"method": section})
    try:
        assemble_with_population(spec, None, parts.population)
    except FedkinError:
        return False
    return True
