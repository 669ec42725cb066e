"""The leaderboard as a table for a paper."""

from fedkin.bench.leaderboard.latex import latex
from tests.bench.made_rows import made_rows
from tests.bench.test_verify import a_row


def test_a_row_a_method_has_ranks_and_scores_over_seeds() -> None:
    lines = latex(made_rows(), ["a remark"]).splitlines()
    rows = [line.strip().split(" & ") for line in lines if " & " in line]
    assert rows[0][:4] == [
        "method",
        "rank, equal rounds",
        "rank, equal bytes",
        "rank, equal compute",
    ]
    assert [row[0] for row in rows[1:3]] == ["apfl", "ditto"]
    assert rows[-1][0] == "centralized"
    assert len({len(row) for row in rows}) == 1
    assert lines[-1] == "% a remark"


def test_a_score_is_the_mean_over_seeds_and_their_standard_deviation() -> None:
    """0.5 and 0.6: 55 % ± 7.07; one seed has no deviation."""
    rows = [
        a_row(id=f"{name}{seed}", method=name, seed=seed, mean=mean, budgets=("rounds",))
        for name, means in (("local", (0.5, 0.6)), ("ditto", (0.5,)))
        for seed, mean in enumerate(means)
    ]
    cells = [line for line in latex(rows[:2], []).splitlines() if line.strip().startswith("local")]
    assert r"55.00 \% ± 7.07" in cells[0].replace("$\\pm$", "±").replace("~", " ")
    cells = [line for line in latex(rows[:1], []).splitlines() if line.strip().startswith("local")]
    assert "±" not in cells[0]
    assert r"50.00 \%" in cells[0].replace("~", " ")
