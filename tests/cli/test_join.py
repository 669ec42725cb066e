"""``fedkin join`` as a user types it, and its mistakes in one sentence."""

import hashlib
import json
import shutil

import numpy as np
import pytest
from safetensors.torch import load_file

from fedkin.cli.join import lines
from fedkin.setup.loaded_run import load
from tests.cli.command import fedkin, ran, told


def table(path, clients, per=30, named=True, labels="abc", columns="uvwxy"):
    """Rows of some clients; the label is the largest of three sums."""
    rng = np.random.default_rng(7)
    truth = rng.normal(size=(5, 3))
    lines = [",".join([*(["who"] if named else []), *columns, "label"])]
    for client in range(clients):
        for x in rng.normal(size=(per, 5)):
            cells = [f"{value:.4f}" for value in x]
            lines.append(
                ",".join(
                    [*([f"c{client}"] if named else []), *cells, labels[int((x @ truth).argmax())]]
                )
            )
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("join")
    options = [
        "--data",
        table(home / "all.csv", 6),
        "--split",
        "natural",
        "--set",
        "data.client=who",
        "--clients",
        "6",
    ]
    ran(home / "run", *options, "--model", "mlr", "--holdout-clients", "0.2")
    return home


def test_a_file_of_ones_own(folder, tmp_path):
    mine = table(tmp_path / "mine.csv", 1, named=False)
    found = fedkin(
        "join", folder / "run", "--data", mine, "--json", "--rounds", 1, "--out", tmp_path / "out"
    )
    assert found.exit_code == 0, found.output
    content = json.loads(found.stdout)
    assert (content["train"], content["val"], content["test"], content["rounds"]) == (18, 6, 6, 1)
    assert 0 <= content["scores"]["personal"]["test"]["accuracy"] <= 1
    assert json.loads((tmp_path / "out" / "join.json").read_text()) == content
    coordinator, _, _ = load(folder / "run")
    model = load_file(tmp_path / "out" / "personal.safetensors")
    assert {name: tuple(value.shape) for name, value in model.items()} == {
        name: tuple(value.shape) for name, value in coordinator.state["parameters"].items()
    }


def test_what_is_kept_of_it(folder, tmp_path):
    mine = table(tmp_path / "mine.csv", 1, named=False)
    content = json.loads(fedkin("join", folder / "run", "--data", mine, "--json").stdout)
    coordinator, parts, at = load(folder / "run")
    facts = {
        "run": str(folder / "run"),
        "client": "mine",
        "method": parts.method.name,
        "seed": parts.spec.run.seed,
        "data_digest": parts.population.digest(),
        "architecture": "mlr",
        "after_round": at.trained,
        "model": str(folder / "run" / "joined" / "mine" / "personal.safetensors"),
        "place": None,
        "places": 1,
        "chosen_by": "validation",
        "said": [],
    }
    assert {name: content[name] for name in facts} == facts
    assert content["file"] == hashlib.sha256(bytes(mine.resolve())).hexdigest()
    model = sum(leaf.numel() for leaf in coordinator.state["parameters"].values())
    down, up = (content["scalars"][way]["parameters"] for way in ("down", "up"))
    assert down % model == up % model == 0
    assert down > up > 0
    assert content["bytes"]["down"] > 4 * down
    assert content["bytes"]["up"] > 4 * up


def test_not_even_the_encoding_knows_held_out_clients(folder):
    _, parts, _ = load(folder / "run")
    rows = np.concatenate(parts.population.train)
    np.testing.assert_allclose(parts.population.x[rows].mean(0), 0, atol=1e-5)
    everyone = np.concatenate([rows, *parts.held_out.train])
    assert abs(parts.population.x[everyone].mean(0)).max() > 1e-3


def test_rows_that_say_what_they_are_for(folder, tmp_path):
    mine = table(tmp_path / "mine.csv", 1, named=False)
    head, *rows = mine.read_text().splitlines()
    parts = ["train"] * 20 + ["val"] * 4 + ["test"] * 6
    mine.write_text(
        "\n".join(
            [f"{head},split", *(f"{row},{part}" for row, part in zip(rows, parts, strict=True))]
        )
    )
    content = json.loads(
        fedkin("join", folder / "run", "--data", mine, "--json", "--out", tmp_path / "out").stdout
    )
    assert (content["train"], content["val"], content["test"]) == (20, 4, 6)


