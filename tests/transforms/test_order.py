"""[[transforms]]: names, parameters and order, with one sentence for what does not fit."""

import tomllib

import pytest

from fedkin.core.errors import FedkinError
from fedkin.doctor.fixed_spec import fixed_spec
from fedkin.experiment.resume import check_unchanged
from fedkin.experiment.run import run
from fedkin.runs.database import read_only
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from fedkin.sweep.space import changed
from tests.engine.small import content, small

BAD = {
    "medain": ([{"name": "medain"}], "unknown transform 'medain': did you mean 'median'"),
    "a parameter": (
        [{"name": "krum", "atackers": 1}],
        "unknown parameter of transform krum 'atackers': did you mean 'attackers'",
    ),
    "missing": ([{"name": "krum"}], "transform krum needs attackers"),
    "range": (
        [{"name": "norm_bound", "bound": 0.0}],
        "transform norm_bound: bound: input should be greater than 0, not 0.0",
    ),
    "nan": ([{"name": "norm_bound", "bound": float("nan")}], "bound is NaN or infinity"),
    "order": (
        [{"name": "median"}, {"name": "norm_bound", "bound": 1.0}],
        "median stands before norm_bound, and a message passes norm_bound first",
    ),
    "two rules": ([{"name": "median"}, {"name": "krum", "attackers": 1}], "choose one"),
    "hidden": ([{"name": "local_batch_norm"}], "asked for by model.buffers = 'local'"),
    "too few": ([{"name": "krum", "attackers": 1}], "needs at least 5 participants a round"),
    "nearly no share": (
        [{"name": "trimmed_mean", "share": 5e-324}],
        "share: input should be greater than or equal to 0.000001, not 5e-324",
    ),
    "nothing cut": ([{"name": "trimmed_mean", "share": 0.2}], "needs at least 5 participants"),
    "nameless": ([{"bound": 1.0}], "transforms, number 1: it needs a name"),
    "no list": ({"name": "median"}, "write \\[\\[transforms\\]\\]"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_gets_one_sentence_before_training(case):
    asked, sentence = BAD[case]
    with pytest.raises(FedkinError, match=sentence) as told:
        assemble(parse({**content("fedavg"), "transforms": asked})[0])
    assert "\n" not in str(told.value)


def test_a_method_without_a_sum_is_refused():
    spec, _ = parse({**content("comet"), "transforms": [{"name": "median"}]})
    with pytest.raises(
        FedkinError, match=r"comet needs every message by itself: try .*fedavg, "
    ) as told:
        assemble(spec)
    assert "centralized" not in str(told.value)


def test_pooled_training_has_no_clients_to_choose_from():
    spec, _ = parse({**content("centralized"), "transforms": [{"name": "median"}]})
    with pytest.raises(FedkinError, match="centralized trains on pooled data"):
        assemble(spec)


def test_an_experiment_without_transforms_reads_as_ever():
    assert "transforms" not in small("fedavg").model_dump()


def test_what_stands_in_the_file_stands_in_the_run(tmp_path):
    spec, _ = parse({**content("fedavg", run__rounds=1), "transforms": [{"name": "median"}]})
    folder = run(spec, tmp_path / "run")
    written = tomllib.loads((folder / "experiment.toml").read_text())
    assert written["transforms"] == [{"name": "median"}]


ASKED = [{"name": "norm_bound", "bound": 2.5}, {"name": "median"}]


def test_a_sweep_keeps_the_transforms_of_its_experiment():
    base = parse({**content("fedavg"), "transforms": ASKED})[0]
    swept = changed(base, {"train.lr": 0.25})
    assert swept.transforms == base.transforms
    assert swept.train.lr == 0.25


def test_a_mended_specification_keeps_them():
    base = parse({**content("fedavg"), "transforms": ASKED})[0]
    text = fixed_spec(base, [], "fedkin data check")
    assert parse(tomllib.loads(text))[0] == base


def test_resuming_with_others_is_refused(tmp_path):
    folder = run(
        parse({**content("fedavg", run__rounds=1), "transforms": ASKED})[0], tmp_path / "r"
    )
    record = folder / "experiment.toml"
    record.write_text(record.read_text().replace("2.5", "3.5"))
    with read_only(folder) as database:
        recorded = database.facts()["spec"]
    with pytest.raises(FedkinError, match="transforms are not what this run began with"):
        check_unchanged(folder, parse(tomllib.loads(record.read_text()))[0], recorded)
