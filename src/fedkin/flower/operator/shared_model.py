"""The shared model of a deployment's run, out of its run directory on the operator's machine: no
node is asked.
"""

import tempfile
from pathlib import Path

from fedkin.export.shared import Served
from fedkin.flower.backend import NODES, known_facts, unseen
from fedkin.flower.node.data import COLUMNS
from fedkin.runs.checkpoint import SERVER
from fedkin.runs.directory import path_in_run
from fedkin.setup.build import assemble
from fedkin.setup.loaded_run import committed, same_data, spec_of
from fedkin.setup.snapshot import snapshot


def served(folder: Path, trust_code: bool = False) -> Served:
    """A deployment's run at its last commit, as its server has it.

    Args:
        folder: The run directory.
        trust_code: Whether the code that its specification names may be imported
            (docs/security.md).

    Returns:
        The folder, the run's parts, the server's state of the last commit, and what it knows of
        data.

    Raises:
        FedkinError: Something of it is missing, damaged, or of another run.
    """
    facts = known_facts(path_in_run(folder, NODES))
    spec = spec_of(folder, None, trust_code).replace("engine", device="cpu")
    seen = None in facts.values()  # every node built its part of [data], and so does the server
    parts = assemble(spec, None) if seen else unseen(spec, None, tuple(facts), facts)
    with tempfile.TemporaryDirectory(prefix="fedkin-") as aside:
        at = snapshot(folder, Path(aside), [SERVER])
        state = committed(at.server)
    same_data(folder, parts, at.facts)
    columns = tuple(map(str, parts.population.truth.get(COLUMNS, ()))) if not seen else ()
    return Served(folder, parts, state, at, columns, seen)
