"""Features that are drawn to class means, and FedPAC's mixtures of heads."""

import numpy as np
import pytest
import torch

from fedkin.core.model import Batch
from fedkin.methods.parts.alignment import aligned_step, best_mixtures, merged, objective
from tests.methods.federation import CLASSES, HIDDEN, WIDTH, agree, architecture
from tests.reference import fedpac as reference

DRAW = torch.Generator().manual_seed(3)


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=DRAW, dtype=torch.float64)


MODEL = architecture("dnn")
W = MODEL.initial
X, Y = drawn(5, WIDTH), torch.tensor([2, 0, 2, 0, 1])
BATCH = Batch(X, Y, torch.tensor([0.25] * 4 + [0.0], dtype=torch.float64))  # the last is padding
CENTROIDS = drawn(CLASSES, HIDDEN)
KNOWN = torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64)
LAM = torch.tensor(0.7, dtype=torch.float64)


def test_each_sample_is_drawn_to_its_class_where_that_is_known() -> None:
    features = torch.relu(X @ W["hidden.weight"].T + W["hidden.bias"])
    logits = features @ W["out.weight"].T + W["out.bias"]
    loss = torch.nn.functional.cross_entropy(logits[:4], Y[:4])
    apart = ((features[[1, 3]] - CENTROIDS[0]) ** 2).mean(1)  # of four; 2 is unknown
    found = objective(W, MODEL, BATCH, {}, CENTROIDS, KNOWN, LAM)
    torch.testing.assert_close(found, loss + 0.7 * apart.sum() / 4)


def test_a_step_descends_it() -> None:
    leaves = {name: value.clone().requires_grad_() for name, value in W.items()}
    loss = objective(leaves, MODEL, BATCH, {}, CENTROIDS, KNOWN, LAM)
    slopes = torch.autograd.grad(loss, list(leaves.values()))
    rate = torch.tensor(0.1).double()
    after = aligned_step(MODEL, W, BATCH, {}, CENTROIDS, KNOWN, LAM, rate)
    for (name, value), slope in zip(W.items(), slopes, strict=True):
        torch.testing.assert_close(after[name], value - 0.1 * slope)


def told(h, variance):
    tensor = torch.tensor(h, dtype=torch.float64)[None]
    spread = torch.tensor([variance], dtype=torch.float64)
    return {"centroids": {"reference": tensor}, "coefficients": {"variance": spread}}


@pytest.mark.certifies("fedpac", "reference")
@pytest.mark.parametrize("seed", range(4))
def test_mixtures_at_the_edge_of_the_simplex(seed):
    """Six clients, three numbers each: who is on the other side counts nothing."""
    rng = np.random.default_rng(seed)
    h, variances = 3.0 * rng.normal(size=(6, 3)), rng.uniform(0.01, 0.5, size=6)
    shares = []
    messages = [told(row, v) for row, v in zip(h, variances, strict=True)]
    for place, found in enumerate(best_mixtures(messages)):
        agree("fedpac", found, list(reference.mixture(list(h), variances, place)))
        shares += found
    assert min(shares) == 0.0


@pytest.mark.certifies("fedpac", "reference")
def test_many_more_features_than_clients():
    """Four clients of thirty numbers each: the reference reads all thirty."""
    rng = np.random.default_rng(0)
    h, variances = rng.normal(size=(4, 30)), rng.uniform(0.5, 50.0, size=4)
    messages = [told(row, v) for row, v in zip(h, variances, strict=True)]
    for place, found in enumerate(best_mixtures(messages)):
        agree("fedpac", found, list(reference.mixture(list(h), variances, place)))


@pytest.mark.certifies("fedpac", "law")
def test_clients_that_are_alike_count_by_their_variances():
    """Equal h: α_j is proportional to 1/V_j."""
    found = best_mixtures([told([1.0, 2.0], v) for v in (0.5, 0.25, 2.0)])[1]
    assert found == pytest.approx([2 / 6.5, 4 / 6.5, 0.5 / 6.5])


@pytest.mark.certifies("fedpac", "law")
def test_a_client_that_is_far_away_counts_nothing():
    """Between h_i = 0 and one at distance a on one axis: α of the other is V / (V + V' + a²)."""
    found = best_mixtures([told([0.0, 0.0], 0.5), told([3.0, 0.0], 0.25)])[0]
    assert found[1] == pytest.approx(0.5 / (0.5 + 0.25 + 9.0))
    far = best_mixtures([told([0.0, 0.0], 0.0), told([3.0, 0.0], 0.25)])[0]
    assert far == pytest.approx([1.0, 0.0])


def test_class_means_are_summed_in_double_precision_one_client_after_the_other() -> None:
    """Five thousand clients of about one mean: float32 would lose digits on the way, and all their
    means at once are [clients, classes, d].
    """
    generator = torch.Generator().manual_seed(0)
    means = [1000.0 + torch.randn(2, 3, generator=generator) for _ in range(5000)]
    counts = [torch.tensor([float(1 + k % 7), 0.0]) for k in range(5000)]
    before = torch.full((2, 3), 9.0)
    seen = 0

    def messages():
        nonlocal seen
        for mean, count in zip(means, counts, strict=True):
            seen += 1
            yield {"centroids": {"means": mean}, "coefficients": {"counts": count}}

    found = merged(messages(), {"centroids": before, "coefficients": torch.tensor([0.0, 1.0])})
    total = sum(c[0].double() * m[0].double() for m, c in zip(means, counts, strict=True))
    exact = (total / sum(float(c[0]) for c in counts)).float()
    assert seen == 5000
    assert torch.equal(found["centroids"][0], exact)
    assert torch.equal(found["centroids"][1], before[1])  # nobody has the class: as it was
    assert found["centroids"].dtype == torch.float32
    assert found["coefficients"].tolist() == [1.0, 1.0]
