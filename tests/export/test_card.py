"""The card as text: names as they are read, and only tables that belong there."""

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.family import standardised
from fedkin.experiment.run import run
from fedkin.export.card import card_of, input_of, output_of
from fedkin.export.card_page import as_markdown
from fedkin.export.opened_run import Member, Opened
from fedkin.models.user_models import allow
from fedkin.report.summary import summary
from fedkin.report.words.deployed import choice_in_words
from fedkin.runs.database import read_only
from fedkin.runs.spec import parse
from tests import awkward
from tests.cli.command import fedkin
from tests.engine.small import content, small
from tests.export.clinics import run_table, write_clinics
from tests.export.test_card_page import CARD
from tests.methods.federation import architecture


def exported(tmp_path: Path, method: str, *formats: str) -> tuple[Path, dict]:
    """Of H01, after one round; the table's column `bmi` has a bar and two spaces in its name."""
    table = write_clinics(tmp_path / "patients.csv", clinics=3)
    text = table.read_text().replace(",bmi,", ",body |  mass,", 1)
    table.write_text(text)
    run_table(table, method, tmp_path / "run")
    for format in formats:
        done = fedkin("export", tmp_path / "run", "--client", "H01", "--format", format)
        assert done.exit_code == 0, done.output
    folder = tmp_path / "run" / "export" / "H01"
    card = json.loads((folder / "card.json").read_text()) if formats else {}
    return folder, card


def test_a_class_that_a_client_never_saw_is_named(tmp_path: Path) -> None:
    table = write_clinics(tmp_path / "patients.csv", clinics=3)
    lines = table.read_text().splitlines()
    changed = [
        line.replace("readmitted", "home") if line.startswith("H01,") else line for line in lines
    ]
    assert changed != lines
    table.write_text("\n".join(changed) + "\n")
    run_folder = tmp_path / "run"
    run_table(table, "fedavg", run_folder)
    for client, unseen_classes in (("H01", ["readmitted"]), ("H02", [])):
        assert fedkin("export", run_folder, "--client", client).exit_code == 0
        folder = run_folder / "export" / client
        card = json.loads((folder / "card.json").read_text())
        assert card["data"]["unseen_classes"] == unseen_classes
        said = "no training sample of the client is of class readmitted" in as_markdown(card)
        assert said == bool(unseen_classes)


def test_a_columns_name_breaks_no_table(tmp_path: Path) -> None:
    folder, _ = exported(tmp_path, "local", "safetensors")
    assert "body \\| mass" in (folder / "card.md").read_text()


def test_tensors_are_listed_where_a_file_holds_them(tmp_path: Path) -> None:
    _, card = exported(tmp_path, "fedem:components=2", "safetensors")
    assert len(card["tensors"]) > 2
    listed = [f"| {one['name']} | {one['shape']} |" for one in card["tensors"]]
    assert all(line in as_markdown(card) for line in listed)
    without = {**card, "files": {"model.pt2": card["files"]["model.safetensors"]}}
    assert not any(line in as_markdown(without) for line in listed)


def test_a_card_says_what_a_safe_client_deploys_and_why(tmp_path: Path) -> None:
    folder, card = exported(tmp_path, "fedavg:safe=true", "safetensors")
    extras = summary(tmp_path / "run")["extras"]
    expected = choice_in_words(extras["safe_share"]["H01"], extras["safe_chance"]["H01"])
    assert card["deploys"] == expected
    assert f"- deploys {expected}\n" in (folder / "card.md").read_text()
    opened = Opened(tmp_path / "run")
    assert card_of(opened, opened.member("H01"), "global")["deploys"] is None
    (tmp_path / "plain").mkdir()
    _, plain = exported(tmp_path / "plain", "fedavg", "safetensors")
    assert plain["deploys"] is None
    assert "deploys" not in as_markdown(plain)


