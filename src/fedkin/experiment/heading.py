"""An experiment in one line, above its progress."""

from fedkin.core.errors import many, percent
from fedkin.runs.spec import Spec
from fedkin.setup.population import DEFAULT_CLIENTS


def head(spec: Spec, divided: str | None = None) -> str:
    """Method, data, split, model and size of an experiment in one line.

    Args:
        spec: The specification.
        divided: How clients come by their data, where [split] does not say it.

    Returns:
        The line.
    """
    split = [spec.split.name, *(f"{key}={value}" for key, value in spec.split.options.items())]
    data = spec.data.name.replace("\\", "/").rstrip("/").split("/")[-1]
    models = ", ".join(dict.fromkeys(spec.model.map.values())) or spec.model.name
    natural = spec.split.name == "natural" and spec.run.clients is None
    clients = "natural clients" if natural else many(spec.run.clients or DEFAULT_CLIENTS, "client")
    part = [f"{percent(spec.run.participation, 0)} a round"] if spec.run.participation < 1 else []
    loud = ["NOT PRIVATE: privacy.seeded"] if spec.privacy.seeded else []
    words = [spec.method.name, data, divided or " ".join(split), models, clients, *part, *loud]
    return " · ".join([*words, many(spec.run.rounds, "round"), f"seed {spec.run.seed}"])
