"""The specification with every fix, and its reason beside it."""

import tomllib

from fedkin.data.quality.problem import Problem
from fedkin.doctor.fixed_spec import WIDTH, fixed_spec
from fedkin.runs.spec import parse


def asked(**data):
    return parse({"data": {"name": "t.csv", **data}, "run": {"rounds": 7}})[0]


def written(spec, *problems, **more):
    return fixed_spec(spec, [one.plain() for one in problems], "fedkin data check t.csv", **more)


def test_sure_fixes_are_made_and_others_stand_behind_a_mark() -> None:
    text = written(
        asked(drop=["id"]),
        Problem("leak", "'after' tells the label", "no model has it", {"data.drop": ["after"]}),
        Problem("date", "'day' is a date", "it may", {"data.drop": ["day"]}, sure=False),
    )
    content = tomllib.loads(text)
    assert content["data"]["drop"] == ["id", "after"]
    assert content["run"]["rounds"] == 7
    assert '    # "day",' in text.splitlines()
    lines = text.splitlines()
    assert (
        lines.index('    "after",')
        == lines.index("    # 'after' tells the label: no model has it.") + 1
    )
    assert "2 found: 1 fixed below, 1 proposed behind a #" in text


def test_marks_are_a_table_of_columns() -> None:
    first = Problem("a", "x", "y", {"data.missing": {"lab value": ["<5"]}})
    second = Problem("b", "x", "y", {"data.missing": {"dose": [-1]}}, sure=False)
    text = written(asked(missing={"age": ["?"]}), first, second)
    assert tomllib.loads(text)["data"]["missing"] == {"age": ["?"], "lab value": ["<5"]}
    assert "# dose = [-1]" in text


def test_a_list_of_marks_is_kept_beside_those_of_a_column() -> None:
    problems = [Problem("a", "x", "y", {"data.missing": {"age": [999]}}).plain()]
    text = fixed_spec(asked(missing=["<5"]), problems, "typed", columns=["age", "crp"])
    assert tomllib.loads(text)["data"]["missing"] == {"age": ["<5", 999], "crp": ["<5"]}
    twice = fixed_spec(asked(missing={"age": ["?"]}), problems, "typed")
    assert tomllib.loads(twice)["data"]["missing"] == {"age": ["?", 999]}


def test_numbers_that_belong_together_are_one_value() -> None:
    text = written(asked(), Problem("s", "x", "y", {"data.size": [16, 16]}))
    assert tomllib.loads(text)["data"]["size"] == [16, 16]


def test_a_single_value_that_is_only_proposed_leaves_what_was_asked() -> None:
    unsure = Problem("s", "x", "y", {"data.separator": ";"}, sure=False)
    text = written(asked(separator=","), unsure)
    assert tomllib.loads(text)["data"]["separator"] == ","
    assert '# separator = ";"' in text
    sure = unsure._replace(sure=True)
    assert tomllib.loads(written(asked(separator=","), sure))["data"]["separator"] == ";"


def test_what_no_key_mends_is_said_at_the_top() -> None:
    text = written(asked(), Problem("gap", "row 7 has no label", "write one"))
    assert "#   " not in text.split("[data]")[1]
    assert "  # By hand: row 7 has no label: write one." in text
    assert "Nothing was found that needs fixing." in written(asked())


def test_no_cell_of_a_table_ends_a_comment() -> None:
    evil = Problem("a", 'column "x\n[run]\nrounds = 1\x1b"', "y" * 300, {"data.drop": ["x"]})
    text = written(asked(), evil, reasons={"data": "because " * 30})
    assert tomllib.loads(text)["run"]["rounds"] == 7
    assert max(map(len, text.splitlines())) <= max(WIDTH, 304)
    assert "\x1b" not in text
    assert text.index("# because") > text.index("[data]")


def test_transforms_are_kept() -> None:
    spec = parse({"transforms": [{"name": "norm_bound", "bound": 2.0}, {"name": "median"}]})[0]
    read = tomllib.loads(written(spec))
    assert [one["name"] for one in read["transforms"]] == ["norm_bound", "median"]