@pytest.mark.parametrize("key", ["client", "architecture"])
def test_a_join_whose_names_are_no_texts_is_damaged(key: str, tmp_path: Path) -> None:
    exported(tmp_path, "local")
    there = tmp_path / "there"
    there.mkdir()
    told = {"client": "H09", "architecture": "mlr", "data_digest": "", key: ["mlr"]}
    (there / "join.json").write_text(json.dumps(told))
    with pytest.raises(FedkinError, match="is damaged, or of an older fedkin"):
        Opened(tmp_path / "run").member(str(there))


@pytest.mark.parametrize(("method", "untrained"), [("ditto", True), ("fedavg", False)])
def test_a_client_that_no_round_had_is_called_so(
    method: str, untrained: bool, tmp_path: Path
) -> None:
    folder = run(small(method, run__participation=0.3, run__rounds=1), tmp_path / "run")
    with read_only(folder) as database:
        ((taken,),) = database.rows("SELECT participants FROM rounds WHERE phase = 'round'")
    opened = Opened(folder)
    for client in range(6):
        card = card_of(opened, opened.member(client))
        took = client in json.loads(taken)
        assert (card["took_part"], card["untrained"]) == (took, untrained and not took)
        text = as_markdown({**card, "files": {}, "tensors": []})
        line = f"- took part in {int(took)} of 1 round"
        if card["untrained"]:
            line += ": what ditto keeps of a personal model for its client alone is untrained here"
        assert f"{line}\n" in text


@pytest.mark.parametrize("masks", [True, False])
def test_a_run_under_masks_has_no_scores_for_a_card_and_the_card_says_so(
    masks: bool, tmp_path: Path
) -> None:
    given = content("ditto", run__rounds=1, run__participation=1.0)
    privacy = {"privacy": {"secure_aggregation": True}} if masks else {}
    opened = Opened(run(parse({**given, **privacy})[0], tmp_path / "run"))
    card = card_of(opened, opened.member(0))
    text = as_markdown({**card, "files": {}, "tensors": []})
    line = "\n- no score of this client: secure aggregation keeps means over clients alone\n"
    assert (card["scores"] == {}, line in text) == (masks, masks)


def test_what_a_model_takes_and_says() -> None:
    people, model = awkward.population(), architecture("mlr")
    assert input_of(people, model) == {
        "shape": ["samples", 5],
        "dtype": "float32",
        "module": {"divided_by": 1, "mean": [0.0], "std": [1.0]},
    }
    assert output_of(people, model) == {
        "is": "log-probabilities",
        "shape": ["samples", 11],
        "classes": list(awkward.CLASS_NAMES),
        "module": {"y": "log_softmax(m)"},
    }
    unnamed = replace(people, class_names=(), classes=3)
    assert output_of(unnamed, model)["classes"] == ["0", "1", "2"]
    numbers = replace(people, task="regression")
    assert output_of(numbers, model._replace(family=standardised(3.0, 2.0))) == {
        "is": "the predicted mean",
        "shape": ["samples", 1],
        "module": {"y": "offset + scale * m", "offset": 3.0, "scale": 2.0},
    }


def opened_at(folder: Path, at: int) -> Any:
    """A run of which the commit of this round is used; nothing was trained."""
    record = awkward.record(
        folder,
        versions={"fedkin": "0.1.0"},
        privacy={"delta": 1e-5},
        spec={"model": {"family": "gaussian"}},
    )
    return SimpleNamespace(
        folder=record,
        at=SimpleNamespace(round=at, finished=at == 4),
        round=min(at, 3),
        parts=SimpleNamespace(
            population=awkward.population(), models=defaultdict(lambda: architecture("mlr"))
        ),
        architecture=lambda member: f"that of {member.name}",
    )


