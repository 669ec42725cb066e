"""The presets: each is there, its specifications are valid, its commands mean the same, and a row
really runs.
"""

import json
import shlex
from pathlib import Path

import pytest

from fedkin.reproduce.estimate import estimate
from fedkin.reproduce.measures import MEASURES, OVER_SEEDS
from fedkin.reproduce.preset import SCALES, content_of, names, preset, published
from fedkin.reproduce.row_spec import command, spec_of
from fedkin.reproduce.running import outcomes
from fedkin.setup.arguments.options import specification
from fedkin.setup.build import method_of
from tests.cli.command import fedkin, told

ROOT = Path(__file__).parents[2]
WANTED = {
    *(f"comet-table-{n}" for n in (3, 4, 5)),
    "comet-figure-2",
    "comet-figure-3",
    *(f"perfed-ckt-table-{n}" for n in (1, 2)),
    *(f"persfl-table-{n}" for n in range(2, 8)),
    "persfl-figure-2",
    "persfl-figures-3-8",
    *(f"cgpfl-table-{n}" for n in (1, 2)),
    *(f"cgpfl-figure-{n}" for n in range(1, 6)),
    *(f"ppfl-table-{n}" for n in range(1, 4)),
    *(f"ppfl-figure-{n}" for n in range(5, 12)),
    "knn-per-table-2",
}
OURS = {"local", "persfl_reverse"}  # rows that the papers do not print


def test_every_table_and_figure_has_its_preset() -> None:
    assert set(names()) >= WANTED


