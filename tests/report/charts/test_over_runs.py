"""Lines of many runs."""

from fedkin.report.charts.end_labels import LINE
from fedkin.report.charts.over_runs import over


def row(
    run: str, at: int, value: float, state: str = "finished", like: str = ""
) -> dict[str, object]:
    told = {
        "end": False,
        "run": run,
        "like": like or run,
        "method": "m",
        "state": state,
        "finish": False,
    }
    return {**told, "round": at, "seconds": 2.0 * at, "value": value}


LINES = [row("b", 1, 0.1), row("b", 2, 0.5), row("a", 1, 0.2), row("a", 3, 0.5, "stopped")]


def test_names_stand_at_the_ends_one_below_the_other() -> None:
    found = over(LINES, "round", "accuracy")
    ends = [one for one in found.spec["datasets"]["rows"] if one["end"]]
    assert {one["text"] for one in ends} == {"b", "a (unfinished)"}
    assert {one["round"] for one in ends} == {3}
    low, high = found.spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    gap = abs(ends[0]["value"] - ends[1]["value"]) / (high - low)
    assert gap >= 0.999 * LINE / found.spec["height"]  # both lines end at 0.5
    assert low < 0.1
    assert high < 0.6  # names do not stretch the axis
    assert found.rows == len(LINES) + 2


def test_seeds_of_one_experiment_share_a_colour_and_keep_their_lines() -> None:
    seeds = [row(f"b{seed}", at, 0.1 * at, like="b0") for seed in (0, 1) for at in (1, 2)]
    found = over([*seeds, row("a", 1, 0.2)], "round", "accuracy")
    lines = found.spec["layer"][0]["encoding"]
    assert lines["color"]["scale"]["domain"] == ["b0", "a"]
    assert lines["detail"]["field"] == "run"
    assert found.note.endswith("Runs that differ only in seed have one colour.")
    assert "one colour" not in over(LINES, "round", "accuracy").note


def test_the_finish_is_named_where_it_is_drawn() -> None:
    found = over([*LINES, {**row("b", 3, 0.6), "finish": True}], "round", "accuracy")
    assert "The last point is the finish" in found.note
    assert "the finish" not in over(LINES, "round", "accuracy").note


def test_means_over_seeds_have_bands_and_say_so() -> None:
    means = [{**one, "low": 0.0, "high": 0.9, "seeds": 3} for one in LINES[:2]]
    found = over([*means, row("a", 1, 0.2)], "round", "accuracy", " More.")
    band, lines, _ = found.spec["layer"]
    assert band["mark"]["type"] == "area"
    assert (band["encoding"]["y"]["field"], band["encoding"]["y2"]["field"]) == ("low", "high")
    assert lines["encoding"]["y"]["title"] == "mean test accuracy ± sd over seeds"
    assert lines["encoding"]["y"]["scale"]["domain"][1] > 0.9
    assert "means over 3 seeds; bands: ± their sample standard deviation. A line without" in (
        found.note
    )
    assert found.note.endswith(" More.")


def test_a_long_name_is_whole_and_stands_in_lines() -> None:
    name = "a method, with a setting = 0.000001, and another one = 100"
    found = over([row(name, 1, 0.2), row(name, 2, 0.4)], "round", "accuracy")
    (text,) = (one["text"] for one in found.spec["datasets"]["rows"] if one["end"])
    assert text.replace(",\n", ", ") == name
    assert "\n" in text
    assert "padding" not in found.spec  # the room beside the lines is as wide as the names


def test_seconds_carry_their_caveat() -> None:
    found = over(LINES, "seconds", "rmse")
    assert "Seconds compare only where" in found.note
    assert found.name == "over-seconds"
    assert max(one["seconds"] for one in found.spec["datasets"]["rows"]) == 6.0
