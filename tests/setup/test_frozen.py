"""Frozen parameters in a file that workers map: the same bits, at the same alignment, and no
others.
"""

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.models.build import build
from fedkin.setup.architectures import models_of
from fedkin.setup.build import assemble
from fedkin.setup.frozen import digest, facts_of, map_frozen, same_frozen, save_frozen
from fedkin.setup.hosts import host_from_setup, setup_of
from tests.engine.small import small


def models(seed=1, frozen="body"):
    small = build("dnn", (1, 3, 3), 2, Key(seed), hidden=5, frozen=frozen)
    return {"small": small, "b": build("dnn", (1, 5, 7), 4, Key(seed), hidden=3, frozen=frozen)}


def test_a_worker_reads_what_was_written(tmp_path):
    written, read = models(), models(seed=2)
    assert digest(written["small"]) != digest(read["small"])
    save_frozen(written, tmp_path)
    map_frozen(read, tmp_path)
    assert facts_of(read) == facts_of(written)
    for name, model in read.items():
        x = torch.rand(4, *((1, 3, 3) if name == "small" else (1, 5, 7)))
        assert model.outputs(model.initial, x).equal(written[name].outputs(model.initial, x))
        assert all(value.data_ptr() % 64 == 0 for value in model.frozen.values())


def test_a_workers_host_has_the_mapped_ones(tmp_path):
    """Even where its own constructor draws others."""
    spec = small("fedavg", model__name="dnn", model__hidden=5, model__frozen="body")
    parts = assemble(spec)
    other = models_of(
        spec.model_copy(update={"run": spec.run.model_copy(update={"seed": 99})}),
        parts.population,
        ["dnn"],
    )
    parts.population.save(tmp_path)
    save_frozen(other, tmp_path)
    host = host_from_setup(setup_of(spec, tmp_path, [0, 1], tmp_path / "state"))
    for name, value in host.models["dnn"].frozen.items():
        assert value.equal(other["dnn"].frozen[name])
        assert not value.equal(parts.models["dnn"].frozen[name])
    x = parts.population.x[:3]
    w = parts.models["dnn"].initial
    assert host.models["dnn"].outputs(w, x).equal(other["dnn"].outputs(w, x))


def test_what_is_mapped_is_the_file_and_a_write_does_not_reach_it(tmp_path):
    written, read = models(), models()
    save_frozen(written, tmp_path)
    content = (tmp_path / "frozen-0.npy").read_bytes()
    map_frozen(read, tmp_path)
    with torch.no_grad():
        read["b"].frozen["1.weight"].fill_(7.0)
    assert (tmp_path / "frozen-0.npy").read_bytes() == content


def test_models_without_frozen_parameters_have_no_file(tmp_path):
    none = models(frozen=())
    save_frozen(none, tmp_path)
    assert not list(tmp_path.iterdir())
    assert facts_of(none) == {}
    assert digest(none["b"]) == ""
    map_frozen(none, tmp_path)


def test_a_file_of_other_parameters_is_refused(tmp_path):
    save_frozen(models(), tmp_path)
    with pytest.raises(FedkinError, match=r"frozen-0.npy holds other parameters"):
        map_frozen(models(frozen=["1.weight"]), tmp_path)
    np.save(tmp_path / "frozen-0.npy", np.zeros(3))
    with pytest.raises(FedkinError, match=r"frozen-0.npy holds other parameters"):
        map_frozen(models(), tmp_path)
    (tmp_path / "frozen-0.npy").unlink()
    with pytest.raises(FedkinError, match=r"frozen-0.npy is missing or damaged"):
        map_frozen(models(), tmp_path)


def test_a_name_a_shape_or_a_number_changes_the_digest():
    model = models()["small"]
    told = digest(model)
    value = model.frozen["1.weight"]
    for other in (
        {**model.frozen, "1.weight": value + 1e-7},
        {**model.frozen, "1.weight": value.view(9, 5)},
        {"1.wiehgt": value, "1.bias": model.frozen["1.bias"]},
    ):
        assert digest(model.holding(other)) != told
    assert digest(model.holding(dict(reversed(model.frozen.items())))) == told


def test_a_run_goes_on_with_what_it_began_with():
    facts = {"frozen": facts_of(models())}
    same_frozen("here", models(), facts)
    same_frozen("here", models(frozen=()), {})
    for found, known in ((models(seed=3), facts), (models(frozen=()), facts), (models(), {})):
        with pytest.raises(FedkinError, match="here: the frozen parameters of model 'b' are not"):
            same_frozen("here", found, known)
