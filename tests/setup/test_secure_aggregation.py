"""What server and hosts are given for masks, and what is said of it."""

import sys

import pytest

from fedkin.core.errors import FedkinError
from fedkin.masks.terms import usual_threshold
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from fedkin.setup.secure_aggregation import (
    masking_of,
    masking_remarks,
    threshold_of,
    with_threshold,
)
from tests.engine.small import content


def spec(asked=True, method="fedavg", **privacy):
    whole = content(method, run__participation=1.0)
    return parse({**whole, "privacy": {"secure_aggregation": asked, **privacy}})[0]


def test_a_threshold_is_chosen_or_more_than_two_thirds() -> None:
    assert threshold_of(spec(), 9) == usual_threshold(9) == 7
    assert threshold_of(spec({"threshold": 5}), 9) == 5
    assert threshold_of(spec(False), 9) is None


def test_only_a_declared_sum_is_masked() -> None:
    plain = assemble(parse(content("fedavg"))[0])
    assert masking_of(spec(), plain.method, 5, 6) is not None
    assert masking_of(spec(), plain.method, None, 6) is None
    each = assemble(parse(content("comet"))[0])
    assert masking_of(spec(), each.method, 5, 6) is None


@pytest.mark.parametrize("seeded", [True, False])
def test_keys_come_from_the_seed_only_where_that_is_asked_for(seeded) -> None:
    parts = assemble(parse(content("fedavg"))[0])
    message = {"parameters": {}}
    told = [
        masking_of(spec(seeded=seeded), parts.method, 4, 6).begin(1, 0, message, 3.0) for _ in "ab"
    ]
    assert (told[0] == told[1]) == seeded


def test_what_is_said_of_the_servers_sight() -> None:
    parts = assemble(parse(content("fedavg", run__participation=1.0))[0])
    (said,) = masking_remarks(spec(), with_threshold(parts.federation, spec()))
    assert said.startswith("secure aggregation: the server sees sums of at least 5 of 6 updates")
    assert masking_remarks(spec(False), parts.federation) == []
    (loud,) = masking_remarks(spec(seeded=True), with_threshold(parts.federation, spec()))
    assert loud.startswith("NOT PRIVATE: privacy.seeded makes the keys")


def test_without_its_library_nothing_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedkin.masks.keys._found", [])
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)
    with pytest.raises(FedkinError, match=r"needs the extra privacy: pip install"):
        assemble(spec())
