"""What the tests of transform and of its parts have in common."""

import math
from types import SimpleNamespace
import pytest
import torch
from fedkin.core.aggregation import Around, Reply, WeightedSum, aggregated
from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientInfo
from fedkin.core.rng import Key
from fedkin.core.tree import map_tree
from fedkin.engine.codec import check, encode
from fedkin.experiment.run import run
from fedkin.methods.fedavg import fedavg
from fedkin.methods.scaffold import scaffold
from fedkin.runs.database import read_only
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from fedkin.transforms.compression import compressors
from fedkin.transforms.registry import Asked, made
from fedkin.transforms.setting import Setting
from tests.engine.small import content

WAYS = {
    "top_k": compressors.top_k(0.3),
    "random_k": compressors.random_k(0.3, scaled=True),
    "8 bits": compressors.quantizer(8),
    "4 bits": compressors.quantizer(4),
    "2 bits": compressors.quantizer(2),
    "bfloat16": compressors.bfloat16(),
}
