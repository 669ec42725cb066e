"""Names in an experiment from Python that must exist, looked at where they are typed."""

from collections.abc import Mapping
from typing import Any

from fedkin.core.errors import FedkinError, unknown
from fedkin.core.method import Method
from fedkin.data.partitions.registry import PARTITIONS
from fedkin.data.sources import check_name
from fedkin.models.build import MODELS, options_of
from fedkin.models.given import recipe_of
from fedkin.runs.spec import Spec
from fedkin.setup.architectures import described
from fedkin.setup.build import method_of
from fedkin.setup.population import HELD_OUT


def check_names(spec: Spec, method: Method | None) -> None:
    """What a specification names must exist; whether it fits the data is asked when it runs.

    Args:
        spec: The specification.
        method: A Method value in place of [method].

    Raises:
        FedkinError: A name that is none, with the nearest that is one.
    """
    if method is None:
        method_of(spec)
    check_name(spec.data.name, spec.data.dir)
    if spec.public.source not in (None, HELD_OUT):
        check_name(spec.public.source, spec.data.dir)
    if spec.split.name not in PARTITIONS:
        raise unknown("partition", spec.split.name, PARTITIONS)
    for name in spec.model.map.values() or [spec.model.name]:
        if ":" not in name and name not in MODELS and recipe_of(name) is None:
            raise unknown("model", name, [*MODELS, "package.module:Class"])
        recipe, own = described(name)
        if recipe in MODELS:
            _check_options(recipe, {**spec.model.options, **own})


def _check_options(model: str, given: Mapping[str, Any]) -> None:
    own = options_of(model)
    for option, value in given.items():
        if option in own:
            continue
        if str(value).partition(":")[0] in MODELS:
            raise FedkinError(
                f"model has {option}={value!r}, which is an architecture and no option of "
                f"{model!r}: several have their place in model.map, "
                f"model={{'map': {{{option!r}: {value!r}, …}}}}"
            )
        raise unknown(f"option of model {model!r}", option, own)
