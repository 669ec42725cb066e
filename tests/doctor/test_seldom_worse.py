"""Which methods can be made safe."""

import pytest

from fedkin.doctor.seldom_worse import takes_safe
from fedkin.setup.build import assemble
from tests.engine.small import small


@pytest.mark.parametrize(
    ("candidate", "able"),
    [
        ("fedavg", True),
        ("finetune:keep=best,epochs=15", True),
        ("local", False),  # there is no federated model
        ("centralized", False),
    ],
)
def test_a_method_is_safe_where_it_has_a_federated_model(candidate: str, able: bool) -> None:
    assert takes_safe(assemble(small("fedavg")), candidate) == able


def test_nobody_is_safe_without_validation_samples() -> None:
    assert not takes_safe(assemble(small("fedavg", split__val=0.0)), "fedavg")
