"""A head that stays at its client."""

from types import SimpleNamespace
from typing import Any

import torch

from fedkin.methods.parts.personal_head import personal_head


def test_it_is_the_initial_one_before_the_first_round_and_its_own_after() -> None:
    initial = {"body": torch.tensor(1.0), "head": torch.tensor(2.0)}
    model = SimpleNamespace(initial=initial, head=SimpleNamespace(names=("head",)))
    data: Any = SimpleNamespace(model=model)
    assert personal_head({}, data) == {"head": initial["head"]}
    own = {"head": {"head": torch.tensor(3.0), "other": torch.tensor(4.0)}}
    assert personal_head(own, data) == {"head": own["head"]["head"]}
