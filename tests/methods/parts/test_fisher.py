"""Traces are the same however samples' slopes are taken; tests/methods/test_fedas.py has values."""

import pytest
import torch

from fedkin.methods.fedas import fedas
from fedkin.methods.parts import fisher
from tests.laws.small import close
from tests.methods.federation import Federated, architecture, population

LR = 0.3


def test_a_large_model_has_the_same_traces_one_sample_after_the_other(monkeypatch):
    plain, people, calls, ups = architecture("dnn"), population(), [0, 0], []
    for at, most in enumerate((fisher.LARGEST_STACKED, 0)):

        def counting(w, x, at=at):
            calls[at] += 1
            return plain.outputs(w, x)

        monkeypatch.setattr(fisher, "LARGEST_STACKED", most)
        models = {"dnn": plain._replace(outputs=counting)}
        run = Federated(fedas(lr=LR), people, models, steps=2).run(1)
        ups.append(run.moments[0].up)
    samples = [len(rows) for rows in people.train]
    assert calls[1] - calls[0] == sum(samples) - len(samples)  # of a client's, all at once
    for k, up in ups[0].items():
        close(ups[1][k]["coefficients"], up["coefficients"], 1e-12)


def test_a_forward_that_reads_values_has_the_same_traces():
    plain = architecture("dnn")

    def reading(w, x):
        return plain.outputs(w, x if float(x.abs().max()) < 1e9 else x / 2)

    ups = [
        Federated(fedas(lr=LR), population(), {"dnn": model}, steps=2).run(1).moments[0].up
        for model in (plain, plain._replace(outputs=reading))
    ]
    for k, up in ups[0].items():
        close(ups[1][k]["coefficients"], up["coefficients"], 1e-12)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("rows", [1, 2, 5, 7, 64])
def test_a_few_slopes_at_a_time_have_the_bits_of_all_at_once(rows, threads):
    """64 of them are more than one thread sums alone; what they are made of stays as it is."""
    draw, before = torch.Generator().manual_seed(rows), torch.get_num_threads()
    like = {"body": (33, 1200), "bias": (33,), "scale": (1,), "rate": ()}
    for dtype in (torch.float32, torch.float64):
        slopes = {
            name: torch.randn(rows, *shape, generator=draw, dtype=dtype)
            for name, shape in like.items()
        }
        kept = {name: value.clone() for name, value in slopes.items()}
        torch.set_num_threads(threads)
        try:
            found = fisher.squared(slopes)
            flat = [value.double().reshape(rows, -1) for value in slopes.values()]
            wanted = torch.stack([value.square().sum(1) for value in flat]).sum(0)
        finally:
            torch.set_num_threads(before)
        assert torch.equal(found, wanted)
        assert all(torch.equal(slopes[name], kept[name]) for name in slopes)
