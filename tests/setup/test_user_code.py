"""What code of somebody's own a specification names."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.methods import user_methods as methods
from fedkin.methods.user_methods import user_recipe
from fedkin.models import user_models as models
from fedkin.models.user_models import user_class
from fedkin.runs.spec import parse
from fedkin.setup.user_code import classes_of, code_of, permit

HALVED, NORMED = "tests.parity.halved:halved", "tests.parity.normed:Normed"


def spec(method: str, **model):
    return parse({"method": {"name": method}, "model": model or {"name": "mlr"}})[0]


def test_methods_and_classes_are_named_without_their_options() -> None:
    assert code_of(spec("fedavg")) == []
    assert code_of(spec("ditto:lam=1")) == []  # what a Method value may be called
    both = spec("a.b:method", map={"x": "c.d:Net:width=8", "y": "mlr"}, rule="random")
    assert code_of(both) == ["a.b:method", "c.d:Net"]
    assert classes_of(both) == ["c.d:Net"]


def test_each_is_allowed_as_what_it_is(monkeypatch) -> None:
    for code in (methods._code, models._code):
        monkeypatch.setattr(code, "_allowed", set())
    permit(spec(HALVED, name=NORMED))
    assert user_recipe(HALVED).__name__ == "halved"
    user_class(NORMED)
    for ask, name in ((user_recipe, NORMED), (user_class, HALVED)):
        with pytest.raises(FedkinError, match="nobody has allowed"):
            ask(name)
