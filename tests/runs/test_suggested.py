"""What nobody chose is chosen by the kind of the data."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedkin import Experiment
from fedkin.data.formats.frames import READERS
from fedkin.data.sources import load
from fedkin.doctor.candidates import TUNED, split_name
from fedkin.runs.spec import Spec, parse
from fedkin.runs.suggested import METHOD, PATIENCE, TABLES
from fedkin.setup import population
from fedkin.setup.arguments.options import specification
from fedkin.setup.build import assemble


def patients(folder: Path, numbers: bool = False) -> Path:
    """Three sites of 12, 10 and 8 rows; the label is an amount far from 1, or two words."""
    rows = []
    for k in range(30):
        site = "bac"[0 if k < 12 else 1 if k < 22 else 2]
        label = str(70.5 - 3 * k) if numbers else ("ill", "well")[k % 3 == 0]
        rows.append(f"{site},{k % 7},{0.5 * k - 3},{label}")
    path = folder / "t.csv"
    path.write_text("\n".join(["site,u,v,outcome", *rows]))
    return path


def chosen(content: dict[str, Any]) -> tuple[str, str, str]:
    spec = parse(content)[0]
    return spec.split.name, spec.model.name, spec.method.name


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ({}, ("dirichlet", "dnn", "finetune")),
        ({"data": {"name": "mnist"}}, ("dirichlet", "dnn", "finetune")),
        ({"data": {"name": "shakespeare"}}, ("dirichlet", "transformer_lm", "finetune")),
        ({"public": {"source": "held-out"}}, ("dirichlet", "dnn", "comet")),
        ({"model": {"map": {"1": "dnn", "2": "mlr"}}}, ("dirichlet", "dnn", "comet")),
        ({"data": {"name": "t.csv"}}, ("dirichlet", "mlr", "finetune")),
        ({"data": {"name": "T.PARQUET", "client": "site"}}, ("natural", "mlr", "finetune")),
        ({"data": {"name": "arrays.npz"}}, ("dirichlet", "dnn", "finetune")),
        ({"data": {"name": "t.csv"}, "model": {"hidden": 8}}, ("dirichlet", "dnn", "finetune")),
        (
            {"data": {"name": "t.csv"}, "model": {"family": "auto"}},
            ("dirichlet", "mlr", "finetune"),
        ),
        (
            {"data": {"name": "t.csv"}, "model": {"map": {"1": "dnn", "2": "mlr"}}},
            ("dirichlet", "dnn", "comet"),
        ),
        ({"data": {"name": "t.csv"}, "method": {"epochs": 2}}, ("dirichlet", "mlr", "finetune")),
        ({"data": {"name": "t.csv"}, "public": {"samples": 9}}, ("dirichlet", "mlr", "comet")),
        (
            {"data": {"name": "t.csv"}, "split": {"alpha": 1.0}, "method": {"name": "apfl"}},
            ("dirichlet", "mlr", "apfl"),
        ),
    ],
)
def test_what_data_of_each_kind_begin_with(
    content: dict[str, Any], wanted: tuple[str, ...]
) -> None:
    assert chosen(content) == wanted
    written = parse(content)[0].model_dump()
    assert chosen(written) == wanted, "what was written down is what is read again"


def test_a_folder_of_tables_is_one_and_of_pictures_is_not(tmp_path: Path) -> None:
    tables, photos = tmp_path / "sites", tmp_path / "photos"
    for folder in (tables, photos / "a"):
        folder.mkdir(parents=True)
    (tables / "north.csv").write_text("u,label\n1,2\n")
    assert chosen({"data": {"name": f"{tables}/"}})[1:] == ("mlr", "finetune")
    assert chosen({"data": {"name": f"{photos}/"}})[1:] == ("dnn", "finetune")


def test_texts_of_leaf_are_known_by_their_first_sample(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    names = [f"user {k}" for k in range(500)]
    for first, model in (("to be or no", "transformer_lm"), ([0.5, 1], "dnn"), (0.25, "dnn")):
        told = json.dumps({"users": names, "user_data": {"a": {"x": [first], "y": [0]}}})
        for path, name in ((tmp_path / "u.json", ""), (tmp_path / "train" / "u.json", "/")):
            path.write_text(told)
            whole = str(path) if not name else f"{tmp_path}/"
            assert chosen({"data": {"name": whole}})[1:] == (model, "finetune"), whole
        (tmp_path / "u.json").unlink()
    assert chosen({"data": {"name": "nowhere.json"}})[1] == "dnn"


@pytest.mark.parametrize("clients", ["client", "client_train"])
def test_the_array_client_of_an_npz_says_who_the_clients_are(tmp_path: Path, clients: str) -> None:
    rows, where = np.zeros(6), tmp_path / "arrays.npz"
    np.savez(where, x=rows, y=rows, **{clients: rows})
    assert chosen({"data": {"name": str(where)}})[0] == "natural"
    assert chosen({"data": {"name": where.name, "dir": str(tmp_path)}})[0] == "natural"
    asked = {"data": {"name": str(where)}, "split": {"name": "iid"}}
    assert chosen(asked)[0] == "iid"


def test_an_npz_is_found_in_the_data_folder_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.zeros(6)
    np.savez(tmp_path / "arrays.npz", x=rows, y=rows, client=rows)
    assert chosen({"data": {"name": "arrays.npz"}})[0] == "dirichlet"
    monkeypatch.setenv("FEDKIN_DATA", str(tmp_path))
    assert chosen({"data": {"name": "arrays.npz"}})[0] == "natural"
    elsewhere = {"data": {"name": "arrays.npz", "dir": str(tmp_path / "other")}}
    assert chosen(elsewhere)[0] == "dirichlet"


def test_an_npz_that_names_no_client_or_is_damaged_is_dealt(tmp_path: Path) -> None:
    rows, where = np.zeros(6), tmp_path / "arrays.npz"
    np.savez(where, x=rows, y=rows, client_name=rows)
    assert chosen({"data": {"name": str(where)}})[0] == "dirichlet"
    where.write_bytes(b"no archive")
    assert chosen({"data": {"name": str(where)}})[0] == "dirichlet"


def test_the_doctors_first_choice_is_what_a_run_begins_with() -> None:
    named = split_name(TUNED)
    assert {"name": named[0], **named[1]} == METHOD
    assert parse({})[0].method.options == named[1]
    assert parse({"method": {"name": "finetune"}})[0].method.options == {}
    assert parse({"method": {"epochs": 2}})[0].method.options == {"epochs": 2}


def test_training_ends_early_where_nobody_says_how_long_it_lasts() -> None:
    assert parse({})[0].run.patience == PATIENCE
    assert parse({"run": {"seed": 3}})[0].run.patience == PATIENCE
    for given in ({"rounds": 30}, {"evaluate": "participants"}, {"patience": 3}):
        assert parse({"run": given})[0].run.patience == given.get("patience")
    for split in ({"val": 0.0}, {"holdout": "comet"}):
        assert parse({"split": split})[0].run.patience is None
    told = parse(parse({})[0].model_dump())[0]
    assert told.run.patience == PATIENCE


@pytest.mark.parametrize("unit", ["client", "sample"])
def test_with_noise_no_validation_score_ends_training_unasked(unit) -> None:
    private = {"noise": 1.0, "clip": 1.0, "delta": 1e-5, "unit": unit}
    assert parse({"privacy": private})[0].run.patience is None
    assert parse({"privacy": private, "run": {"patience": 3}})[0].run.patience == 3
    assert parse({"privacy": {"secure_aggregation": True}})[0].run.patience == PATIENCE


def test_amounts_of_a_table_are_standardised_and_those_of_others_not(tmp_path: Path) -> None:
    data = {"name": str(patients(tmp_path, numbers=True)), "client": "site", "label": "outcome"}
    found = assemble(parse({"data": data})[0]).spec.model.target
    assert isinstance(found, tuple)
    assert 0 < found[0] < 60 < 60 + found[1]
    plain = parse({"data": data, "model": {"target": "none"}})[0]
    assert assemble(plain).spec.model.target == "none"
    named = {"data": {"name": "linear_toy"}, "split": {"name": "natural"}}
    named["method"] = {"name": "local"}
    assert assemble(parse(named)[0]).spec.model.target == "none"
    words = {"name": str(patients(tmp_path)), "client": "site", "label": "outcome"}
    assert assemble(parse({"data": words})[0]).spec.model.target == "none"


def test_the_shell_and_python_begin_alike(tmp_path: Path) -> None:
    path = patients(tmp_path)
    typed = specification(None, {"data": f"{path}:client=site,label=outcome"}, [])[0]
    assert typed == Experiment(data=str(path), client="site", label="outcome").spec
    assert typed.method.name == "finetune"
    assert Experiment("comet", data=str(path), client="site", label="outcome").spec.model.name == (
        "mlr"
    )
    assert Experiment().spec == Spec()


def test_a_table_is_read_once_for_two_who_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []
    monkeypatch.setattr(
        population, "load", lambda *given, **named: read.append(given) or load(*given, **named)
    )
    data = {"name": str(patients(tmp_path)), "client": "site", "label": "outcome"}
    spec, other = parse({"data": data})[0], parse({"data": {**data, "drop": ["v"]}})[0]
    with population.shared_reading():
        first = population.source_of(spec)
        assert population.source_of(population.rooted(spec)) is first
        assert len(read) == 1
        population.source_of(other)
        population.source_of(spec)
        assert len(read) == 3, "other columns are read by themselves; nothing is kept after two"
    population.source_of(spec)
    assert len(read) == 4


def test_pictures_far_from_zero_are_centred() -> None:
    for name in ("cifar10", "cifar100", "cifar100_12k"):
        of_channels = parse({"data": {"name": name}})[0].data
        assert [len(of_channels.mean), len(of_channels.std)] == [3, 3]
    scale = parse({"data": {"name": "femnist"}})[0].data
    assert (scale.mean, scale.std) == ((0.96,), (0.17,))
    for own in ({"mean": []}, {"std": [0.5]}, {"mean": [0.0], "std": [1.0]}):
        said = parse({"data": {"name": "femnist", **own}})[0].data
        assert list(said.mean) == own.get("mean", [])
        assert list(said.std) == own.get("std", [])
    assert parse({"data": {"name": "mnist"}})[0].data.mean == ()
    written = parse({"data": {"name": "femnist", "mean": []}})[0].model_dump(mode="json")
    assert parse(written)[0].data.mean == ()  # a run of before is gone on with as it was


def test_what_a_table_is_called_is_what_can_be_read():
    assert set(READERS) == TABLES
