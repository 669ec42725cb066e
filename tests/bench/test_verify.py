"""What a verification says: the same bits, or what differs."""

from typing import Any

import pytest

from fedkin.bench.row import Row
from fedkin.bench.trial import spec_of
from fedkin.bench.verify import Verified, verify
from fedkin.core.errors import FedkinError
from fedkin.setup.population import population_of
from tests.bench.tiny import SPEC

CONTENT: dict[str, Any] = {
    **SPEC,
    "method": {"name": "fedavg"},
    "train": {"lr": 0.1, "batch_size": 20},
    "run": {"clients": 3, "rounds": 1, "seed": 2, "evaluate_every": 1},
}


def a_row(**changes: Any) -> Row:
    told = {
        "id": "0123456789ab",
        "case": "c",
        "of": 1,
        "suite": "tiny",
        "setting": "digits",
        "data": "digits",
        "data_digest": "d",
        "split": "iid",
        "model": "mlr",
        "method": "fedavg",
        "seed": 2,
        "rounds": 1,
        "budgets": ("rounds",),
        "mean": 0.5,
        "worst_decile": 0.25,
        "clients": {"0": 0.25, "1": 0.75},
        "fingerprint": "f" * 64,
        "content": CONTENT,
    }
    return Row.model_validate({**told, **changes})


def test_the_sentence_says_how_far_and_why() -> None:
    other = Verified(a_row(), False, "e" * 64, 0.75, 0.125, ("torch 2.8 then, 2.9 now",))
    assert other.sentence == (
        "0123456789ab: fedavg on digits, seed 2: other bits: accuracy is 0.7500, not 0.5000; a "
        "client's differs by 0.1250 at most. What differs: torch 2.8 then, 2.9 now"
    )
    assert "version, machine and threads" in other._replace(differs=()).sentence
    assert other._replace(same=True).sentence.endswith("the same bits, accuracy 0.7500")


def test_other_data_are_told_before_anything_is_trained() -> None:
    with pytest.raises(FedkinError, match="the data of digits here are not those"):
        verify(a_row(own_digest="0" * 12), None)


def test_a_row_with_another_fingerprint_is_not_the_same() -> None:
    found = verify(a_row(), None)
    assert not found.same
    assert verify(a_row(fingerprint=found.fingerprint), None).same


def test_a_row_of_before_public_groups_was_a_key_is_repeated_as_it_was_run() -> None:
    public = {"source": "held-out", "samples": 50, "labeled": True}
    older = {**CONTENT, "public": public, "split": {"name": "iid", "group": "duplicates"}}
    parted = {**older, "public": {**public, "groups": "parted"}}
    whole = population_of(spec_of(older), wanted=False).digest()[:12]
    own = population_of(spec_of(parted), wanted=False).digest()[:12]
    assert whole != own
    now = verify(a_row(content=parted, own_digest=own), None).fingerprint
    assert verify(a_row(content=older, own_digest=own, fingerprint=now), None).same
    assert verify(a_row(content=older, own_digest=whole), None)
    with pytest.raises(FedkinError, match="the data of digits here are not those"):
        verify(a_row(content=parted, own_digest=whole), None)
