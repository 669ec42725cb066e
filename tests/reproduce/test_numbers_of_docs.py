"""What the pages of docs/reproduction say of finished runs is what their CSV files hold."""

import csv
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from fedkin.experiment.run_facts import hyper_of
from fedkin.reproduce.finished_rows import CLAIMS
from fedkin.reproduce.pages import HIGHEST, SAID, TITLES, _number
from fedkin.reproduce.preset import preset
from fedkin.reproduce.row_spec import spec_of
from fedkin.setup.build import method_of

PAGES = Path(__file__).parents[2] / "docs" / "reproduction"
README = PAGES / "README.md"
SETTING = PAGES / "cgpfl-setting.md"
WEIGHTS = (
    PAGES.parents[1] / "benchmarks" / "cgpfl_weights.csv"
)  # of other settings than the table's
COMET = PAGES / "comet-setting.md"
ROWS = sorted(path.stem for path in PAGES.glob("*.csv") if not path.stem.startswith("claims"))
SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "days": 86400.0}
Numbers = Mapping[tuple[str, str], Mapping[int, float]]  # by row and measure, of each seed
NEAR = 2.0  # points, within which this project calls a row of CGPFL's reproduced


def prose(page: Path) -> str:
    """The page's text in one line."""
    return " ".join(page.read_text("utf-8").split())


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def table(page: Path, *head: str) -> Iterator[list[str]]:
    """The lines of the page's table whose first columns are called so."""
    inside = False
    for line in map(str.strip, page.read_text("utf-8").splitlines()):
        if not line.startswith("|"):
            inside = False
        elif cells(line)[: len(head)] == list(head):
            inside = True
        elif inside and not line.startswith("|---"):
            yield cells(line)


def measured(name: str) -> Numbers:
    """The finished runs of a preset."""
    return numbers_of(PAGES / f"{name}.csv")


def numbers_of(file: Path) -> Numbers:
    found: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    with file.open(encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines):
            if line["value"]:
                found[line["row"], line["measure"]][int(line["seed"])] = float(line["value"])
    return found


def published(name: str) -> dict[tuple[str, str], float]:
    return {
        (row.name, value.measure): value.published
        for row in preset(name, "full").rows
        for value in row.values
        if isinstance(value.published, float)
    }


def shown(seeds: Mapping[int, float]) -> str:
    """Mean and sd, each with two digits."""
    values = list(seeds.values())
    spread = f" ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
    return f"{np.mean(values):.2f}{spread}"


def of_page(seeds: Mapping[int, float]) -> str:
    """The same as ``fedkin reproduce`` writes it, with small sd by their first digits."""
    values = list(seeds.values())
    spread = f" ± {_number(float(np.std(values, ddof=1)))}" if len(values) > 1 else ""
    return f"{_number(float(np.mean(values)))}{spread}"


def apart(number: float) -> str:
    return f"{number:+.2f}".replace("-", "−")


@pytest.mark.parametrize("name", ROWS)
def test_a_page_has_the_means_and_seeds_of_its_csv(name: str) -> None:
    numbers, called = measured(name), {title: measure for measure, title in TITLES.items()}
    lines = list(table(PAGES / f"{name}.md", "row", "what", "published", "measured"))
    told = {(line[0], called[line[1]]): line for line in lines}
    shown = {measure for _, measure in told}  # others are kept for presets of the same runs
    # the page of kNN-Per is of the full scale, its rows of the small one
    assert name == "knn-per-table-2" or {key for key in numbers if key[1] in shown} <= set(told)
    for key in set(numbers) & set(told):
        assert told[key][3] == of_page(numbers[key]), key
        assert told[key][5] == ", ".join(map(str, sorted(numbers[key]))), key


def test_the_counts_of_verdicts_are_those_of_the_page_of_claims() -> None:
    head = ("paper", "claims", "holds", "holds only where", "does not hold", "undecided")
    told, counted = list(table(README, *head)), list(table(PAGES / "claims.md", *head))
    assert told
    assert [line for line in told if line not in counted] == []


def verdicts() -> list[dict[str, str]]:
    with (PAGES / CLAIMS).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_the_rows_without_which_claims_are_undecided_are_counted() -> None:
    why = [re.fullmatch(r"\d+ rows? not run: (.+)", line["why"]) for line in verdicts()]
    rows = {row for found in why if found for row in found[1].split(", ")}
    assert f"{len(rows)} rows that they need were not run" in prose(README)


