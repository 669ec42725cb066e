"""A client whose introduction is lost is left out of it and takes part all the same."""

import math

import pytest
import torch

from fedkin.core.aggregation import Reply
from fedkin.core.method import FederationInit
from fedkin.core.rng import Key
from fedkin.engine.contexts import Schedule, ServerTools
from fedkin.methods.parts.affinity import laplacian_matrix
from fedkin.methods.ppfl import ppfl
from fedkin.runtime.replay import Runtime


@pytest.mark.certifies("ppfl", "law")
def test_ppfl_goes_on_without_one_label_histogram() -> None:
    start = FederationInit(
        {"m": {"w": torch.zeros(2, 3)}},
        (0, 1, 2),
        0,
        2,
        lambda k: {"w": torch.full((2, 3), float(k))},
    )
    method = ppfl(lr=0.1, models=2, lam=0.5)
    assert method.setup_update is not None
    replies = {k: Reply({"coefficients": torch.tensor([1.0, float(k)])}, 10.0) for k in (0, 2)}
    state = method.setup_update(
        method.server(start),
        replies,
        ServerTools(Key(0), {}, None, None, Runtime("never"), Schedule(4)),
    )
    similar = 1 / math.sqrt(
        5
    )  # cosine of (1, 0) and (1, 2); client 1 resembles nobody, not even itself
    expected = torch.tensor(
        [[similar, 0, -similar], [0, 0, 0], [-similar, 0, similar]], dtype=torch.float64
    )
    torch.testing.assert_close(laplacian_matrix(state["laplacian"]), expected)
    assert state["shares"].tolist() == [0.5, 0.0, 0.5]
    assert method.broadcast(state, 1)["coefficients"]["pull"].tolist() == [0.0, 0.0]
