"""A deployment some of whose nodes misbehave."""

import json
import sys

from fedkin.runs.spec import Spec
from tests.flower.cluster import Cluster, wait_for
from tests.flower.rogue import PLAN


def with_rogues(spec: Spec, plans: dict[str, dict[str, str]], **options) -> Cluster:
    """A cluster that is up; the nodes that are named follow a plan: {round: what they do wrong}."""
    made = Cluster(spec, **options)
    made.start("superlink")
    for name in made.names:
        if name in plans:
            (made.node(name) / PLAN).write_text(json.dumps(plans[name]))
            made.start(name, [sys.executable, "-m", "tests.flower.rogue", str(made.node(name))])
        else:
            made.start(name)
    wait_for(lambda: "all nodes are registered" in made.log("superlink"), 180, made)
    return made
