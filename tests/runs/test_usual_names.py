"""Names of other libraries lead to keys that exist."""

import pytest

from fedkin.runs.spec import Spec
from fedkin.runs.usual_names import USUAL_NAMES

FREE = {"split", "method"}  # sections whose keys are those of a partition or a method


@pytest.mark.parametrize(("usual", "ours"), USUAL_NAMES.items())
def test_our_key_is_there(usual: str, ours: str) -> None:
    section, _, key = ours.partition(".")
    fields = type(getattr(Spec(), section)).model_fields
    assert key in fields or section in FREE
    assert usual != ours
