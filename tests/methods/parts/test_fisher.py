"""Traces are the same however samples' slopes are taken; tests/methods/test_fedas.py has values."""

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
