"""What every section of a specification refuses."""

import pytest
from pydantic import ValidationError

from fedkin.runs.section import Section


class Own(Section):
    rate: float = 0.5


@pytest.mark.parametrize("content", [{"rat": 1}, {"rate": float("nan")}, {"rate": float("inf")}])
def test_unknown_keys_and_numbers_that_are_none(content: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Own.model_validate(content)


def test_nothing_changes_afterwards() -> None:
    own = Own(rate=0.25)
    with pytest.raises(ValidationError):
        own.rate = 1.0  # type: ignore[misc]
    assert own.rate == 0.25
