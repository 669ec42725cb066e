"""Who attacks."""

import math
from types import SimpleNamespace
import pytest
import torch
from fedkin.core.aggregation import Around, Reply, WeightedSum, aggregated
from fedkin.core.errors import FedkinError
from fedkin.core.model import Batch
from fedkin.core.ops import Batches
from fedkin.experiment.run import run
from fedkin.flower.operator.site import init
from fedkin.report.summary import summary
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from fedkin.transforms import attacks, poisoned_data
from fedkin.transforms.setting import Setting
from tests.engine.small import content


def test_attackers_are_a_share_of_the_clients_and_a_function_of_the_seed():
    found = attacks.attackers(Setting(20, 8, 0.4, 3, 5), 0.2)
    assert len(found) == 4
    assert found == attacks.attackers(Setting(20, 8, 1.0, 9, 5), 0.2)
    assert found != attacks.attackers(Setting(20, 8, 1.0, 9, 6), 0.2)
