"""Data read and looked at in one pass: a fault that keeps them from being read is mended."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.quality.problem import Problem
from fedkin.doctor.data_checks import check_data, data_notes, with_fixes
from fedkin.runs.spec import parse

ROWS = [f"{'abc'[k % 3]},{(7 * k) % 31},{k % 5}.5,{(k // 3) % 2}" for k in range(90)]


def table(folder, change=lambda rows: rows, head="site,age,dose,label"):
    (folder / "t.csv").write_text("\n".join([head, *change(list(ROWS))]) + "\n")
    return parse({"data": {"name": str(folder / "t.csv"), "client": "site"}})[0]


def test_what_is_fine_stays_as_it_is(tmp_path) -> None:
    spec = table(tmp_path)
    found = check_data(spec)
    assert (found.spec, found.faults) == (spec, ())
    assert found.found["problems"] == []


def test_a_fault_of_reading_is_mended_and_told_first(tmp_path) -> None:
    def change(rows):
        rows[4] = "b,old,1.5,1"
        rows[9] = "a,3,much,0"
        return rows

    found = check_data(table(tmp_path, change))
    assert [fault.columns for fault in found.faults] == [("age",), ("dose",)]
    assert found.spec.data.options["missing"] == {"age": ["old"], "dose": ["much"]}
    assert [one["columns"] for one in found.found["problems"]][:2] == [["age"], ["dose"]]


def test_what_has_no_fix_is_an_error_and_names_those_that_have(tmp_path) -> None:
    with pytest.raises(FedkinError, match=r"gone\.csv"):
        check_data(parse({"data": {"name": str(tmp_path / "gone.csv")}})[0])
    spec = table(tmp_path, lambda rows: [*rows[:5], "a,old,1.5,1", *rows[6:]])
    spec = spec.model_copy(update={"data": spec.data.model_copy(update={"label": "gone"})})
    with pytest.raises(FedkinError, match="'gone'") as told:
        check_data(spec)
    assert "\n" not in str(told.value)


def test_of_too_many_faults_the_first_are_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("fedkin.doctor.data_checks.MOST", 1)
    spec = table(tmp_path, lambda rows: ["a,old,1.5,1", *rows, "b,3,1.5,"])
    with pytest.raises(FedkinError, match=r"more than 1 faults .* the first are: .* is empty"):
        check_data(spec)


def test_fixes_stand_beside_what_was_said() -> None:
    spec = parse({"data": {"name": "t.csv", "drop": ["id"], "missing": {"age": ["?"]}}})[0]
    fixes = [
        Problem("a", "x", "y", {"data.drop": ["leak"]}),
        Problem("b", "x", "y", {"data.missing": {"age": ["<5"], "dose": [-1]}}),
        Problem("c", "x", "y", {"data.duplicates": "drop"}),
    ]
    found = with_fixes(spec, fixes).data.options
    assert list(found["drop"]) == ["id", "leak"]
    assert found["missing"] == {"age": ["?", "<5"], "dose": [-1]}
    assert found["duplicates"] == "drop"
    assert with_fixes(spec, []) == spec


def test_leaks_are_named_by_column(tmp_path) -> None:
    leaking = [f"{row},{100 + int(row[-1])}" for row in ROWS]
    spec = table(tmp_path, lambda rows: leaking, "site,age,dose,label,after")
    (said,) = data_notes(spec)
    assert "'after'" in said
    assert data_notes(table(tmp_path)) == []
    assert data_notes(parse({"data": {"name": "digits"}})[0]) == []


def test_a_run_says_that_labels_are_of_one_class(tmp_path) -> None:
    spec = table(tmp_path, lambda rows: [f"{row[:-1]}1" for row in rows])
    assert data_notes(spec) == ["all samples are of one class: there is nothing to learn"]
    np.savez(tmp_path / "a.npz", x=np.eye(9), y=np.zeros(9, dtype=int))
    spec = parse({"data": {"name": str(tmp_path / "a.npz")}})[0]
    assert data_notes(spec) == ["all samples are of one class: there is nothing to learn"]


def test_a_run_says_that_clients_may_be_one(tmp_path) -> None:
    spec = table(tmp_path, lambda rows: [f" {rows[0]}", *rows[1:]])
    (said,) = data_notes(spec)
    assert said.startswith("clients that differ by little are taken for different ones: ' a'")
    assert said.endswith('(data.unify=["site"])')
    (fix,) = [one["fix"] for one in check_data(spec).found["problems"] if one["kind"] == "spelling"]
    mended = parse({"data": spec.data.model_dump(exclude_unset=True) | {"unify": ["site"]}})[0]
    assert fix == {"data.unify": ["site"]}
    assert data_notes(mended) == []


def test_a_run_says_that_classes_of_a_table_may_be_one(tmp_path) -> None:
    def words(rows):
        labels = ("alive", "died", "ALIVE ")
        return [
            f"{row[:-1]}{labels[0 if k % 5 else 2] if k % 2 else 'died'}"
            for k, row in enumerate(rows)
        ]

    (said,) = data_notes(table(tmp_path, words))
    assert said.startswith("labels that differ by little are taken for different ones: 'ALIVE '")


def test_a_run_says_that_counts_are_taken_for_classes_unless_somebody_said_so(tmp_path) -> None:
    def counts(rows):
        return [f"{row[:-1]}{k // 7 % 5}" for k, row in enumerate(rows)]

    spec = table(tmp_path, counts)
    (said,) = data_notes(spec)
    assert said.startswith("the labels are 5 whole numbers, 0 to 4, each taken for a class")
    assert said in [one["sentence"] for one in check_data(spec).found["problems"]]
    for task in ("classification", "regression"):
        spec = parse({"data": spec.data.model_dump(exclude_unset=True) | {"task": task}})[0]
        assert not any("whole numbers" in one for one in data_notes(spec))
        assert not any(one["kind"] == "amounts" for one in check_data(spec).found["problems"])


def test_a_run_says_that_dates_are_taken_for_categories(tmp_path) -> None:
    dated = [f"{row[:-1]}{k % 28 + 1:02}.03.2024,{row[-1]}" for k, row in enumerate(ROWS)]
    (said,) = data_notes(table(tmp_path, lambda rows: dated, "site,age,dose,seen,label"))
    assert said.startswith("column 'seen' holds dates ('01.03.2024'): each is taken for a category")


def test_a_run_says_that_a_site_has_other_codes_for_labels(tmp_path) -> None:
    def coded(rows):
        return [row[:-1] + (row[-1] if row[0] == "b" else "yn"[int(row[-1])]) for row in rows]

    spec = table(tmp_path, coded)
    (said,) = data_notes(spec)
    assert said.startswith(
        "b shares no class with 2 clients whose codes are alike ('0', '1'): are these other"
    )
    assert said in [one["sentence"] for one in check_data(spec).found["problems"]]