@pytest.mark.parametrize("at", [2, 4])
def test_a_card_is_its_clients_and_its_rounds(at: int, tmp_path: Path) -> None:
    """Another round's or another client's number is another one everywhere."""
    card = card_of(opened_at(tmp_path / "run", at), Member("s9", 1))
    assert (card["client"], card["number"], card["rounds"]) == ("s9", 1, min(at, 3))
    assert (card["finished"], card["joined"]) == (at == 4, None)
    took = [1 in awkward.TAKING_PART.get(one, range(6)) for one in range(1, min(at, 3) + 1)]
    assert card["took_part"] == sum(took)
    assert not card["untrained"]
    assert card["architecture"] == "that of s9"
    assert (card["family"], card["privacy"]) == ("gaussian", {"delta": 1e-5})
    assert card["data"]["samples"] == {"train": 90, "val": 25, "test": 8}
    assert list(card["scores"]) == ["personal", "global"]
    for view, splits in card["scores"].items():
        for split in ("test", "val"):
            accuracy = awkward.accuracy(at, 1, view, split)
            assert splits[split]["accuracy"] == accuracy
            assert splits[split]["loss"] == pytest.approx(awkward.loss(at, 1, view, split))
            assert splits[split]["auc"] == pytest.approx(awkward.auc(at, 1, view, split))
    sent = [
        (way, size, parameters)
        for one in range(at + 1)
        for client, way, _, size, parameters, *_ in awkward.messages(
            one, awkward.TAKING_PART.get(one, list(range(6)))
        )
        if client == 1
    ]
    for way in ("up", "down"):
        assert card["communicated"][way]["bytes"] == sum(s for w, s, _ in sent if w == way)
        assert card["communicated"][way]["parameters"] == sum(p for w, _, p in sent if w == way)
        assert all(card["communicated"][way].values())  # kinds that were sent, and no other


def test_a_client_of_one_class_has_no_auc(tmp_path: Path) -> None:
    card = card_of(opened_at(tmp_path / "run", 4), Member("s2", 2))
    assert card["scores"]["personal"]["test"]["auc"] is None
    assert "auc" not in as_markdown({**CARD, "scores": card["scores"]})


def test_a_joined_clients_card_is_what_its_join_told(tmp_path: Path) -> None:
    told = {
        "train": 14,
        "val": 5,
        "test": 6,
        "scores": {"personal": {"test": {"loss": 0.5, "accuracy": 0.25}}},
        "bytes": {"up": 10, "down": 200},
        "scalars": {"up": {"parameters": 3}, "down": {"centroids": 4}},
        "after_round": 2,
        "rounds": 5,
    }
    opened = opened_at(tmp_path / "run", 4)
    card = card_of(opened, Member("new", None, tmp_path, told))
    assert card["data"]["samples"] == {"train": 14, "val": 5, "test": 6}
    assert card["scores"] == told["scores"]  # an older join has no measures
    told["measures"] = {"personal": {"test": {"auc": 0.75}, "val": {"threshold": 0.3}}}
    card = card_of(opened, Member("new", None, tmp_path, told))
    assert card["scores"] == {"personal": {"test": {"loss": 0.5, "accuracy": 0.25, "auc": 0.75}}}
    assert card["communicated"] == {
        "up": {"bytes": 10, "parameters": 3},
        "down": {"bytes": 200, "centroids": 4},
    }
    assert card["joined"] == {"after_round": 2, "rounds": 5}
    assert (card["took_part"], card["untrained"]) == (None, False)


@pytest.mark.parametrize(
    ("method", "changes", "outside"),
    [
        ("fedavg", {}, {"personal": False, "global": False}),
        ("ditto", {}, {"personal": True, "global": False}),
        ("finetune", {}, {"personal": True, "global": False}),
        ("fedavg", {"model__buffers": "local"}, {"personal": True, "global": True}),
    ],
)
def test_a_card_says_whether_epsilon_is_of_its_file(
    tmp_path: Path, method: str, changes: dict[str, str], outside: dict[str, bool]
) -> None:
    privacy = {"noise": 1.5, "clip": 0.5, "delta": 1e-5}
    normed = {"model__name": "tests.export.test_shared:Normed"} if changes else {}
    allow(list(normed.values()))
    asked = content(method, run__participation=1.0, run__rounds=1, **normed, **changes)
    run(parse({**asked, "privacy": privacy})[0], tmp_path / "run")
    opened = Opened(tmp_path / "run")
    cards = {view: card_of(opened, opened.member(0), view) for view in outside}
    assert {view: card["outside_of_privacy"] for view, card in cards.items()} == outside
    assert "personal models" in cards["personal"]["privacy"]["outside"] or not outside["personal"]
