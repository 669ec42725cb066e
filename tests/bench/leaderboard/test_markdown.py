"""The leaderboard's tables in Markdown."""

import re

from fedkin.bench.leaderboard.markdown import markdown, not_run, notes, own_named
from tests.bench.made_rows import OWN, made_rows, with_own_method
from tests.bench.test_verify import a_row

ROWS = made_rows()


def test_the_table_in_markdown_is_in_the_order_of_ranks() -> None:
    lines = markdown(ROWS).splitlines()
    assert lines[0].startswith("| method | rank, equal rounds | rank, equal bytes | ")
    assert [line.split(" | ")[0] for line in lines[2:4]] == ["| apfl", "| ditto"]
    assert lines[-1].startswith("| centralized")
    assert all(line.count("|") == lines[0].count("|") for line in lines)


def test_a_sentence_says_whether_mean_ranks_may_be_chance() -> None:
    said = " ".join(notes(ROWS).split())
    ranks = "Mean ranks at equal rounds are of 5 methods over 3 federations. Friedman: the methods "
    assert re.search(re.escape(ranks) + r"differ \(p = 0\.0\d+\)\. ", said)
    alike = [row.model_copy(update={"mean": 0.5}) for row in ROWS if row.mean is not None]
    assert " ".join(notes(alike).split()).count("the methods may all be alike (p = 1).") == 3
    alone = [row for row in ROWS if row.federation == ROWS[0].federation]
    one = " ".join(notes(alone).split())
    assert one.startswith("Bytes and compute: ")
    assert "There are no mean ranks, which take two methods or more on two federations" in one
    assert markdown(alone).startswith("| method | bytes |")  # no column of dashes
    assert "no mean ranks" not in said
    assert notes([]) == ""


def test_costs_are_beside_fedavg_in_as_many_rounds() -> None:
    """Four times in one federation and once in the other: twice by the geometric mean."""
    rows = [
        a_row(
            id=f"{name}{federation}",
            method=name,
            setting=federation,
            bytes_up=sent,
            bytes_down=0,
            flops=flops,
            budgets=("rounds",),
        )
        for federation, dear in (("one", 4.0), ("two", 1.0))
        for name, sent, flops in (
            ("fedavg", 100, 10.0),
            ("ditto", 50, 10.0 * dear),
            ("local", 0, 10.0),
            ("fedmd", 100, 20.0),
        )
    ]
    lines = markdown(rows).splitlines()
    at = [cell.strip() for cell in lines[0].split("|")].index("bytes")
    found = {
        cells[1].strip(): [cell.strip() for cell in cells[at : at + 2]]
        for cells in (line.split("|") for line in lines[2:])
    }
    assert found == {
        "fedavg": ["1 ×", "1 ×"],
        "ditto": ["0.5 ×", "2 ×"],
        "local": ["0 ×", "1 ×"],
        "fedmd°": ["1 ×", "2 ×"],
    }
    assert "° learns from a public set" in notes(rows)
    assert "°" not in notes([row for row in rows if row.method != "fedmd"])


def test_rows_of_different_processors_are_named() -> None:
    one, other = ({"processor": name} for name in ("one|", "other"))
    rows = [a_row(id="a", machine=one), a_row(id="b", method="fedavg", machine=other)]
    said = " ".join(notes(rows).split())
    assert "rows of 1 federation are of different processors (one\\|, other), whose" in said
    assert "processors" not in notes([rows[0], a_row(id="c", method="fedavg", machine=one)])


def test_one_federation_ranks_nobody_and_the_best_score_comes_first() -> None:
    one = [row for row in ROWS if row.federation == ROWS[0].federation]
    lines = [line.strip("| ").split(" | ") for line in markdown(one).splitlines()[2:]]
    assert "rank" not in markdown(one)
    scores = [float(cells[-1].removesuffix(" %")) for cells in lines]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) > 2


def test_the_table_in_markdown_marks_it_too() -> None:
    rows = with_own_method()
    assert any(line.startswith(f"| **▲ {OWN}** | ") for line in markdown(rows).splitlines())
    assert own_named(rows) == f"▲ marks {OWN}, which is not one of fedkin's methods.\n"
    assert own_named(ROWS) == ""
    assert "▲" not in markdown(ROWS)


def test_who_was_not_run_stands_under_the_table() -> None:
    assert "- fedbn on UCI HAR, 10 subjects: no &lt;batch> norm" in not_run(ROWS)
    assert not_run(ROWS[:4]) == ""
