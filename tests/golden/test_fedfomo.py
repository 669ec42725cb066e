"""FedFomo beside its authors' code and PFLlib's."""

import pytest
import torch

from fedkin.core.method import Info
from fedkin.core.rng import Key
from fedkin.core.tree import row
from fedkin.methods.fedfomo import gains
from tests.golden.recorded import RecordedClient, linear, perceptron, samples_of

SHIPPED = "theirs measures distance in ‖·‖₁ of all parameters, and has weight decay 1e-4"


@pytest.mark.certifies("fedfomo", "golden")
@pytest.mark.parametrize("file", ["fedfomo_first_l2", "fedfomo_shipped", "fedfomo_current_l2", "fedfomo_pfllib"])
def test_gains_at_the_recorded_baseline(verdict, file):
    v = verdict(file)
    lib = file == "fedfomo_pfllib"
    model = perceptron() if lib else linear(bias=False)
    samples = samples_of(v.trace, model)
    rounds, clients = 4 if lib else 3, len(samples)
    baseline = v.trace.tree("baseline", model.initial, rounds, clients)
    trained = v.trace.tree("local", model.initial, 4, clients)
    theirs = torch.from_numpy(v.trace.array("gains", rounds, clients, clients))
    everybody = [list(range(clients))] * clients
    for t in range(lib, rounds):
        models = tuple(row(row(trained, t - lib), j) for j in range(clients))
        sent = v.trace.array("sent", rounds, clients, -1)[t].tolist() if lib else everybody
        for i in range(clients):
            data = RecordedClient(Info(i, "m", 1, torch.zeros(3), 0, 3), model, Key(0), samples[i], {})
            found = gains(row(row(baseline, t), i), models, data)
            own_is_none = file == "fedfomo_current_l2"
            seen = [j for j in sent[i] if j >= 0 and not (own_is_none and j == i)]
            v.compare("gains", found[seen], theirs[t, i][seen])
    if file == "fedfomo_shipped":
        v.deviates("gains", SHIPPED, 0.269)
    else:
        v.agrees(within=2e-5 if lib else 2e-15)  # PFLlib adds 1e-5 under the fraction
