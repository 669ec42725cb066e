"""What a method needs of an experiment: the first thing that is lacking, in one sentence."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fedkin.core.aggregation import WeightedSum
from fedkin.core.errors import FedkinError
from fedkin.core.optimizers import PLAIN, Optimizer
from fedkin.methods import make
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from fedkin.setup.privacy import outside_of
from fedkin.setup.requirements import (
    check_needs,
    check_optimizer,
    check_patience,
    methods_with_a_sum,
)
from tests.engine.small import METHODS, content
from tests.laws.small import FEDERATED
from tests.laws.small import method as small_method

PARTS = assemble(parse(content("fedavg"))[0])
EVERYBODY = PARTS.federation._replace(participation=1.0)
ONE = next(iter(PARTS.models.values()))


def method(name):
    return make(name, METHODS[name], {"lr": 0.1})


def check(name, *, federation=PARTS.federation, population=PARTS.population, model=ONE, kinds="m"):
    models = dict.fromkeys(kinds, model)
    check_needs(method(name), federation, population, models, [*kinds])


def test_what_fits_is_not_told() -> None:
    check("fedavg")
    check("ds_fl", population=replace(PARTS.population, public=PARTS.population.x[:5]))


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        (
            "fedavg",
            {"kinds": "aab"},
            r"one architecture, clients have a \(2\), b \(1\): try ",
        ),
        (
            "fedavg",
            {"model": ONE._replace(learner=object())},
            "m is no torch module: try comet",
        ),
        ("fedrod", {}, "fedrod works with what enters a model's head, and model 'mlr' has no head"),
        ("ds_fl", {}, "ds_fl needs a public set: set public.source .*'held-out'"),
        ("scaffold", {"federation": PARTS.federation._replace(min_replies=5)}, "has 4 participan"),
        ("l2sgd", {}, "l2sgd needs every client in every round: set run.participation to 1"),
    ],
)
def test_the_first_thing_that_is_lacking(name, given, said) -> None:
    with pytest.raises(FedkinError, match=said) as told:
        check(name, **given)
    assert "\n" not in str(told.value)


def test_labels_of_public_samples() -> None:
    population = replace(PARTS.population, public=PARTS.population.x[:5])
    with pytest.raises(FedkinError, match=r"fedmd needs a labeled public set: set public\.labeled"):
        check("fedmd", population=population)
    labelled = replace(population, public_y=torch.zeros(5, dtype=torch.int64))
    start = PARTS.federation.start._replace(public=60)
    check("fedmd", population=labelled, federation=EVERYBODY._replace(start=start))


def test_who_chooses_by_validation_needs_some_everywhere() -> None:
    names = [name for name in METHODS if method(name).needs.validation]
    chooser = next(name for name in names if not method(name).needs.head)
    few = (PARTS.population.val[0][:0], *PARTS.population.val[1:])
    said = rf"^{chooser} chooses by validation: set split\.val above 0"
    check(chooser, federation=EVERYBODY)
    with pytest.raises(FedkinError, match=said):
        check(chooser, federation=EVERYBODY, population=replace(PARTS.population, val=few))


def test_where_safe_chooses_it_is_named_and_not_the_method() -> None:
    few = (PARTS.population.val[0][:0], *PARTS.population.val[1:])
    plain = method("fedavg")
    safely = plain._replace(
        needs=plain.needs._replace(validation=True), hyper={**plain.hyper, "safe": True}
    )
    population = replace(PARTS.population, val=few)
    with pytest.raises(FedkinError, match=r"^method\.safe chooses by validation: set split\.val"):
        check_needs(safely, PARTS.federation, population, {"m": ONE}, ["m"])


def test_methods_that_are_proposed_can_do_it() -> None:
    names = methods_with_a_sum().split(", ")
    assert "fedavg" in names
    assert not {"centralized", "comet", "ifca"} & set(names)
    assert names == sorted(names)


@pytest.mark.parametrize(
    ("asked", "key"),
    [
        (Optimizer("adam"), "train.optimizer back to its default, 'sgd'"),
        (PLAIN._replace(momentum=0.9), "train.momentum back to its default, 0.0"),
    ],
)
def test_who_presumes_plain_steps_takes_no_others(asked, key) -> None:
    with pytest.raises(FedkinError, match=rf"^scaffold computes with what .* set {key}"):
        check_optimizer(method("scaffold"), asked)
    check_optimizer(method("scaffold"), PLAIN)
    check_optimizer(method("fedavg"), asked)


def test_patience_goes_by_validation() -> None:
    def patient(**run):
        given = {f"run__{key}": value for key, value in {"patience": 3, **run}.items()}
        return parse(content("fedavg", **given))[0]

    check_patience(patient(), PARTS.population)
    empty = replace(PARTS.population, val=tuple(np.zeros(0, np.int64) for _ in range(6)))
    check_patience(parse(content("fedavg"))[0], empty)
    with pytest.raises(FedkinError, match="no client has validation samples: raise"):
        check_patience(patient(), empty)
    with pytest.raises(FedkinError, match="choose all or panel:N"):
        check_patience(patient(evaluate="participants"), PARTS.population)


@pytest.mark.parametrize("where", ["server", "client"])
def test_patience_does_not_tell_of_a_client_that_noise_hides(where) -> None:
    private = {"noise": 1.0, "clip": 1.0, "delta": 1e-5}

    def patient(**asked):
        given = content("fedavg", run__patience=3)
        return parse({**given, "privacy": {**private, **asked}})[0]

    with pytest.raises(FedkinError, match=r"leave run\.patience out, or take privacy\.unit = 'sam"):
        check_patience(patient(where=where), PARTS.population)
    check_patience(patient(unit="sample"), PARTS.population)
    assert "the choice of the last round by validation" in outside_of(patient(unit="sample"))


def introduced(**lacking):
    """FedAvg with a message before the first round, but for what is lacking."""
    parts = {
        "setup_message": lambda own, data: own,
        "expected_setup": lambda state, info: state,
        "setup_update": lambda state, replies, server: state,
    }
    one = method("fedavg")
    needs = one.needs._replace(introduction=lacking.pop("introduction", "everyone"))
    return one._replace(needs=needs, **{**parts, **lacking})


@pytest.mark.parametrize(
    ("lacking", "said"),
    [
        ({"setup_message": None}, "has expected_setup without setup_message: "),
        ({"expected_setup": None}, "has setup_message without expected_setup: "),
        ({"setup_update": None}, "has setup_message without setup_update: "),
        (
            {"introduction": "none"},
            r"has setup_message without needs.introduction \('participants' or 'everyone'\): ",
        ),
        (
            {"expected_setup": None, "setup_update": None},
            "has setup_message without expected_setup and setup_update: ",
        ),
    ],
)
def test_a_message_before_the_first_round_has_all_its_parts_or_none(lacking, said) -> None:
    whole = introduced()
    rest = (EVERYBODY, PARTS.population, {"m": ONE}, ["m"])
    check_needs(whole, *rest)
    with pytest.raises(FedkinError, match=f"^fedavg {said}"):
        check_needs(introduced(**lacking), *rest)


def test_the_page_on_privacy_has_every_method_in_one_of_its_two_tables() -> None:
    page = (Path(__file__).parents[2] / "docs" / "privacy.md").read_text(encoding="utf-8")
    tables = page.partition("\n## Which methods\n")[2].partition("\n## ")[0].split("\n\n")
    first, second = (
        {name for row in table.splitlines()[2:] for name in row.split("|")[1].strip().split(", ")}
        for table in tables
        if table.startswith("| methods |")
    )
    summed = {name for name in FEDERATED if isinstance(small_method(name).aggregation, WeightedSum)}
    assert first == summed
    assert second == set(FEDERATED) - summed
