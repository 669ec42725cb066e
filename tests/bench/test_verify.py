"""What a verification says: the same bits and numbers, or what differs."""

from pathlib import Path
from typing import Any

import pytest

from fedkin.bench.case import filled
from fedkin.bench.row import Row
from fedkin.bench.row_checks import mismatches
from fedkin.bench.third_party_code import third_party_code
from fedkin.bench.trial import run_trial, spec_of
from fedkin.bench.verify import Verified, verify
from fedkin.core.errors import FedkinError
from fedkin.setup.population import population_of
from tests.bench.tiny import SPEC
from tests.experiment.registered import registered

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
        "split": "dirichlet",
        "model": "mlr",
        "method": "fedavg",
        "hyper": {"lr": 0.1},
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
    assert "code, version, machine and threads" in other._replace(differs=()).sentence
    assert other._replace(same=True).sentence.endswith("the same bits, accuracy 0.7500")


def test_other_data_are_told_before_anything_is_trained() -> None:
    with pytest.raises(FedkinError, match="the data of digits here are not those"):
        verify(a_row(own_digest="0" * 12), None)


def test_a_row_with_another_fingerprint_is_not_the_same() -> None:
    found = verify(a_row(), None)
    assert not found.same
    assert not found.confirmed
    assert verify(a_row(fingerprint=found.fingerprint), None).same


def test_a_row_of_before_public_groups_was_a_key_is_repeated_as_it_was_run() -> None:
    public = {"source": "held-out", "samples": 50, "labeled": True}
    older = {**CONTENT, "public": public, "split": {"name": "iid", "group": "duplicates"}}
    parted = {**older, "public": {**public, "groups": "parted"}}
    whole = population_of(spec_of(older), wanted=False).digest()[:12]
    own = population_of(spec_of(parted), wanted=False).digest()[:12]
    assert whole != own
    now = verify(a_row(split="iid", content=parted, own_digest=own), None).fingerprint
    assert verify(a_row(split="iid", content=older, own_digest=own, fingerprint=now), None).same
    assert verify(a_row(split="iid", content=older, own_digest=whole), None)
    with pytest.raises(FedkinError, match="the data of digits here are not those"):
        verify(a_row(split="iid", content=parted, own_digest=whole), None)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Row:
    """A row as a bench would have written it."""
    folder = tmp_path_factory.mktemp("honest")
    return filled(a_row(), run_trial(CONTENT, folder / "run", None), ("rounds",))


def test_an_honest_row_is_true(honest: Row) -> None:
    found = verify(honest, None, rows=[honest])
    assert found.confirmed
    assert found.sentence.endswith(f"the same bits, accuracy {honest.mean:.4f}")


def test_made_up_numbers_on_a_true_fingerprint_are_told_apart(honest: Row) -> None:
    scores = {"worst_decile": 0.999, "clients": dict.fromkeys(honest.clients, 0.999)}
    forged = honest.model_copy(
        update={"mean": 0.999, **scores, "bytes_up": 1, "flops": 5.0, "epsilon": 1.0, "hurt": 0.0}
    )
    alone = honest.model_copy(update={"method": "local", "clients": dict.fromkeys("012", 1.0)})
    found = verify(forged, None, rows=[forged, alone])
    assert found.same
    assert not found.confirmed
    assert f"same state, but the row's mean is 0.9990, not {honest.mean:.4f}; " in found.sentence
    wrong = [text.split(" is ")[0] for text in found.wrong]
    assert wrong[1:5] == ["worst_decile", "bytes_up", "flops", "epsilon"]
    assert wrong[5:] == ["client 0", "helped", "hurt"]
    assert "(3 of 3 clients are wrong)" in found.sentence


def test_other_clients_and_another_measure_are_wrong_too(honest: Row) -> None:
    forged = honest.model_copy(update={"clients": {"0": 0.5}, "measure": "loss"})
    assert verify(forged, None).wrong == (
        "measure is loss, not accuracy",
        "clients are 1 that are not the 3 of its run",
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"method": "ditto"}, "its method is ditto, that of its specification fedavg"),
        ({"hyper": {"lr": 9.0}}, "its hyper is .*9.*, that of its specification .*0.1"),
        ({"seed": 7}, "its seed is 7, that of its specification 2"),
        ({"rounds": 90}, "its rounds is 90, that of its specification 1"),
        ({"data": "har"}, "its data is har, that of its specification digits"),
        ({"split": "iid"}, "its split is iid, that of its specification dirichlet"),
        ({"model": "resnet18"}, "its model is resnet18, that of its specification mlr"),
    ],
)
def test_a_row_that_contradicts_its_specification_is_not_run(
    change: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fedkin.bench.verify.run_trial", None)
    with pytest.raises(FedkinError, match=f"0123456789ab contradicts itself: {said}"):
        verify(a_row(**change), None)


@pytest.mark.parametrize(
    ("fedavg", "said"),
    [
        ({"rounds": 2}, ["rounds are no equal rounds: 1, and 2 of fedavg"]),
        ({"bytes_up": 0}, ["equal bytes are exceeded: "]),
        ({"flops": 7.0}, ["equal compute are exceeded: "]),
        ({"slack": 0.5}, ["slack is 0.0500, and 0.5000 of fedavg"]),
        ({"seed": 9, "flops": 0.0}, ["equal compute are exceeded: "]),
        ({}, []),
        ({"setting": "another", "flops": 0.0}, []),
        ({"missing": "it diverged", "flops": 0.0}, []),
    ],
)
def test_budgets_are_those_of_the_files_fedavg(
    fedavg: dict[str, Any], said: list[str], honest: Row
) -> None:
    mine = {"method": "ditto", "budgets": ("rounds", "bytes", "compute")}
    row = honest.model_copy(update=mine)
    beside = [row, honest.model_copy(update={"budgets": mine["budgets"], **fedavg})]
    found = mismatches(row, row, beside)
    assert len(found) == len(said)
    assert all(text.startswith(start) for text, start in zip(found, said, strict=True))
    assert mismatches(row, row, [*beside, honest]) == []  # another search of fedavg will do
    alone = row.model_copy(update={"method": "local"})
    stretched = [text for text in mismatches(alone, alone, beside) if "exceeded" in text]
    assert stretched == []


@pytest.mark.usefixtures("own_modules")
def test_changed_code_of_ones_own_is_what_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one would blame the machine, or chance."""
    file = registered(tmp_path, "half43")
    monkeypatch.syspath_prepend(tmp_path)
    content = {**CONTENT, "method": {"name": "half43"}}
    then = third_party_code("half43", spec_of(content))
    row = a_row(method="half43", content=content, code=then, budgets=())
    file.write_text(file.read_text().replace("lr * near", "lr"))
    found = verify(row, None)
    now = third_party_code("half43", spec_of(content))["half43"]
    assert found.differs[0] == f"code of half43 {then['half43']} then, {now} now"
