"""Which client data a run had: by its record (the digest), and over seeds by its specification, defaults resolved."""

import json
import shlex
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from fedkin.core.errors import FedkinError
from fedkin.data.partition import PARTITIONS, parameters
from fedkin.runs.spec import DataSection, PublicSection, SplitSection

HELD_OUT = "held-out"


class Setting(NamedTuple):
    """``core``: data, split and clients as text; ``public``: the public set, {} where there is none."""

    seed: Any
    digest: str | None
    core: str
    public: dict[str, Any]

    def same(self, other: "Setting") -> bool:
        """The same client data. For equal seeds the recorded digest decides, for others the specification."""
        if self.seed == other.seed and self.digest is not None and other.digest is not None:
            return self.digest == other.digest
        return self.text == other.text

    @property
    def text(self) -> str:
        """What is equal for all seeds."""
        return key([self.core, self.public])

    @property
    def options(self) -> str:
        """What ``fedkin run`` needs to have the same public set; "" where there is none."""
        if not self.public:
            return ""
        samples = f":{self.public['samples']}" if self.public["samples"] else ""
        labeled = " --set public.labeled=true" if self.public["labeled"] else ""
        return f"--public {shlex.quote(str(self.public['source']) + samples)}{labeled}"


def setting(facts: Mapping[str, Any], clients: int) -> Setting:
    """The setting that a run's facts record; ``clients``: how many it has."""
    spec = facts.get("spec") or {}
    data = _filled(DataSection, {"name": facts.get("data"), **(spec.get("data") or {})})
    data.pop("dir", None)  # where files lie is not what is in them
    split = _filled(SplitSection, {"name": facts.get("split"), **(spec.get("split") or {})})
    split |= {name: split.get(name, default) for name, default in _defaults(split.get("name")).items()}
    asked = (spec.get("run") or {}).get("clients") or clients
    core = key([_plain(data), _plain(split), asked])
    return Setting(facts.get("seed"), facts.get("data_digest"), core, _public(facts, spec))


def key(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _public(facts: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    public = _filled(PublicSection, spec.get("public") or {})
    if public.get("source") is None:
        if not _wants_public(str(facts.get("method")), key(facts.get("hyper") or {})):
            return {}
        public["source"] = HELD_OUT
    return public


@cache
def _wants_public(method: str, hyper: str) -> bool:
    """Whether the method holds public samples out where no public set is named."""
    from fedkin.methods import make  # only here: it loads torch

    tries: list[dict[str, Any]] = [json.loads(hyper), {}]  # a record may know values that the method does not take
    for given in tries:
        try:
            return make(method, given, {}).needs.public != "none"
        except (FedkinError, TypeError, ValueError):
            continue
    return False


def _filled(section: type[BaseModel], content: Mapping[str, Any]) -> dict[str, Any]:
    """A section with its defaults; as it is where this version cannot read it."""
    given = {name: value for name, value in content.items() if value is not None}
    try:
        return section.model_validate(given).model_dump(mode="json")
    except ValidationError:
        return given


def _defaults(partition: Any) -> dict[str, Any]:
    return parameters(partition) if partition in PARTITIONS else {}


def _plain(content: Mapping[str, Any]) -> dict[str, Any]:
    """1 and 1.0 are the same option."""
    return {
        name: float(value) if isinstance(value, int) and not isinstance(value, bool) else value
        for name, value in content.items()
    }
