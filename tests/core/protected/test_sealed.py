"""Private samples as a step holds them."""

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.model import Batch
from fedkin.core.protected.sealed import Aligned, Draws, Sealed, Uncovered, local_only, sealed

ONE = Batch(torch.ones(2, 3), torch.zeros(2), torch.tensor([0.5, 0.5]))
TWO = Batch(torch.zeros(2, 3), torch.ones(2), torch.tensor([0.5, 0.5]))
PUBLIC = torch.arange(4.0)


def test_every_batch_and_what_is_aligned_with_it_is_sealed() -> None:
    draws = Draws(1.0, None)
    first, (second, rows), public = sealed((ONE, (TWO, Aligned(PUBLIC)), PUBLIC), draws)
    assert [type(part) for part in (first, second, rows)] == [Sealed] * 3
    assert (first.place, second.place, rows.place) == (1, 2, 2)
    assert (first.content, rows.content) == (ONE, PUBLIC)
    assert public is PUBLIC  # nobody's
    assert first.draws is draws


@pytest.mark.parametrize(
    "look",
    [
        lambda it: it.x,
        lambda it: it.weight,
        lambda it: list(it),
        lambda it: it[0],
        lambda it: torch.add(it, 1),
        lambda it: PUBLIC * it,
        lambda it: torch.stack([PUBLIC, it]),
    ],
)
def test_whoever_looks_is_told(look) -> None:
    with pytest.raises(Uncovered, match="looks at private samples outside of a gradient"):
        look(sealed(ONE, Draws(1.0, None)))
    with pytest.raises(FedkinError):
        look(sealed((TWO, Aligned(PUBLIC)), Draws(1.0, None))[1])


def test_work_at_home_opens_samples_where_it_goes_without_noise() -> None:
    assert local_only(ONE) is ONE
    closed = sealed(ONE, Draws(1.0, ()))
    assert local_only(closed) is closed
    draws = Draws(1.0, (), open_at_home=True)
    assert local_only(sealed(ONE, draws)) is ONE
    assert draws.opened


def test_work_at_home_that_is_followed_stays_sealed_and_is_known() -> None:
    batch = sealed(ONE, Draws(1.0, None, open_at_home=True))
    found = local_only(batch)
    assert isinstance(found, Sealed)
    assert (found.home, batch.home) == (True, False)
    with pytest.raises(Uncovered):
        _ = found.x


def test_noises_come_in_the_order_of_gradients() -> None:
    draws = Draws(2.5, ({"w": PUBLIC}, {"w": -PUBLIC}))
    assert not draws.sought
    assert draws.noise()["w"] is PUBLIC
    assert torch.equal(draws.noise()["w"], -PUBLIC)
    with pytest.raises(StopIteration):
        draws.noise()
    assert Draws(2.5, None).sought
