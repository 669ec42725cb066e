"""A specification with its defaults written out, as a run directory keeps it."""

from fedkin.core.method import Method
from fedkin.core.system.user_code import is_user_code
from fedkin.data.partitions.registry import parameters
from fedkin.runs.spec import Spec
from fedkin.setup.population import DEFAULT_CLIENTS, HELD_OUT


def resolved(spec: Spec, method: Method) -> Spec:
    """The specification with every default written out, so that a later change of defaults changes
    no old run.

    Args:
        spec: The specification.
        method: The method, whose hyper-parameters are written out.

    Returns:
        A new specification.
    """
    split = {
        **{k: v for k, v in parameters(spec.split.name).items() if v is not None},
        **spec.split.model_dump(),
    }
    hyper = {
        key: value
        for key, value in method.hyper.items()
        if value is not None and key not in ("lr", "affinity")
    }
    # a function of one's own is found again by its path
    named = spec.method.name if is_user_code(spec.method.name) else method.name
    public = spec.public.model_dump()
    if method.needs.public != "none" and spec.public.source is None:
        public["source"] = HELD_OUT
    clients = spec.run.clients or (None if spec.split.name == "natural" else DEFAULT_CLIENTS)
    filled = {
        **spec.model_dump(),
        "engine": spec.engine.model_dump(exclude_unset=True),  # whether one was asked for is shown
        "split": split,
        "public": public,
        "method": {**hyper, **spec.method.model_dump(), "name": named},
        "run": {**spec.run.model_dump(), "clients": clients},
    }
    return Spec.model_validate(filled)
