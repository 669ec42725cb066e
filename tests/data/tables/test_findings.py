"""What ``fedkin data check`` tells: counted on small tables whose answers are known."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from fedkin.core.rng import Key
from fedkin.data.population_builder import build
from fedkin.data.source import classified
from fedkin.data.sources import load
from fedkin.data.tables.client_column import likely_clients
from fedkin.data.tables.duplicate_rows import same_rows
from fedkin.data.tables.findings import findings
from fedkin.data.tables.similar_names import alike
from tests.cli.command import fedkin, told


def found(tmp_path: Path, content: str, **options: Any) -> dict[str, Any]:
    (tmp_path / "t.csv").write_text(content)
    return findings(load(str(tmp_path / "t.csv"), **options))


def kinds(found: dict[str, Any]) -> set[str]:
    """The kinds of its problems."""
    return {problem["kind"] for problem in found["problems"]}


def sentences(found: dict[str, Any]) -> list[str]:
    """Its problems, each in one sentence."""
    return [problem["sentence"] for problem in found["problems"]]


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


def test_repeated_samples_are_counted_where_they_lie(tmp_path: Path) -> None:
    rows = "a,1,0\na,1,0\na,1,1\nb,1,0\nb,2,0\nb,3,1\n"
    told = found(tmp_path, "site,n,label\n" + rows, client="site")
    assert told["duplicates"] == {"all": 2, "within_clients": 1, "across_clients": 1}
    assert "duplicates" not in kinds(told), "rows of so few values repeat by chance"


def test_rows_of_many_values_that_repeat_are_a_fault_with_its_fix(tmp_path: Path) -> None:
    rows = [f"{'ab'[i % 2]},{i * 37 % 101},{i * 53 % 97},{i % 3 % 2}" for i in range(90)]
    doubled = [*rows, rows[4], rows[8], "b" + rows[12][1:]]
    (tmp_path / "t.csv").write_text("\n".join(["site,n,m,label", *doubled]))
    problems = findings(load(str(tmp_path / "t.csv"), client="site"))["problems"]
    fixes = [one["fix"] for one in problems if one["kind"] == "duplicates"]
    assert fixes == [{"data.duplicates": "drop"}, {"split.group": "duplicates"}]
    mended = load(str(tmp_path / "t.csv"), client="site", duplicates="drop")
    assert len(mended.x) == 90
    assert "3 rows repeat an earlier one and are left out" in mended.said


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


def test_equal_rows_have_one_number_whatever_their_type() -> None:
    rng = np.random.default_rng(0)
    for x in (
        rng.integers(0, 2, (400, 9), dtype=np.uint8),
        rng.integers(0, 2, (400, 9)).astype(np.float32),
    ):
        y = rng.integers(0, 2, 400)
        both = np.concatenate([x.astype(np.float64), y[:, None]], axis=1)
        expected = np.unique(both, axis=0, return_inverse=True)[1].ravel()
        pairs = np.unique(np.stack([same_rows(x, y), expected]), axis=1)
        assert pairs.shape[1] == len(np.unique(expected)) == len(np.unique(pairs[0]))


def test_columns_that_tell_nothing_and_clients_too_small_are_named(tmp_path: Path) -> None:
    rows = "\n".join(f"{'ab'[i > 1]},{i},id{i},5,,{i % 2}" for i in range(30))
    problems = sentences(found(tmp_path, "site,n,id,five,nothing,label\n" + rows, client="site"))
    for words in (
        "'id' holds 30 different words",
        "'five' holds one value",
        "'nothing' is empty",
        "fewer than 3 samples",
    ):
        assert any(words in text for text in problems), (words, problems)


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


def test_spellings_of_one_thing_are_told(tmp_path: Path) -> None:
    rows = [
        f"{('H01', 'h01', 'H 2', 'H-02')[i % 4]},{i},{'fF'[i % 2]},{('yes', ' yes', 'no')[i % 3]}"
        for i in range(24)
    ]
    told = sentences(found(tmp_path, "\n".join(["site,n,sex,label", *rows]), client="site"))
    assert any(
        "labels that differ" in text and "' yes' and 'yes'" in text and "data.unify" in text
        for text in told
    )
    assert any(
        "clients that differ" in text and "'H 2' and 'H-02'; 'H01' and 'h01'" in text
        for text in told
    )
    assert any(
        "values of column 'sex' that differ" in text and "'F' and 'f'" in text for text in told
    )


def test_what_is_different_is_not_told_to_be_alike() -> None:
    assert alike(["A-", "A+", "1.05", "1.5", "0", "10", "-1", "1", "ab", "a b"]) == []
    assert alike(["site 1", "site_01", "007", "7"]) == [["site 1", "site_01"], ["007", "7"]]


def test_a_number_for_every_row_is_an_identifier(tmp_path: Path) -> None:
    rows = [
        f"{'ab'[i % 2]},{1000 - i},{123456780 + i},{i * 7 % 30},{i / 3},{i % 2}" for i in range(60)
    ]
    told = sentences(
        found(tmp_path, "\n".join(["site,id,mrn,age,size,label", *rows]), client="site")
    )
    assert [text.split("'")[1] for text in told if "as identifiers do" in text] == ["id", "mrn"]


def test_dates_that_become_categories_are_told(tmp_path: Path) -> None:
    def row(i: int) -> str:
        iso, dotted, clock = (
            f"2024-0{i % 9 + 1}-{i % 27 + 1:02}",
            f"{i % 27 + 1}.{i % 9 + 1}.24",
            f"{i % 24}:30",
        )
        return (
            f"{'ab'[i % 2]},{iso},{dotted},{iso} "
            f"{clock},{iso if i % 2 else 'never'},{i % 5}-{i % 3},{i % 2}"
        )

    told = sentences(
        found(tmp_path, "\n".join(["site,iso,dotted,clock,some,code,label", *map(row, range(600))]))
    )
    dates = [text for text in told if "dates" in text]
    assert [text.split("'")[1] for text in dates] == ["iso", "dotted", "clock"]
    assert "holds dates ('2024-01-01'): each is taken for a category" in dates[0]
    assert 'data.drop=["iso"]' in dates[0]


def test_labels_that_are_rather_amounts_are_told(tmp_path: Path) -> None:
    rows = [f"{'ab'[i % 2]},{i % 9},{i * 37 % 30}" for i in range(900)]
    told = sentences(found(tmp_path, "\n".join(["site,n,label", *rows]), client="site"))
    assert any(
        "30 whole numbers, 0 to 29, each taken for a class" in text and "task=regression" in text
        for text in told
    )
    rows = [f"{'ab'[i % 2]},{i % 9},c{i * 37 % 30}" for i in range(900)]
    assert not any(
        "amounts" in text for text in sentences(found(tmp_path, "\n".join(["site,n,label", *rows])))
    )


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


LIKELY = ["site", "Hospital", "user_id", "clientId", "patient no.", "Subjects"]


def test_a_forgotten_column_of_clients_is_asked_for(tmp_path: Path) -> None:
    for name in LIKELY:
        rows = [f"{i % 5},{i / 7},{i % 2}" for i in range(60)]
        (tmp_path / "t.csv").write_text("\n".join([f"{name},n,label", *rows]))
        assert likely_clients(load(str(tmp_path / "t.csv"))) == {name: 5}
    sentence = told(
        "run", "--data", tmp_path / "t.csv", "--method", "local", "--out", tmp_path / "run"
    )
    assert (
        "column 'Subjects' (5 values) looks like its clients: take them with --set "
        "'data.client=Subjects'" in sentence
    )
    assert not (tmp_path / "run").exists()
    checked = fedkin("data", "check", tmp_path / "t.csv").stdout
    assert "column 'Subjects' looks like it (5 values)" in checked
    assert "--client Subjects" in checked
    small = [
        "--engine",
        "inprocess",
        "--rounds",
        "1",
        "--set",
        "train.steps=1",
        "--method",
        "local",
        "--clients",
        "3",
    ]
    done = fedkin(
        "run", "--data", tmp_path / "t.csv", "--split", "iid", *small, "--out", tmp_path / "run"
    )
    assert done.exit_code == 0, done.output
    assert fedkin("resume", tmp_path / "run").exit_code == 0


def test_columns_that_are_no_clients_are_not_asked_for(tmp_path: Path) -> None:
    rows = [f"{i},{i % 5 + 0.5},{i % 5},{i % 5},{i % 2}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["patient,site,site temperature,ward,label", *rows]))
    assert likely_clients(load(str(tmp_path / "t.csv"))) == {}


def test_natural_clients_that_were_not_drawn_are_told(tmp_path: Path) -> None:
    rows = [f"{'abc'[i % 3]},{i},{i % 2}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["site,n,label", *rows]))
    source = load(str(tmp_path / "t.csv"), client="site")
    assert build(source, "natural", 2, Key(0)).said == (
        "2 of the 3 natural clients were drawn, as run.clients asks; the other 1 holds 20 rows",
    )
    assert build(source, "natural", 3, Key(0)).said == ()
