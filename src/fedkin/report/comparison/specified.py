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
    """
    found = {name: facts.get(name) for name in ("model", "rounds", "participation")}
    found |= {**chosen, "clients": clients, "data": facts.get("data"), "split": facts.get("split")}
    # a section that nobody asked for is left out of the record
    spec = {"privacy": PrivacySection().model_dump(), **(facts.get("spec") or {})}
    versions = facts.get("versions") or {}
    for section, content in (*spec.items(), ("versions", versions)):
        if section not in ELSEWHERE:
            whole = content if isinstance(content, Mapping) else {"name": content}
            for key, value in whole.items():
                found.setdefault(section if key == "name" else f"{section}.{key}", value)
    found.pop("data.dir", None)  # where files lie is not what is in them
    return {**found, **of_values(facts)[1]}


def of_values(facts: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What stands for a method that was given as a Python value: (what its functions hold, which is
    tuned as hyper-parameters are, {key: what tells its code from other code}).

    Args:
        facts: What the record says of the run; one that has no such method, or is older than what
            is kept of it, says nothing.
    """
    method = (facts.get("values") or {}).get("method") or {}
    code = {"method.code": method["code"]} if "code" in method else {}
    return dict(method.get("settings") or {}), code
