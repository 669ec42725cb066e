"""What server and hosts are given for masks, and what is said of it."""

import sys
from typing import Any

import pytest

from fedkin.core.errors import FedkinError
from fedkin.engine.evaluation import Evaluation
from fedkin.engine.op import CountStage, Stage
from fedkin.masks.keys import KEY
from fedkin.masks.terms import of_counts, usual_threshold
from fedkin.masks.wire import Refused, of_client, sealed
from fedkin.masks.wire import Stage as Wire
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
    with pytest.raises(FedkinError, match=r"needs the extra privacy: in fedkin's checkout"):
        assemble(spec())


@pytest.mark.parametrize(
    ("asked", "most"),
    [
        ({"participation": 1.0}, (6, 6, 6)),
        ({"participation": 0.5}, (3, 6, 6)),
        ({"participation": 0.51}, (4, 6, 6)),
        ({"participation": 0.5, "evaluate": "participants"}, (3, 3, 3)),
        ({"participation": 1.0, "evaluate": "panel:4"}, (6, 4, 6)),
    ],
)
def test_a_client_refuses_more_others_than_its_experiment_lets_a_round_or_evaluation_have(
    asked: dict[str, Any], most: tuple[int, int, int]
) -> None:
    """most: of a round, of its evaluation, and of that of the last round."""
    method = assemble(parse(content("fedavg"))[0]).method
    whole = spec()
    whole = whole.model_copy(update={"run": whole.run.model_copy(update=asked)})
    host = masking_of(whole, method, 3, 6)
    assert host is not None
    last, tested = whole.run.rounds, {"val": 5, "test": 5}
    begun: tuple[tuple[Stage | CountStage, int, int], ...]
    begun = (("shares", 1, 1), ("count_shares", 1, of_counts(1)))
    for (stage, round, session), clients in zip(
        (*begun, ("count_shares", last, of_counts(last))), most, strict=True
    ):
        for listed, why in ((clients, "a threshold of 9"), (clients + 1, f"at most {clients} ")):
            if stage == "shares":
                host.begin(round, 4, {"parameters": {}}, 3.0)
            else:
                host.begin_scores(round, 4, Evaluation({}), tested)
            entries = [of_client(one, bytes(2 * KEY)) for one in range(listed)]
            with pytest.raises(Refused, match=why):
                host.answer(stage, round, 4, sealed(Wire.ROSTER, session, entries, 9))