def test_the_order_of_columns_does_not_matter(folder, tmp_path):
    mine = table(tmp_path / "mine.csv", 1, named=False)
    turned = tmp_path / "turned.csv"
    turned.write_text(
        "\n".join(",".join([*row.split(",")[::-1], "7"]) for row in mine.read_text().splitlines())
    )
    turned.write_text(turned.read_text().replace(",7", ",unused", 1))
    join = ("join", folder / "run", "--json", "--rounds", 1, "--data")
    found = [
        json.loads(fedkin(*join, path, "--out", tmp_path / path.stem).stdout)
        for path in (mine, turned)
    ]
    assert found[0]["scores"] == found[1]["scores"]


def test_a_held_out_client_by_its_name(folder):
    shown = json.loads(fedkin("show", folder / "run", "--json").stdout)["unseen"]
    assert [one["asked"] for one in shown["by_labels"]] == [10, None]
    (name,) = {one["client"] for one in shown["each"]}
    found = fedkin("join", folder / "run", "--client", name)
    assert found.exit_code == 0, found.output
    assert f"client  {name}: 18 training" in found.stdout
    assert (folder / "run" / "joined" / name / "personal.safetensors").is_file()
    assert "held out" in fedkin("show", folder / "run").stdout
    assert fedkin("report", folder / "run").exit_code == 0
    assert "Unseen clients" in (folder / "run" / "report.html").read_text()


def test_files_of_one_name_are_two_newcomers(folder, tmp_path):
    for clinic in "ab":
        (tmp_path / clinic).mkdir()
    first, second = (table(tmp_path / clinic / "data.csv", 1, named=False) for clinic in "ab")
    join, place = (
        ("join", folder / "run", "--rounds", 1, "--data"),
        folder / "run" / "joined" / "data",
    )
    assert fedkin(*join, first).exit_code == 0
    kept = {path.name: path.read_bytes() for path in place.iterdir()}
    another = (
        f"{place} holds the model of another newcomer called 'data': give this one a "
        "folder, --out DIR"
    )
    assert told(*join, second) == another
    assert {path.name: path.read_bytes() for path in place.iterdir()} == kept
    assert str(tmp_path).encode() not in kept["join.json"]  # where a file lies is nobody's business
    assert fedkin(*join, second, "--out", folder / "run" / "joined" / "b").exit_code == 0
    table(first, 1, per=60, named=False)  # the first one's has more rows by now
    assert fedkin(*join, tmp_path / "b" / ".." / "a" / "data.csv").exit_code == 0
    assert json.loads((place / "join.json").read_text())["train"] == 36


def test_nobody_is_put_into_a_run_or_over_another(folder, tmp_path):
    first, second = (table(tmp_path / f"{name}.csv", 1, named=False) for name in "ab")
    join = ("join", folder / "run", "--rounds", 0, "--data")
    into_a_run = told(*join, first, "--out", folder / "run")
    assert into_a_run == (
        f"{folder / 'run'} is the folder of a run: give the newcomer one of its own, --out DIR"
    )
    assert not (folder / "run" / "join.json").exists()
    for _ in range(2):  # the same one is replaced
        assert fedkin(*join, first, "--out", tmp_path / "o").exit_code == 0
    assert "another newcomer called 'a'" in told(*join, second, "--out", tmp_path / "o")


def test_a_file_called_as_a_held_out_client_is_another_newcomer(folder, tmp_path):
    name = json.loads(fedkin("show", folder / "run", "--json").stdout)["unseen"]["each"][0][
        "client"
    ]
    for _ in range(2):
        assert fedkin("join", folder / "run", "--client", name, "--rounds", 1).exit_code == 0
    mine = table(tmp_path / f"{name}.csv", 1, named=False)
    assert f"another newcomer called {name!r}" in told("join", folder / "run", "--data", mine)


