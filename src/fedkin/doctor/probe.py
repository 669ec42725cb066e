"""Short runs, from which the cost of the whole run is estimated: time, bytes, states."""

import tempfile
from pathlib import Path
from typing import NamedTuple

from fedkin.core.errors import FedkinError
from fedkin.core.method import Method
from fedkin.experiment.run import run
from fedkin.experiment.training import Interrupted
from fedkin.report.records import opened
from fedkin.report.summary import summary
from fedkin.runs.directory import states_of
from fedkin.runs.spec import MethodSection, Spec


class Probe(NamedTuple):
    """``seconds``, ``bytes`` (unicast), ``memory`` (bytes of all states): of the whole experiment.
    ``failed``: why there is nothing.
    """

    method: str
    seconds: float = 0.0
    bytes: float = 0.0
    memory: int = 0
    failed: str = ""


def probe(
    spec: Spec, name: str, method: MethodSection, rounds: int, method_value: Method | None = None
) -> Probe:
    """A short run with one method, in this process, thrown away afterwards.

    Args:
        spec: The experiment.
        name: What the method is shown as.
        method: The section [method] of the run.
        rounds: How many rounds it has, at least 1.
        method_value: A Method value in place of the section; None: there is none.

    Returns:
        What the whole experiment would cost: seconds, bytes sent, bytes of states; or why it cannot
        be run.

    Raises:
        Interrupted: After Ctrl-C.
    """
    often = min(spec.run.evaluate_every, rounds)  # as in the experiment, of whose time it is a part
    short_run = spec.run.model_copy(update={"rounds": rounds, "evaluate_every": often, "out": None})
    engine = spec.engine.model_copy(update={"name": "inprocess"})
    probe_spec = spec.model_copy(update={"method": method, "run": short_run, "engine": engine})
    try:
        with tempfile.TemporaryDirectory(prefix="fedkin-doctor-") as scratch:
            folder = run(probe_spec, Path(scratch) / "run", method=method_value)
            return _probe_of(folder, name, spec.run.rounds / rounds)
    except Interrupted:
        raise
    except FedkinError as error:
        return Probe(name, failed=str(error))


def _probe_of(folder: Path, name: str, times: float) -> Probe:
    result = summary(folder)
    with opened(folder) as run_:
        once = sum(spent.get("total", 0.0) for phase, spent in run_.seconds() if phase != "round")
    sent = result["communication"]
    apart = sum(sent[phase]["unicast"]["bytes"]["total"] for phase in ("setup", "finish"))
    states = sum(path.stat().st_size for path in states_of(folder).iterdir())
    seconds = (result["seconds"]["per_round"] or 0.0) * result["rounds"] * times + once
    return Probe(name, seconds, sent["unicast"]["bytes"]["total"] * times + apart, states)
