"""What makes a case another one, and what runs under which budget."""

from pathlib import Path

import pytest

from fedkin.bench import case as cases
from fedkin.bench.budgets import Allowance, Used
from fedkin.bench.row import in_one_line
from fedkin.bench.trial import TrialResult
from fedkin.core.errors import FedkinError
from fedkin.report.comparison.run_row import ComparedRun
from fedkin.runs.spec import parse
from fedkin.setup.user_code import permit
from tests.bench.tiny import SPEC, tiny
from tests.experiment.registered import registered

TEN = {"a": {"title": "A", "spec": {"data": {"name": "digits"}, "run": {"rounds": 10}}}}


def ran_with(sent: Used, work: Used) -> TrialResult:
    return TrialResult(None, {}, sent, work, 1.0, 0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sent", "work", "plan"),
    [
        (Used(0, (100,) * 10), Used(0, (50,) * 10), {10: ["rounds", "bytes", "compute"]}),
        (Used(0, (200,) * 10), Used(0, (100,) * 10), {10: ["rounds"], 5: ["bytes", "compute"]}),
        (
            Used(300, (100,) * 10, 300),
            Used(0, (10,) * 10),
            {10: ["rounds", "compute"], 4: ["bytes"]},
        ),
        (Used(2000), Used(900, (1,) * 10), {10: ["rounds"], 0: ["bytes", "compute"]}),
        (Used(0, (0,) * 10), Used(0, (52,) * 10), {10: ["rounds", "bytes", "compute"]}),
        (Used(0, (1,) * 10), Used(0, (10, 400, *(10,) * 8)), {10: ["rounds", "bytes", "compute"]}),
        (Used(0, (600, *(55,) * 9)), Used(0, (1,) * 10), {10: ["rounds", "compute"], 9: ["bytes"]}),
    ],
)
def test_a_budget_is_as_many_rounds_as_fit(
    sent: Used, work: Used, plan: dict[int, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = cases.case_of("tiny", tiny(settings=TEN), "a", "ditto", "digest")

    def cut(self: cases.Runs, seed: int, rounds: int) -> TrialResult:
        return ran_with(*(used._replace(rounds=used.rounds[:rounds]) for used in (sent, work)))

    monkeypatch.setattr(cases.Runs, "of", cut)
    runs = cases.Runs({}, None, None)  # type: ignore[arg-type]
    allowance = Allowance({3: 1000}, {3: 500})
    assert cases._plan(given, allowance, 3, ran_with(sent, work), runs) == plan


def test_cheaper_methods_may_stretch(monkeypatch: pytest.MonkeyPatch) -> None:
    suite = tiny(settings=TEN, stretch=3, budgets=["bytes"], slack=0.0)
    given = cases.case_of("tiny", suite, "a", "ditto", "digest")
    for each, expected in [(50, 20), (10, 30)]:
        first = ran_with(Used(0, (each,) * 10), Used())
        longer = ran_with(Used(0, (each,) * expected), Used())
        monkeypatch.setattr(cases.Runs, "of", lambda self, seed, rounds, longer=longer: longer)
        runs = cases.Runs({}, None, None)  # type: ignore[arg-type]
        assert list(cases._plan(given, Allowance({3: 1000}), 3, first, runs)) == [expected]


def test_a_measure_that_no_test_samples_define_is_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = cases.case_of("tiny", tiny(settings=TEN), "a", "ditto", "digest")
    found = {"headline": {"personal": {"final": {"mean": None, "worst_decile": None}}}}
    done = ran_with(Used(), Used())._replace(found=found, seen=ComparedRun({}, measure="auc"))
    monkeypatch.setattr(cases.Runs, "of", lambda self, seed, rounds: done)
    runs = cases.Runs(given.tried()[0], None, None)  # type: ignore[arg-type]
    row = cases._run_row(given, runs, 3, 10, ("rounds",), [])
    assert (row.missing, row.seed) == ("seed 3: no client's test samples define auc", 3)
    assert in_one_line([row]) == f"not run: {row.missing}"
    bare = row.model_copy(update={"missing": "", "measure": "auc"})  # of a file from before
    assert in_one_line([bare]).startswith("auc is defined for no client")
    assert in_one_line([bare, bare]).endswith("s for its 2 rows")


def test_the_data_tell_which_samples_are_public_and_not_the_key() -> None:
    """Rows of before [public] groups was there keep their case."""
    suite = tiny()
    (label,) = suite.settings
    spec = suite.settings[label].spec
    parted = {**spec, "public": {**spec["public"], "groups": "parted"}}
    again = tiny(settings={label: {"title": "A", "spec": parted}})
    one, other = (cases.case_of("tiny", each, label, "ditto", "d") for each in (suite, again))
    assert one.setting.spec != other.setting.spec
    assert one.digest == other.digest
    assert one.digest != cases.case_of("tiny", suite, label, "ditto", "e").digest


@pytest.mark.usefixtures("own_modules")
def test_a_registered_method_whose_file_changed_is_another_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = registered(tmp_path, "half42")
    monkeypatch.syspath_prepend(tmp_path)

    def digest() -> str:
        return cases.case_of("tiny", tiny(), "digits", "half42", "d").digest

    before = digest()
    assert digest() == before
    file.write_text(file.read_text().replace("lr * near", "0 * lr"))
    assert digest() != before


@pytest.mark.usefixtures("own_modules")
def test_a_model_of_ones_own_whose_file_changed_is_another_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "nets42.py"
    file.write_text("from torch import nn\n\n\nclass Net(nn.Linear):\n    bias = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    spec = {**SPEC, "model": {"name": "nets42:Net:out_features=10"}}
    suite = tiny(settings={"digits": {"title": "Digits", "spec": spec}})
    with pytest.raises(FedkinError, match="which nobody has allowed here"):
        cases.case_of("tiny", suite, "digits", "ditto", "d")
    permit(parse(spec)[0])
    found = []
    for text in (file.read_text(), file.read_text().replace("True", "False")):
        file.write_text(text)
        one = cases.case_of("tiny", suite, "digits", "ditto", "d")
        assert list(one.code) == ["nets42:Net"]
        found.append(one.digest)
    assert found[0] != found[1]


def test_of_equal_trials_the_first_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their means may differ in their last bits, by the order of a sum."""
    means = iter([0.3, 0.1 + 0.2])

    def run_trial(content: object, folder: Path, data_dir: str | None) -> TrialResult:
        seen = ComparedRun({}, measure="accuracy")
        return TrialResult(seen, {}, Used(), Used(), 1.0, next(means))

    monkeypatch.setattr(cases, "run_trial", run_trial)
    given = cases.case_of("tiny", tiny(), "digits", "fedavg", "digest", own=[])
    tried, best = cases._searched(given, tmp_path, None)
    assert [one.validation for one in tried] == [0.3, 0.1 + 0.2]
    assert best is not None
    assert best[1].validation == 0.3
