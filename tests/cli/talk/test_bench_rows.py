"""What a bench says when its rows are there."""

from statistics import fmean, stdev

from rich.console import Console

from fedkin.bench.row import Row
from fedkin.cli.talk.bench_rows import means
from tests.bench.made_rows import made_rows

DIRICHLET = "Digits, 15 clients, Dirichlet 0.3"


def shown(rows: list[Row], width: int = 80) -> list[str]:
    console = Console(width=width, color_system=None)
    with console.capture() as taken:
        console.print(means(rows))
    return [" ".join(line.split()) for line in taken.get().splitlines()]


def of(rows: list[Row], method: str, budget: str = "rounds") -> list[Row]:
    return [
        row
        for row in rows
        if (row.setting, row.method) == ("digits-dirichlet", method) and budget in row.budgets
    ]


def test_a_line_is_a_mean_over_seeds_and_budgets_of_one_run_share_it() -> None:
    rows = made_rows()
    own, alone = of(rows, "ditto"), of(rows, "local")
    scores = [row.mean or 0 for row in own]
    gain = fmean(scores) - fmean(row.mean or 0 for row in alone)
    expected = (
        f"ditto rounds, bytes {100 * fmean(scores):.2f} ± {100 * stdev(scores):.2f} "
        f"{100 * gain:+.2f} 25.00 8 kB"
    )
    lines = shown(rows)
    assert expected in lines
    assert any(line.startswith("apfl all ") for line in lines)
    assert any(line.startswith("ditto compute ") for line in lines)
    assert any(line.startswith("local all ") and line.endswith(" – – 0 B") for line in lines)
    assert sum(line.startswith("method equal") for line in lines) == 3


def test_a_federation_is_called_as_on_the_page_and_says_its_seeds() -> None:
    said = " ".join(shown(made_rows()))
    assert f"{DIRICHLET}: test accuracy in %, mean ± sd over seeds 0, 1 " in said


def test_who_was_not_run_is_named_once() -> None:
    lines = [line for line in shown(made_rows(), 200) if line.startswith("not run: ")]
    assert lines == ["not run: fedbn on UCI HAR, 10 subjects: no <batch> norm"]


def test_one_seed_has_no_spread_and_a_perplexity_no_points() -> None:
    changed = [
        row.model_copy(update={"measure": "rmse"})
        for row in made_rows()
        if row.seed == 0 and row.method in {"local", "fedavg"}
    ]
    lines = shown(changed, 200)
    assert f"{DIRICHLET}: test RMSE" in lines
    (first,) = [line for line in lines[:8] if line.startswith("fedavg all ")]
    fedavg, local = (of(changed, name)[0].mean or 0 for name in ("fedavg", "local"))
    # less is better of an RMSE: a gain is what local has more
    assert first == f"fedavg all {fedavg:.4f} {local - fedavg:+.4f} 25.00 8 kB"