@pytest.mark.parametrize("name", names())
def test_specifications_are_valid_and_commands_mean_the_same(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    for scale in SCALES:
        rows = preset(name, scale).rows
        assert len({row.name for row in rows}) == len(rows) > 0
        for row in rows:
            assert (
                estimate(row).seconds > 0
            )  # nan would fail too: what a row costs is known before it runs
            if row.runner != "experiment":
                continue
            spec = spec_of(row, 0, {})
            method_of(spec)
            assert {value.measure for value in row.values} <= {*MEASURES, *OVER_SEEDS}
            if scale == "full":
                continue  # the same changes, but for few
            words = shlex.split(command(row))[2:]
            pairs = list(zip(words[1::2], words[2::2], strict=True))
            settings = [value.partition("=")[0] for key, value in pairs if key == "--set"]
            assert len(set(settings)) == len(settings), row.name
            options = {key.removeprefix("--"): value for key, value in pairs if key != "--set"}
            again, _ = specification(
                Path(words[0]), options, [value for key, value in pairs if key == "--set"]
            )
            assert again == spec, row.name


@pytest.mark.parametrize("name", [name for name in names() if "-table-" in name])
def test_tables_have_their_published_numbers(name: str) -> None:
    for row in preset(name).rows:
        if not OURS & set(row.options.values()) and name != "ppfl-table-3":
            assert row.values[0].published is not None, row.name


def test_published_numbers_are_read() -> None:
    row = next(
        row
        for row in preset("cgpfl-table-1", "full").rows
        if row.name == "cgpfl-t1-mnist-mlr-cgpfl_k4"
    )
    assert row.values[0].published == 95.65
    row = next(
        row for row in preset("persfl-table-2", "full").rows if row.name == "persfl-t2-ds3-pfedme"
    )
    assert [value.published for value in row.values] == [78.1, None, 9.2]  # of means over runs
    assert row.changes["run.rounds"] == 800  # taken from the table
    row = next(
        row
        for row in preset("comet-table-5", "full").rows
        if row.name == "comet-t3-hypcluster-c=6-C0.15"
    )
    assert [value.published for value in row.values] == [63.28, 63.28, 4.1e10]
    assert len(published("ppfl_table1_pathological")) == 8
    row = next(
        row for row in preset("comet-table-3", "full").rows if row.name == "comet-t3-ditto-C0.15"
    )
    assert [value.published for value in row.values] == [
        68.88,  # the last round
        68.88,  # the highest
        19.16,
    ]  # the local view, the global one


@pytest.mark.parametrize(
    "name", ["ppfl-table-1", *(f"ppfl-figure-{n}" for n in (5, 6, 7, 8, 9, 10, 11))]
)
def test_ppfl_trains_as_its_authors_scripts_do(name: str) -> None:
    """Momentum 0.9 that outlasts the round but for pFedMe's; the decay is everybody's."""
    rates = {}
    for row in preset(name, "full").rows:
        train = spec_of(row, 0, {}).train
        plain = row.options.get("method") == "pfedme"
        assert train.weight_decay == 5e-4
        assert (train.momentum, train.state) == ((0.0, "restarted") if plain else (0.9, "kept"))
        rates[row.name] = train.lr
    if name == "ppfl-table-1":
        assert {rate for row, rate in rates.items() if "synthetic" in row} == {0.1}
        assert rates["ppfl-t1-mnist-local"] == rates["ppfl-t1-mnist-pfedme"] == 0.03
        assert rates["ppfl-t1-mnist-ppfl1"] == rates["ppfl-t1-mnist-fedavg"] == 0.1


@pytest.mark.rotating
def test_no_inner_step_diverges_by_its_settings() -> None:
    """θ ← θ − η(∇ + λ(θ − w)): from ηλ = 2 on θ leaves w for ever, whatever the samples."""
    steps = {}
    for row in (row for name in names() for scale in SCALES for row in preset(name, scale).rows):
        hyper = method_of(spec_of(row, 0, {})).hyper if row.runner == "experiment" else {}
        if "personal_lr" in hyper and "lam" in hyper and "inner" in hyper:
            steps[row.name] = hyper["personal_lr"] * hyper["lam"]
    assert len(steps) > 100
    assert {name: step for name, step in steps.items() if step >= 2} == {}


def test_ppfl_synthetic_is_the_draw_of_its_authors_script() -> None:
    """At the full scale: all trials have the same samples, and clients train on all of theirs."""
    rows = [row for row in preset("ppfl-table-1", "full").rows if "synthetic" in row.name]
    specs = [spec_of(row, seed, {}) for row in rows for seed in (0, 2)]
    assert len(specs) == 16
    assert {(s.data.options["draws"], s.data.options["seed"]) for s in specs} == {("script", 12345)}
    assert {(s.split.train, s.split.val, s.data.test) for s in specs} == {(1.0, 0.0, "official")}


def test_all_methods_of_ppfls_practical_sets_train_alike() -> None:
    """Paper C.4: the same clients a round; §4.2.1: on 80 % of each client's samples."""
    rows = preset("ppfl-table-2", "full").rows
    for data, share in (("emnist", 0.1), ("stackoverflow", 0.05)):
        specs = [spec_of(row, 0, {}) for row in rows if data in row.name]
        assert len(specs) == 7
        assert {spec.run.participation for spec in specs} == {share}
        assert {(s.split.train, s.split.val, s.split.test) for s in specs} == {(0.8, 0.0, 0.2)}
        assert len({(s.train.lr, s.train.batch_size, s.train.epochs) for s in specs}) == 1


def test_cgpfl_is_read_as_the_public_code_that_it_extends() -> None:
    """One setting for all rows of MNIST and Fashion-MNIST: docs/reproduction/cgpfl-setting.md."""
    rows = [row for n in (1, 2) for row in preset(f"cgpfl-table-{n}", "full").rows]
    rows = [row for row in rows if "cifar10" not in row.name]
    assert len(rows) == 40 + 48
    for row in rows:
        spec = spec_of(row, 0, {})
        assert spec.data.options == {"pixels": "standardized"}
        assert spec.split.options["pairs"] == "consecutive"
        assert (spec.train.steps, spec.train.lr, spec.train.batch_size) == (10, 0.005, 20)
        personal = spec.method.options.get("personal_lr")
        assert personal in (None, 0.09 if "-dnn-" in row.name else 0.1)
        first, second = row.values
        assert (first.measure, second.measure) == ("highest weighted", "accuracy")
        assert first.published == second.published
        assert (first.published is None) == ("-local" in row.name)


def test_knn_per_table_has_one_setting_for_all_methods() -> None:
    """Eight methods on three sets, trained alike but for what a set asks for; nothing of a method's
    own differs from set to set but FedRep's steps, which stand for ten epochs.
    """
    found = preset("knn-per-table-2", "full").rows
    assert len(found) == 24
    by_set: dict[str, set[str]] = {}
    by_method: dict[str, set[str]] = {}
    for row in found:
        spec = spec_of(row, 0, {})
        assert row.name == f"knnper-t2-{row.options['data']}-{row.options['method']}"
        assert [value.measure for value in row.values] == ["weighted accuracy"]
        assert (spec.run.rounds, spec.train.epochs, spec.train.batch_size) == (200, 1, 128)
        assert spec.run.participation == 1
        assert spec.split.val > 0  # kNN-Per's share is chosen there
        alike = spec.model_dump(mode="json", exclude={"method"})
        by_set.setdefault(row.options["data"], set()).add(json.dumps(alike, sort_keys=True))
        own = {k: v for k, v in spec.method.options.items() if k != "personal_steps"}
        by_method.setdefault(row.options["method"], set()).add(json.dumps(own, sort_keys=True))
    assert {len(one) for one in (*by_set.values(), *by_method.values())} == {1}
    lines = {line["method"]: line for line in published("knn_per_table2")}
    assert lines["knn_per"]["femnist"] == "88.2"
    assert {row.options["method"] for row in found} == set(lines)


def test_mistakes_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for setting, words in (
        ("run.seed=3", "--seeds"),
        ("run.rounds=many", "not 'many'"),
        ("run.roundz=3", "did you mean 'rounds'"),
        ("run=3", "run"),
    ):
        result = fedkin("reproduce", "ppfl-figure-8", "--set", setting)
        assert result.exit_code == 2, result.output
        assert words in result.stderr
    for seeds in ("0", "1001", "10000000000000"):
        said = told("reproduce", "ppfl-figure-8", "--finished", "--seeds", seeds)
        assert said.endswith(f"{seeds} is not in the range 1<=x<=1000.")
    assert not (tmp_path / "reproduction").exists()
    assert "did you mean 'cgpfl-table-1'" in fedkin("reproduce", "cgpfl-table1").output
    assert (
        "no row of comet-figure-2 contains nothing"
        in fedkin("reproduce", "comet-figure-2", "--rows", "nothing").output
    )
    assert "unknown scale" in fedkin("reproduce", "comet-figure-2", "--scale", "tiny").output
    assert len(json.loads(fedkin("reproduce", "--list", "--json").stdout)) == len(names())


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Presets that are about the same runs share them."""
    return tmp_path_factory.mktemp("runs")


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_the_small_scale_of_every_preset_runs(name: str, runs: Path) -> None:
    found = preset(name, "small")
    for one in outcomes(found.rows, 1, runs, {"engine.name": "inprocess"}):
        lacking = one.missing and (
            "file" in one.missing or "folder" in one.missing
        )  # data that are not here
        assert not one.missing or lacking, f"{one.row.name}: {one.missing}"


def test_what_a_row_changes_in_a_table_stays_with_it() -> None:
    """Rows of a group share the tables that it sets; one with an option of its own left it there
    for the others.
    """
    table = {"name": "pfedme"}
    row = preset("persfl-table-3").rows[0]
    first, second = (
        row._replace(changes={"method": table, **own}) for own in ({"method.beta": 2.0}, {})
    )
    assert content_of(first)["method"] == {"name": "pfedme", "beta": 2.0}
    assert content_of(second)["method"] == {"name": "pfedme"}