def test_the_cost_of_ppfl_is_that_of_the_verdicts() -> None:
    ratios = [
        float(line["effect"])
        for line in verdicts()
        if line["paper"] == "ppfl" and line["measure"] == "processor"
        if line["rows"].endswith("-fedavg") and "-ppfl" in line["rows"] and line["effect"]
    ]
    assert f"PPFL costs {min(ratios):.1f} to {max(ratios):.1f} times FedAvg's" in prose(README)


def seconds(text: str) -> float | None:
    """Of a cell; None where nothing stands or where the time is counted from another row's."""
    found = re.fullmatch(r"([\d.]+) (ms|s|min|h|days)", text)
    return float(found[1]) * SECONDS[found[2]] if found else None


def test_estimates_are_as_far_from_what_was_taken_as_the_readme_says() -> None:
    head = ("row", "what", "published", "measured", "difference", "seeds", "estimated", "taken")
    times = [
        (seconds(line[6]), seconds(line[7]))
        for page in PAGES.glob("*.md")
        for line in table(page, *head)
    ]
    ratios = [one / other for one, other in times if one and other]
    said = f"estimates are {min(ratios):.2f} to {max(ratios):.2f} times what was taken"
    assert said in prose(README)


def test_the_rows_of_costs_are_counted() -> None:
    rows = list(costs_rows())
    known = sum(row["how"] == "measured" for row in rows)
    page = prose(PAGES.parent / "reproduce.md")
    assert f"Of its {len(rows):,} rows, {known} were measured on runs" in page


def costs_rows() -> Iterator[dict[str, str]]:
    text = resources.files("fedkin.reproduce").joinpath("costs.csv").read_text("utf-8")
    yield from csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))


def test_comet_s_first_draw_and_its_others() -> None:
    numbers = measured("comet-table-3-cnn")

    def of(method: str) -> Mapping[int, float]:
        name = method.split(",")[0] if method.startswith("fedmd") else f"{method}-C0.10"
        return numbers[f"comet-t3-cnn-{name.replace(', c = ', '-c=')}", "accuracy"]

    first = list(table(COMET, "method", "published (VGG11)", "measured"))
    assert {line[0]: line[2] for line in first} == {
        line[0]: f"{of(line[0])[0]:.2f}" for line in first
    }
    methods = ["local", "fedfomo", "ditto", *(f"comet, c = {c}" for c in (1, 2, 3, 4)), "fedavg"]
    assert first
    seeds = list(table(COMET, "seed", "local", "fedfomo", "ditto"))
    assert seeds == [
        *([str(seed), *(f"{of(method)[seed]:.2f}" for method in methods)] for seed in range(3)),
        ["mean ± sd", *(shown(of(method)) for method in methods)],
    ]


PPFL = {"ppfl, structure 1": "ppfl1", "ppfl, structure 2": "ppfl2"}


@pytest.mark.parametrize(
    ("page", "name", "row", "head", "columns"),
    [
        ("ppfl-setting", "ppfl-table-1", "ppfl-t1", ("method", "MNIST"), ("mnist", "synthetic")),
        (
            "persfl-setting",
            "persfl-table-3",
            "persfl-t3",
            ("method", "DS-1"),
            ("ds1", "ds2", "ds3"),
        ),
    ],
)
def test_means_and_differences_of_a_table(
    page: str, name: str, row: str, head: tuple[str, ...], columns: tuple[str, ...]
) -> None:
    numbers, printed = measured(name), published(name)
    lines = list(table(PAGES / f"{page}.md", *head))
    assert lines
    for line in lines:
        keys = [(f"{row}-{each}-{PPFL.get(line[0], line[0])}", "accuracy") for each in columns]
        assert line[1::2] == [shown(numbers[key]) for key in keys]
        far = [apart(np.mean(list(numbers[key].values())) - printed[key]) for key in keys]
        assert line[2::2] == far


def differences(name: str, seeds: Sequence[int]) -> dict[tuple[str, str], float]:
    """Mean over the seeds less the published, of every published number that was measured."""
    numbers = measured(name)
    return {
        key: float(np.mean([numbers[key][seed] for seed in seeds])) - number
        for key, number in published(name).items()
        if key in numbers
    }


CGPFL = ("mnist-mlr", "mnist-dnn", "fmnist-mlr", "fmnist-dnn")


