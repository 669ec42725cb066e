"""What ``fedkin data check`` tells: counted on small tables whose answers are known."""

import json
from pathlib import Path

import numpy as np

from fedkin.core.rng import Key
from fedkin.data.population_builder import build
from fedkin.data.source import classified
from fedkin.data.sources import load
from fedkin.data.tables.findings import findings
from fedkin.runtime.progress import progress_to
from tests.cli.command import fedkin, told
from tests.data.tables.findings_examples import found, sentences


def test_clients_classes_and_columns(tmp_path: Path) -> None:
    rows = "a,1,x,0\na,2,x,0\na,3,y,1\nb,4,,1\nb,5,x,1\nb,6,y,1\nb,7,y,1\n"
    told = found(tmp_path, "site,n,c,label\n" + rows, client="site")
    assert told["samples"] == 7
    assert told["classes"] == [{"name": "0", "samples": 2}, {"name": "1", "samples": 5}]
    assert told["columns"] == [
        {"name": "n", "kind": "number", "missing": 0, "least": 1.0, "most": 7.0},
        {"name": "c", "kind": "category", "missing": 1, "values": 2},
    ]
    clients = told["clients"]
    assert (clients["count"], clients["smallest"], clients["largest"], clients["one_class"]) == (
        2,
        3,
        4,
        1,
    )
    np.testing.assert_allclose(clients["label_distance"], (8 / 21 + 2 / 7) / 2)
    assert [text for text in sentences(told) if "one class only" in text] == [
        "1 of 2 clients hold one class only (b): any guess of it is right there"
    ]


def test_test_samples_that_are_training_samples_are_counted() -> None:
    x = np.arange(10, dtype=np.uint8).reshape(5, 2)
    x[4] = x[0]
    source = classified(
        "s", x, np.zeros(5, dtype=np.int64), where="s", official_test=np.arange(5) >= 3
    )
    assert findings(source)["duplicates"]["test_in_train"] == 1


def test_equal_samples_of_a_client_stay_in_one_split(tmp_path: Path) -> None:
    rows = [f"{'ab'[i % 2]},{i // 2 % 10},{i % 2}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["site,n,label", *rows]))
    population = build(
        load(str(tmp_path / "t.csv"), client="site"), "natural", None, Key(0), group="duplicates"
    )
    for client in range(2):
        parts = [
            set(population.part(client, split)[0][:, 0].tolist())
            for split in ("train", "val", "test")
        ]
        assert sum(map(len, parts)) == len(set.union(*parts))


def test_the_command_says_what_to_type_next(tmp_path: Path) -> None:
    rows = "\n".join(f"{'abc'[i % 3]},{i * i % 83},{i % 2}" for i in range(90))
    (tmp_path / "t.csv").write_text("site,n,y\n" + rows)
    done = fedkin("data", "check", tmp_path / "t.csv", "--client", "site", "--label", "y")
    assert done.exit_code == 0, done.output
    for words in (
        "90 samples, 1 column",
        "3 (a, b, c)",
        "label mix",
        "none was found",
        "fedkin run --data",
    ):
        assert words in done.stdout, (words, done.stdout)
    told_as_json = json.loads(
        fedkin("data", "check", f"{tmp_path / 't.csv'}:client=site,label=y", "--json").stdout
    )
    assert told_as_json["clients"]["count"] == 3
    assert "no label column 'label'" in told("data", "check", tmp_path / "t.csv")
    assert "no features" not in fedkin("data", "check", "digits").stdout


def test_a_folder_says_what_it_leaves_out(tmp_path: Path) -> None:
    folder = tmp_path / "sites"
    folder.mkdir()
    for name in "ab":
        (folder / f"{name}.csv").write_text(
            "n,label\n" + "".join(f"{i},{i % 2}\n" for i in range(9))
        )
    (folder / "c.csv").write_bytes(b"")
    (folder / "d.csv").write_text("n,label\n")
    (folder / "e.xlsx").write_bytes(b"PK")
    assert findings(load(f"{folder}/"))["said"] == [
        "2 of 4 files have no rows, and so are no clients: c.csv (0 bytes: was it copied "
        "whole?), d.csv",
        f"what is no table in {folder} is left out: e.xlsx",
    ]


def test_natural_clients_that_were_not_drawn_are_told(tmp_path: Path) -> None:
    rows = [f"{'abc'[i % 3]},{i},{i % 2}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["site,n,label", *rows]))
    source = load(str(tmp_path / "t.csv"), client="site")
    assert build(source, "natural", 2, Key(0)).said == (
        "2 of the 3 natural clients were drawn, as run.clients asks; the other 1 holds 20 rows",
    )
    assert build(source, "natural", 3, Key(0)).said == ()


def test_looking_says_how_far_it_is(tmp_path: Path) -> None:
    said: list[tuple[str, int, int]] = []
    with progress_to(lambda *words: said.append(words)):
        found(tmp_path, "site,n,label\na,1,0\nb,2,1\n", client="site")
    assert said[0][:2] == ("looking for faults", 0)
    assert said[-1] == ("looking for faults", said[0][2], said[0][2])
    assert said[0][2] > 5
