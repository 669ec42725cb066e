"""Fixtures of the golden traces."""

from collections.abc import Callable

import pytest

from tests.golden.trace import Trace, Verdict


@pytest.fixture
def verdict(record_property: Callable[[str, object], None]) -> Callable[..., Verdict]:
    """verdict(file, how): what the test says of a trace becomes the certificate's."""
    return lambda name, how="": Verdict(Trace(name), record_property, how)