def test_every_difference_of_cgpfl_s_tables() -> None:
    first, second = (differences(f"cgpfl-table-{k}", range(3)) for k in (1, 2))

    def pair(found: Mapping[tuple[str, str], float], row: str) -> str:
        return f"{apart(found[row, 'accuracy'])}, {apart(found[row, 'highest weighted'])}"

    lines = list(table(SETTING, "method", "MNIST, linear"))
    assert len(lines) == 9
    for method, *others in lines:
        assert others == [pair(first, f"cgpfl-t1-{column}-{method}") for column in CGPFL]
    lines = list(table(SETTING, "data, model, method", "λ = 11"))
    assert len(lines) == 16
    for which, *others in lines:
        row = f"cgpfl-t2-{which.replace(', ', '-')}"
        assert others == [pair(second, f"{row}-{lam}") for lam in (11, 13, 15)]


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("cgpfl-table-1", "{last} of 36 published rows are within 2 points by the last round and"),
        ("cgpfl-table-2", "{last} of 48 are, and {highest} by the highest"),
    ],
)
def test_how_many_rows_of_cgpfl_are_near(name: str, count: str) -> None:
    found = differences(name, range(3))
    near = {
        measure: sum(abs(far) <= NEAR for (_, of), far in found.items() if of == measure)
        for measure in ("accuracy", "highest weighted")
    }
    said = count.format(last=near["accuracy"], highest=near["highest weighted"])
    assert said in prose(README)
    by_last = {"cgpfl-table-1": "By the last round {} of 36", "cgpfl-table-2": "{} of the 48 rows"}
    assert by_last[name].format(near["accuracy"]) in prose(SETTING)


SUMMARY = {  # a line of the README's first table: the rows of it that are counted
    "PPFL, Table 1": "ppfl-table-1",
    "PersFL, Table 3": "persfl-table-3",
    "CGPFL, Table 1": "cgpfl-table-1",
    "CGPFL, Table 2": "cgpfl-table-2",
}


def test_the_first_table_counts_the_rows_that_are_near() -> None:
    lines = table(README, "table", "seeds", "the setting is from", "rows within 2 points")
    told = {line[0].strip("[").partition("]")[0]: line for line in lines}
    for title, name in SUMMARY.items():
        numbers, printed = measured(name), published(name)
        keys = [key for key in printed if key in numbers and key[1] == "accuracy"]
        far = [float(np.mean(list(numbers[key].values()))) - printed[key] for key in keys]
        near = sum(abs(one) <= NEAR for one in far)
        assert told[title][3] == f"{near} of {len(keys)}"
        assert {str(len(numbers[key])) for key in keys} == {told[title][1]}
    fashion = [
        abs(far) <= NEAR
        for number in (1, 2)
        for (row, of), far in differences(f"cgpfl-table-{number}", range(3)).items()
        if of == "accuracy" and "-fmnist-" in row
    ]
    assert f"Of CGPFL's {len(fashion)} rows on Fashion-MNIST {sum(fashion)} are." in prose(README)


CAUSES = {  # a line of the setting's table: the rows whose differences it tells, in order
    "fmnist, mlr, per_fedavg_hf": [
        "fmnist-mlr-inner005",
        "fmnist-mlr-inner01",
        "fmnist-mlr-inner02",
    ],
    "fmnist, dnn, per_fedavg_hf": [
        "fmnist-dnn-inner005",
        "fmnist-dnn-inner01",
        "fmnist-dnn-inner02",
    ],
    "fmnist, dnn, pfedme_pm": [
        f"fmnist-dnn-pfedme_pm-{one}" for one in ("eta07", "eta1", "slower")
    ],
    "fmnist, dnn, cgpfl_k4": [f"fmnist-dnn-cgpfl_k4-{one}" for one in ("eta1", "slower")],
    "fmnist, mlr, cgpfl_heur": ["fmnist-mlr-k5", "fmnist-mlr-k6", "fmnist-mlr-k8"],
    "fmnist, dnn, cgpfl_heur": ["fmnist-dnn-k6", "fmnist-dnn-k8"],
    "mnist, dnn, apfl": ["mnist-dnn-alpha1", "mnist-dnn-alpha15"],
}


