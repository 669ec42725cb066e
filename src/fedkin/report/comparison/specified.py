"""What a run was asked for beside its hyper-parameters, key by key: it names experiments whose
hyper-parameters are the same.
"""

from collections.abc import Mapping
from typing import Any

from fedkin.runs.privacy import PrivacySection

# hyper-parameters, which have labels of their own, and what changes no result
ELSEWHERE = ("method", "train", "run", "engine")


def specified(facts: Mapping[str, Any], chosen: Mapping[str, Any], clients: int) -> dict[str, Any]:
    """{key of the specification: value}: ``rounds``, ``privacy.noise``; a name is its section's.

    Args:
        facts: What the record says of the run.
        chosen: What of [run] tells experiments apart.
        clients: How many it has.

    Returns:
        Plain values; a key that was not asked for has its default.
    """
    settings = {name: facts.get(name) for name in ("model", "rounds", "participation")}
    settings |= {
        **chosen,
        "clients": clients,
        "data": facts.get("data"),
        "split": facts.get("split"),
    }
    # a section that nobody asked for is left out of the record
    spec = {"privacy": PrivacySection().model_dump(), **(facts.get("spec") or {})}
    versions = facts.get("versions") or {}
    for section, content in (*spec.items(), ("versions", versions)):
        if section not in ELSEWHERE:
            whole = content if isinstance(content, Mapping) else {"name": content}
            for key, value in whole.items():
                settings.setdefault(section if key == "name" else f"{section}.{key}", value)
    settings.pop("data.dir", None)  # where files lie is not what is in them
    return {**settings, **of_values(facts)[1]}


def of_values(facts: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What stands for a method and models that were given as Python values: (what the method's
    functions hold, which is tuned as hyper-parameters are, {key: what tells code from other code}).

    Args:
        facts: What the record says of the run; one that has no such value, or is older than what is
            kept of it, says nothing.

    Returns:
        ({name: value}, {key: digest or number}); both {} where nothing was given as a value.
    """
    values = facts.get("values") or {}
    method, models = values.get("method") or {}, values.get("models") or {}
    code = {"method.code": method["code"]} if "code" in method else {}
    for name, kept in models.items():
        code |= {f"{name}.{key}": value for key, value in kept.items()}
    return dict(method.get("settings") or {}), code
