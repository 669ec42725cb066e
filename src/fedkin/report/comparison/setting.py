"""Which client data a run had: by its record (the digest), and over seeds by its specification."""

import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from fedkin.core.system.digests import text_of


class Setting(NamedTuple):
    """``core``: data, split and clients as text; ``public``: the public set, {} where there is
    none.
    """

    seed: Any
    digest: str | None
    core: str
    public: dict[str, Any]

    def same(self, other: "Setting") -> bool:
        """Whether it is the same client data. For equal seeds the recorded digest decides, for
        others the specification.

        Args:
            other: Another run's.

        Returns:
            False where public sets differ, too.
        """
        if self.seed == other.seed and self.digest is not None and other.digest is not None:
            return self.digest == other.digest
        return self.text == other.text

    @property
    def text(self) -> str:
        """What is equal for all seeds."""
        return text_of([self.core, self.public])

    @property
    def options(self) -> str:
        """What ``fedkin run`` needs to have the same public set; "" where there is none."""
        if not self.public:
            return ""
        samples = f":{self.public['samples']}" if self.public.get("samples") else ""
        labeled = " --set public.labeled=true" if self.public.get("labeled") else ""
        labeled += " --set public.labels=own" if self.public.get("labels") == "own" else ""
        return f"--public {shlex.quote(str(self.public['source']) + samples)}{labeled}"


def setting(facts: Mapping[str, Any], clients: int) -> Setting:
    """The setting that a run's facts record, where every default is written out.

    Args:
        facts: What the run's record says of it.
        clients: How many it has.

    Returns:
        What tells its data from others.
    """
    spec = facts.get("spec") or {}
    data = {"name": facts.get("data"), **(spec.get("data") or {})}
    data.pop("dir", None)  # where files lie is not what is in them
    if facts.get("given"):  # of data from Python each run has a copy, in its own folder
        data["name"] = facts["given"]
    split = {"name": facts.get("split"), **(spec.get("split") or {})}
    public = spec.get("public") or {}
    core = text_of([_plain(data), _plain(split), (spec.get("run") or {}).get("clients") or clients])
    return Setting(
        facts.get("seed"), facts.get("data_digest"), core, public if public.get("source") else {}
    )


def _plain(content: Mapping[str, Any]) -> dict[str, Any]:
    """1 and 1.0 are the same option, and one that is not given is none."""
    return {
        name: float(value) if isinstance(value, int) and not isinstance(value, bool) else value
        for name, value in content.items()
        if value is not None
    }