def test_numbers_of_held_out_clients_are_told_as_errors_in_their_unit(tmp_path):
    rng = np.random.default_rng(1)
    rows = [
        f"c{k % 6},{x:.4f},{100 * x + 5 * rng.normal():.3f}"
        for k, x in enumerate(rng.normal(size=180))
    ]
    (tmp_path / "all.csv").write_text("\n".join(["who,u,paid", *rows]) + "\n")
    options = [
        "--data",
        tmp_path / "all.csv",
        "--split",
        "natural",
        "--set",
        "data.client=who",
        "--clients",
        "6",
    ]
    options += [
        "--set",
        "data.label=paid",
        "--model",
        "mlr",
        "--holdout-clients",
        "0.2",
        "--set",
        "train.lr=0.1",
    ]
    ran(tmp_path / "run", *options)
    shown = fedkin("show", tmp_path / "run").stdout
    assert "Test RMSE of clients that were not in the run" in shown
    found = json.loads(fedkin("show", tmp_path / "run", "--json").stdout)["unseen"]
    (one,) = (each for each in found["each"] if each["asked"] is None)
    assert found["by_labels"][-1]["rmse"]["mean"] == pytest.approx(
        one["measures"]["personal"]["test"]["rmse"]
    )
    assert found["by_labels"][-1]["accuracy"]["mean"] is None
    assert fedkin("report", tmp_path / "run").exit_code == 0
    assert (
        "Unseen clients: RMSE against labelled samples"
        in (tmp_path / "run" / "report.html").read_text()
    )


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"labels": "abz"}, "label 'z' is none of the run's classes"),
        ({"columns": "uvwxz"}, "lacks the column 'y'"),
        ({"named": True, "clients": 2}, "holds 2 clients"),
    ],
)
def test_what_does_not_fit(how, reason, folder, tmp_path):
    mine = table(tmp_path / "mine.csv", **{"clients": 1, "named": False, **how})
    assert reason in told("join", folder / "run", "--data", mine)


def test_mistakes(folder, tmp_path):
    assert "held-out client 'c9'" in told("join", folder / "run", "--client", "c9")
    assert "--data" in told("join", folder / "run")
    none = tmp_path / "none.csv"
    assert "none.csv does not exist: check the path" in told("join", folder / "run", "--data", none)
    assert "leaves none" in told("run", "--clients", "3", "--holdout-clients", "0.9")


@pytest.mark.parametrize(
    ("file", "place", "named"),
    [
        ("mine", None, "mine"),
        ("c0", None, "joined/c0"),  # a client of the run has that name too
        ("mine", "there", "there"),
    ],
)
def test_the_next_command_names_the_newcomer_as_the_pages_do(folder, tmp_path, file, place, named):
    mine = table(tmp_path / f"{file}.csv", 1, named=False)
    run = tmp_path / "run"
    shutil.copytree(folder / "run", run, ignore=shutil.ignore_patterns("joined"))
    out = () if place is None else ("--out", run / place)
    done = fedkin("join", run, "--data", mine, "--rounds", 1, *out)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1].endswith(f"{run} --client {named} --data FILE")


def test_the_headline_is_the_run_s_own_measure() -> None:
    """And the loss, which is always known, where no split has the labels for it."""
    outcome = {
        "client": "north",
        "train": 30,
        "val": 9,
        "test": 0,
        "rounds": 1,
        "seconds": 2.0,
        "measure": "auc",
        "chosen_by": "given",
        "place": None,
        "places": 1,
        "model": "model.msgpack",
        "scores": {"personal": {"val": {"loss": 0.3, "accuracy": 0.9}}},
        "measures": {"personal": {"val": {"auc": 0.75, "average_precision": 0.5}}},
        "notes": {"tuned_epochs": 15},
    }
    shown = {line.split()[0]: line for line in lines(outcome)}
    assert shown["result"] == "result  validation AUC 0.7500"
    assert shown["also"] == "also    validation average precision 0.5000"
    assert shown["notes"] == "notes   tuned epochs 15"
    outcome["measures"] = {"personal": {"val": {"auc": None}}}
    assert lines(outcome)[0] == "result  validation loss 0.3000"