def test_what_the_misses_of_cgpfl_depend_on() -> None:
    numbers, printed = measured("cgpfl-table-1-causes"), published("cgpfl-table-1-causes")
    table_1, printed_1 = measured("cgpfl-table-1"), published("cgpfl-table-1")
    told = {row: (stands, moved) for row, stands, moved in table(SETTING, "row", "as it stands")}
    assert told.keys() == CAUSES.keys()
    for row, names in CAUSES.items():
        keys = [(f"cgpfl-causes-{name}", "accuracy") for name in names]
        moved = [apart(numbers[key][0] - printed[key]) for key in keys]
        assert re.findall(r"[+−]\d+\.\d+", told[row][1]) == moved
        own = ("-".join(["cgpfl-t1", *row.split(", ")]), "accuracy")
        stands = np.mean(list(table_1[own].values())) - printed_1[own]
        assert told[row][0].startswith(apart(stands))
        assert abs(stands) > NEAR
        assert any(abs(numbers[key][0] - printed[key]) <= NEAR for key in keys)


def test_weights_by_samples_change_no_row_of_cgpfl() -> None:
    uniform, samples = measured("cgpfl-table-1"), numbers_of(WEIGHTS)
    printed = published("cgpfl-table-1")
    text = SETTING.read_text(encoding="utf-8").partition("**What the weights are worth**")[2]
    columns = [(data, model) for data in ("mnist", "fmnist") for model in ("mlr", "dnn")]
    for method in ("pfedme_pm", "cgpfl_k4", "cgpfl_heur"):
        keys = [(f"cgpfl-t1-{data}-{model}-{method}", "accuracy") for data, model in columns]
        pairs = [(uniform[key][0], samples[key][0]) for key in keys]
        cells = " | ".join(f"{one:.2f}, {other:.2f}" for one, other in pairs)
        assert f"| {method} | {cells} |" in text
        for key, (one, other) in zip(keys, pairs, strict=True):
            moved = 0.8 if "fmnist-mlr-pfedme" in key[0] else 0.2
            assert abs(other - one) <= moved
            near = [abs(value - printed[key]) <= NEAR for value in (one, other)]
            assert near[0] == near[1]


def test_how_many_rows_confirm_the_readings_of_three_methods() -> None:
    def near(*seeds: int) -> int:
        found = differences("cgpfl-table-1", seeds)
        return sum(
            abs(found[f"cgpfl-t1-{data}-dnn-{method}", "accuracy"]) <= NEAR
            for data in ("mnist", "fmnist")
            for method in ("ditto", "l2sgd", "apfl")
        )

    said = (
        f"Seed 0 has {near(0)} of 6 within 2 points by the last round, seeds 1 and 2 have "
        f"{near(1)} and {near(2)}, and the means of three seeds {near(0, 1, 2)} of 6."
    )
    assert said in prose(SETTING)


def test_the_weights_of_means_are_those_of_the_rows() -> None:
    uniform = {
        row.options["method"]
        for name in ("cgpfl-table-1", "cgpfl-table-2")
        for row in preset(name, "full").rows
        if hyper_of(method_of(spec_of(row, 0, {}))).get("weights") == "uniform"
    }
    assert uniform == {"pfedme_pm", "pfedme", "cgpfl_k2", "cgpfl_k4", "cgpfl_heur", "l2sgd"}
    assert "| samples, but uniform for pFedMe, CGPFL, Heur and L2SGD (below) |" in prose(SETTING)


@pytest.mark.parametrize("name", ROWS)
def test_a_page_says_which_of_its_numbers_test_data_chose(name: str) -> None:
    page = PAGES / f"{name}.md"
    lines = list(table(page, "row", "what", "published", "measured"))
    chosen = [measure for measure in HIGHEST if any(line[1] == TITLES[measure] for line in lines)]
    assert [measure for measure in HIGHEST if SAID[measure] in prose(page)] == chosen
    assert ("but in lines that say “highest over rounds”" in prose(page)) == bool(chosen)


def test_the_page_of_vgg11_has_costs_alone() -> None:
    page = PAGES / "comet-table-3.md"
    lines = list(table(page, "row", "what", "published", "measured"))
    rows = {line[0] for line in lines}
    assert rows == {row.name for row in preset("comet-table-3", "full").rows}
    assert {(line[3], line[7]) for line in lines} == {("not run", "–")}
    assert all(line[6].startswith("~ ") for line in lines)
    (total,) = re.findall(
        rf"Not run, {len(rows)} rows, processor time (~ [\d.]+ days)", prose(page)
    )
    assert f"none: {len(rows)} rows, {total} of a processor | {len(rows)} |" in prose(README)
