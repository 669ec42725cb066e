"""Changes as few singular values, by hand."""

import pytest
import torch

from fedkin.core.tree import named_leaves
from fedkin.methods.parts.low_rank import expected, factored, multiplied

DIAGONAL = torch.diag(torch.tensor([3.0, -2.0, 1.0]).double())  # energies 9, 4, 1 of 14


@pytest.mark.certifies("fedkd", "closed form")
@pytest.mark.parametrize(
    ("energy", "kept"), [(0.0, 1), (9 / 14, 1), (0.65, 2), (13 / 14, 2), (0.93, 3), (1.0, 3)]
)
def test_how_many_singular_values(energy, kept):
    """Singular values 3, 2 and 1 hold 9, 13 and 14 fourteenths of the energy."""
    sent = factored({"w": DIAGONAL}, energy)
    assert sent["w"].shape == (kept, 6)
    whole = torch.diag(torch.tensor([3.0, -2.0, 1.0][:kept] + [0.0] * (3 - kept)).double())
    torch.testing.assert_close(multiplied(sent, {"w": DIAGONAL})["w"], whole)


def test_what_is_no_matrix_is_sent_as_it_is():
    change = {"bias": torch.tensor([1.0, 2.0]), "buffer:mean": torch.ones(2, 2)}
    sent = factored(change, 0.0)
    assert all(sent[name] is change[name] for name in change)
    torch.testing.assert_close(multiplied(sent, change), {n: v.double() for n, v in change.items()})


def test_a_kernel_is_a_matrix_of_its_first_axis():
    """Of [2, 1, 1, 3] a matrix [2, 3]: one row of 5 numbers a singular value."""
    kernel = torch.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]).reshape(2, 1, 1, 3)
    sent = factored({"kernel": kernel}, 0.9999)
    assert sent["kernel"].shape == (1, 5)
    assert sent["kernel"].dtype == torch.float32
    back = multiplied(sent, {"kernel": kernel})["kernel"]
    torch.testing.assert_close(back, kernel.double(), atol=1e-6, rtol=0)


def test_nothing_learned_is_one_row_of_nothing():
    sent = factored({"w": torch.zeros(3, 2)}, 0.95)
    assert sent["w"].shape == (1, 5)
    assert not multiplied(sent, {"w": torch.zeros(3, 2)})["w"].any()


def test_a_diverged_change_is_sent_as_such():
    assert factored({"w": torch.tensor([[torch.inf, 0.0]])}, 0.95)["w"].isnan().all()


def test_what_is_expected_is_at_most_the_full_rank():
    like = {"w": torch.zeros(3, 2, 4), "bias": torch.zeros(3)}
    found = dict(named_leaves(expected(like)))
    assert found["w"].most.shape == (3, 3 + 8)
    assert found["bias"] is like["bias"]
