"""What a run directory says of its run as a whole."""

import importlib.metadata
import json
import tomllib

import numpy as np
import torch

from fedkin.experiment.run_facts import clients_of, facts_of, hyper_of, toml_of
from fedkin.methods import make
from fedkin.runs import bounds
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from tests.engine.small import content

PARTS = assemble(parse(content("ditto", model__name="dnn", model__hidden=5))[0])
FACTS = facts_of(PARTS)


def test_facts_are_what_json_holds() -> None:
    assert json.loads(json.dumps(FACTS)) == FACTS
    assert (FACTS["method"], FACTS["clients"], FACTS["rounds"]) == ("ditto", 6, 3)
    assert FACTS["parameters"] == {"dnn": 64 * 5 + 5 + 5 * 10 + 10}
    assert FACTS["data_digest"] == PARTS.population.digest()
    assert FACTS["finished"] is False
    assert FACTS["class_names"][9] == "9"
    assert "privacy" not in FACTS
    assert "frozen" not in FACTS
    assert FACTS["versions"] == {
        "fedkin": importlib.metadata.version("fedkin"),
        "torch": torch.__version__,
    }


def test_whoever_reads_a_record_bounds_each_fact() -> None:
    assert FACTS.keys() <= bounds.FACTS.keys()


def test_a_measure_says_who_chose_it() -> None:
    assert FACTS["why"] != "asked for"
    other = assemble(parse(content("ditto", run__measure="macro_f1"))[0])
    assert facts_of(other)["why"] == "asked for"
    assert facts_of(other)["measure"] == "macro_f1"


def test_a_row_a_client() -> None:
    rows = clients_of(PARTS)
    people = PARTS.population
    assert [row[0] for row in rows] == list(range(6))
    for k, name, kind, train, val, test, counts in rows:
        assert (name, kind) == (people.names[k], "dnn")
        assert [train, val, test] == [len(getattr(people, s)[k]) for s in ("train", "val", "test")]
        assert json.loads(counts) == people.histogram("train")[k].tolist()
    assert len({row[3] for row in rows}) > 3


def test_the_written_specification_is_the_one_that_ran() -> None:
    content = tomllib.loads(toml_of(PARTS, {"deployment": "ab"}).decode())
    noted = content.pop("record")
    assert (noted["data_digest"], noted["deployment"]) == (PARTS.population.digest(), "ab")
    assert parse(content)[0].model_dump() == PARTS.spec.model_dump()


def test_hyper_parameters_that_json_cannot_hold_are_left_out() -> None:
    method = make("ditto", {"lam": 0.5}, {"lr": 0.1})
    odd = method._replace(hyper={**method.hyper, "table": np.ones(2), "none": None, "many": [1]})
    told = hyper_of(odd)
    assert "table" not in told
    assert (told["lam"], told["none"], told["many"]) == (0.5, None, [1])
