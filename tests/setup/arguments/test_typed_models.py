"""Several models with commas between, some with several options."""

import pytest

from fedkin import Experiment, FedkinError
from fedkin.setup.arguments.options import specification
from fedkin.setup.arguments.typed_models import typed_models

TWO = "transformer_lm:width=8,layers=2"


def test_an_option_after_a_comma_is_of_the_model_before_it() -> None:
    assert typed_models(f"mlr,{TWO},dnn") == ["mlr", TWO, "dnn"]
    assert typed_models(TWO) == [TWO]
    spec, _ = specification(None, {"model": f"{TWO},mlr"}, [])
    assert [*spec.model.map] == [TWO, "mlr"]
    assert Experiment("comet", model=[TWO, "mlr"]).spec.model.map


@pytest.mark.parametrize(
    ("models", "sentence"),
    [
        ("mlr,dn", "unknown model 'dn': did you mean 'dnn'"),
        ("mlr,", "unknown model ''"),
        (["mlr", "dnn:hiden=3"], "unknown option of model 'dnn' 'hiden': did you mean 'hidden'"),
        ({"map": {"a": "mlr"}, "hidden": 4}, "unknown option of model 'mlr' 'hidden'"),
    ],
)
def test_a_mistake_in_one_of_several_is_told_at_construction(models: object, sentence: str) -> None:
    with pytest.raises(FedkinError, match=sentence):
        Experiment("comet", model=models)
