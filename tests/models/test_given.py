"""Models that were given as values have names."""

import pytest
from torch import nn

from fedkin.models import given


def test_the_last_of_one_name_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given, "_RECIPES", {})
    assert given.recipe_of("Net@python") is None
    given.register({"Net@python": nn.Linear, "Other@python": nn.Bilinear})
    given.register({"Net@python": nn.Identity})
    assert given.recipe_of("Net@python") is nn.Identity
    assert given.recipes_of(["mlr", "Net@python"]) == {"Net@python": nn.Identity}
