"""What an experiment puts around its method once the federation is known."""

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Secret
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from fedkin.setup.hosts import host_of
from fedkin.setup.method_transforms import (
    transformed_at_node,
    transformed_by,
    with_given_secret,
    with_secret,
)
from fedkin.transforms.updates import flattened
from tests.engine.small import content

PLAIN = assemble(parse(content("fedavg", run__participation=1.0))[0])


def spec(transforms=(), **privacy):
    whole = content("fedavg", run__participation=1.0)
    return parse({**whole, "transforms": list(transforms), "privacy": privacy})[0]


def test_nothing_asked_nothing_put() -> None:
    assert transformed_by(spec(), PLAIN.method, PLAIN.federation) is PLAIN.method


def test_what_is_compressed_cannot_be_added_under_masks() -> None:
    federation = PLAIN.federation._replace(threshold=5)
    asked = spec([{"name": "top_k", "share": 0.1}])
    with pytest.raises(FedkinError, match=r"take top_k out of \[\[transforms\]\]"):
        transformed_by(asked, PLAIN.method, federation)
    assert transformed_by(asked, PLAIN.method, PLAIN.federation) is not PLAIN.method


def test_a_node_makes_the_method_that_everybody_makes() -> None:
    """It knows one client of six: its share of the noise is still a sixth."""
    told = {"noise": 2.0, "clip": 1e-6, "delta": 1e-5, "where": "distributed", "seeded": True}
    asked = spec(secure_aggregation=True, **told)
    federation = with_secret(PLAIN.federation, Secret(bytes(32)))
    whole = transformed_by(asked, PLAIN.method, federation)
    node = transformed_at_node(asked, PLAIN.method, PLAIN.infos[3], len(PLAIN.infos))
    parts = assemble(asked)._replace(federation=federation)
    host = host_of(parts, list(PLAIN.infos), None)
    received = PLAIN.method.broadcast(PLAIN.method.server(federation.start), 3)
    data = host.data(1, 3)
    sent = [flattened(made.client_update(received, {}, data)[1]) for made in (whole, node)]
    assert torch.equal(*sent)
    noise = sent[0] - flattened(received)
    assert float(noise.std()) == pytest.approx(2e-6 / 6**0.5, rel=0.1)


def test_a_node_knows_of_how_many_it_is_one() -> None:
    asked = spec(noise=1.0, clip=0.5, delta=0.3, where="client", seeded=True)
    with pytest.raises(
        FedkinError, match=r"privacy\.delta is 0\.3, and must be below 1 / 6 clients"
    ):
        transformed_at_node(asked, PLAIN.method, PLAIN.infos[3], 6)
    assert transformed_at_node(asked, PLAIN.method, PLAIN.infos[3], 3) is not PLAIN.method


def test_a_worker_is_told_the_secret() -> None:
    federation = PLAIN.federation
    assert with_given_secret(federation, None) is federation
    secret = Secret(bytes(range(32)), True)
    told = with_given_secret(federation, (secret.key.hex(), True))
    assert told == with_secret(federation, secret)
    assert told.secret == told.tools.secret == secret
    assert federation.tools.secret is None
