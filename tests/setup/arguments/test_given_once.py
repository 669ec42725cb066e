"""One key that was typed by two spellings."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.setup.arguments.given_once import check_given_once
from fedkin.setup.arguments.options import specification

SEED = ("--seed 1", {"run": {"seed": 1}})


def test_both_spellings_are_named() -> None:
    check_given_once([SEED, ("--set run.rounds=1", {"run": {"rounds": 1}})])
    with pytest.raises(FedkinError, match=r"--seed 1 and --set run\.seed=2 both give run.seed"):
        check_given_once([SEED, ("--set run.seed=2", {"run": {"seed": 2}})])


def test_one_option_may_add_to_itself() -> None:
    spec, _ = specification(None, {"transform": ["median", "norm_bound:bound=2"]}, [])
    assert [one.name for one in spec.transforms] == ["median", "norm_bound"]


def test_what_a_short_form_does_not_say_may_be_set() -> None:
    options = {"public": "digits", "engine": "inprocess", "split": "dirichlet"}
    settings = ["public.samples=5", "engine.workers=1", "split.alpha=0.3"]
    spec, _ = specification(None, options, settings)
    assert (spec.public.samples, spec.engine.workers) == (5, 1)
    assert spec.split.options["alpha"] == 0.3
