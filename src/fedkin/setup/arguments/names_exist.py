"""Names in an experiment from Python that must exist, looked at where they are typed."""

from fedkin.core.errors import unknown
from fedkin.core.method import Method
from fedkin.data.partitions.registry import PARTITIONS
from fedkin.data.sources import check_name
from fedkin.models.build import MODELS
from fedkin.models.given import recipe_of
from fedkin.runs.spec import Spec
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
