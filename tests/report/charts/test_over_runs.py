"""Lines of many runs."""

from fedkin.report.charts.over_runs import LABEL, over


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
    gap = abs(ends[0]["value"] - ends[1]["value"])
    assert gap >= 0.999 * 0.4 * LABEL / found.spec["height"]  # both lines end at 0.5
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


def test_seconds_carry_their_caveat() -> None:
    found = over(LINES, "seconds", "rmse")
    assert "Seconds compare only where" in found.note
    assert found.name == "over-seconds"
    assert max(one["seconds"] for one in found.spec["datasets"]["rows"]) == 6.0
