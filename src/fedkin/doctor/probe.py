"""Short runs, from which the cost of the whole one is told, and whether federating is likely to
help.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fedkin.core.errors import FedkinError
from fedkin.experiment.run import run
from fedkin.experiment.training import Interrupted
from fedkin.report.records import opened
from fedkin.report.scores import scores
from fedkin.report.summary import summary
from fedkin.runs.directory import states_of
from fedkin.runs.spec import MethodSection, Spec
from fedkin.setup.build import method_of


class Probe(NamedTuple):
    """``seconds``, ``bytes`` (unicast), ``memory`` (bytes of all states): of the whole experiment.
    ``validation``: the personal models' accuracy on validation data after the probe, by client.
    ``failed``: why there is nothing. ``more``: it works on after the last round, which weighs more
    in a probe than in the experiment.
    """

    method: str
    seconds: float = 0.0
    bytes: float = 0.0
    memory: int = 0
    validation: Mapping[int, float] = {}
    failed: str = ""
    more: bool = False

    @property
    def mean(self) -> float | None:
        return float(np.mean(list(self.validation.values()))) if self.validation else None


def probe(spec: Spec, method: MethodSection, rounds: int) -> Probe:
    """A run of ``rounds`` rounds with this method, thrown away afterwards."""
    often = min(spec.run.evaluate_every, rounds)  # as in the experiment, of whose time it is a part
    short = spec.run.model_copy(update={"rounds": rounds, "evaluate_every": often, "out": None})
    try:
        with tempfile.TemporaryDirectory(prefix="fedkin-doctor-") as scratch:
            asked = spec.model_copy(update={"method": method, "run": short})
            more = method_of(asked).finalize is not None
            return _told(
                run(asked, Path(scratch) / "run"), method.name, spec.run.rounds / rounds
            )._replace(more=more)
    except Interrupted:
        raise
    except FedkinError as error:
        return Probe(method.name, failed=str(error))


def _told(folder: Path, name: str, times: float) -> Probe:
    found = summary(folder)
    with opened(folder) as run_:
        last = run_.rows("SELECT max(round) FROM metrics")[0][0]
        values = {
            k: v for k, (_, v) in scores(run_, last, "personal", "val").items() if v is not None
        }
        once = sum(spent.get("total", 0.0) for phase, spent in run_.seconds() if phase != "round")
    sent = found["communication"]
    apart = sum(sent[phase]["unicast"]["bytes"]["total"] for phase in ("setup", "finish"))
    states = sum(path.stat().st_size for path in states_of(folder).iterdir())
    seconds = (found["seconds"]["per_round"] or 0.0) * found["rounds"] * times + once
    return Probe(name, seconds, sent["unicast"]["bytes"]["total"] * times + apart, states, values)


def verdict(probes: Sequence[Probe]) -> dict[str, Any] | None:
    """Whether to federate, by validation data: {better, share, difference, says} of the best
    federated probe against ``local``; None where one of them is missing, or there is one client
    only. A method that works on after the last round is no candidate: its gain in a short probe
    would be that of the longer work.
    """
    by_name = {one.method: one for one in probes if len(one.validation) > 1 and not one.more}
    local = by_name.pop("local", None)
    if local is None or not by_name:
        return None
    best = max(by_name.values(), key=lambda one: one.mean or 0.0)
    both = [k for k in best.validation if k in local.validation]
    apart = np.array([best.validation[k] - local.validation[k] for k in both])
    gain, share = float(apart.mean()), float((apart > 0).mean())
    error = float(apart.std(ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else float("inf")
    return {
        "against": best.method,
        "difference": gain,
        "better": share,
        "error": error,
        "says": _says(gain, error),
    }


def _says(gain: float, error: float) -> str:
    if gain > 2 * error:
        return "federating is likely to help"
    if gain < -2 * error:
        return "clients are likely better off alone: their own data beat what they share"
    return (
        "no clear difference yet: more rounds in the probe, or more validation samples, would tell"
    )
