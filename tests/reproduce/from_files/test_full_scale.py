"""What finished rows at the papers' scale say of claims: by seed, of the same settings only."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from fedkin.reproduce.claim import Register, preset_rows, read_claims, register
from fedkin.reproduce.claim_verdict import FAILS, HOLDS, OPEN
from fedkin.reproduce.finished_rows import FinishedRun, FinishedRuns, key_of, read
from fedkin.reproduce.from_files.full_scale import NO_FINDING, full_scale, substitute_rows
from fedkin.reproduce.row_spec import spec_of
from fedkin.reproduce.same_settings import digest_of

REPRODUCTION = Path(__file__).parents[3] / "docs" / "reproduction"
LOCAL, FEDAVG = "ppfl-t1-synthetic-local", "ppfl-t1-synthetic-fedavg"
TEXT = """
paper = "A paper"
[[claims]]
id = "above"
where = "Table 1"
says = "Local is above FedAvg."
test = { kind = "above", high = "LOCAL", low = "FEDAVG" }
[[claims]]
id = "dearer"
where = "Table 3"
says = "Local takes twice FedAvg's time."
test = { kind = "ratio", row = "LOCAL", to = "FEDAVG", at_least = 2.0, measure = "processor" }
[[claims]]
id = "often"
where = "Table 1"
says = "Most clients are better off alone."
test = { kind = "share", high = "LOCAL", low = "FEDAVG", at_least = 0.5 }
[[claims]]
id = "steadier"
where = "Table 1"
says = "Local differs less from seed to seed."
test = { kind = "steadier", row = "LOCAL", than = "FEDAVG" }
""".replace("LOCAL", LOCAL).replace("FEDAVG", FEDAVG)
STAND_INS = 'stand_ins = { "comet-t3-" = "comet-t3-cnn-" }\nstand_ins_say = "A small CNN."\n'
COMET = """
[[claims]]
id = "above"
where = "Table III"
says = "FedAvg is above training alone."
test = { kind = "above", high = "comet-t3-fedavg-C0.10", low = "comet-t3-local-C0.10" }
"""


def finished(numbers: Mapping[str, list[float]], seconds: float = 3.0) -> FinishedRuns:
    """Runs of rows with these accuracies, one a seed."""
    rows = preset_rows("full")
    runs = [
        FinishedRun(
            name,
            seed,
            {"accuracy": value},
            seconds if name == FEDAVG else 3 * seconds,
            digest_of(spec_of(rows[name], seed, {})),
            "f",
            "0",
        )
        for name, values in numbers.items()
        for seed, value in enumerate(values)
    ]
    return {key_of(one): one for one in runs}


def found(text: str, numbers: Mapping[str, list[float]], **changes: object) -> dict:
    return full_scale(read_claims("p", text), finished(numbers), changes)


def test_seeds_alone_decide() -> None:
    told = found(TEXT, {LOCAL: [61, 62, 63], FEDAVG: [60, 59.5, 59]})
    (above,), (dearer,), (often,) = told["above"], told["dearer"], told["often"]
    assert (above.verdict, above.means, above.seeds) == (HOLDS, (1, 2.5, 4), 3)
    assert above.low != above.low  # no interval
    assert (dearer.verdict, dearer.means) == (HOLDS, (3, 3, 3))
    assert often == NO_FINDING  # a share of pairs needs clients
    other = found(TEXT, {LOCAL: [59, 59, 58], FEDAVG: [60, 59.5, 59]})["above"][0]
    assert other.verdict == FAILS
    mixed = found(TEXT, {LOCAL: [61, 59, 63], FEDAVG: [60, 59.5, 59]})["above"][0]
    assert (mixed.verdict, mixed.why) == (OPEN, "seeds disagree")


def test_seeds_that_both_rows_have_are_compared() -> None:
    (one,) = found(TEXT, {LOCAL: [61], FEDAVG: [60, 59.5, 59]})["above"]
    assert (one.verdict, one.why, one.means) == (OPEN, "1 seed of at least 3", (1,))
    assert found(TEXT, {LOCAL: [61, 62, 63]})["above"] == (NO_FINDING,)


def test_what_is_no_number_under_so_few_seeds_is_not_told() -> None:
    """The sd of two seeds: no page and no JSON has a place for it."""
    for seeds in (1, 2):
        told = found(TEXT, {LOCAL: [61.0, 62][:seeds], FEDAVG: [60.0, 59.5][:seeds]})
        assert told["steadier"] == (NO_FINDING,)
        assert told["above"][0].seeds == seeds
    (one,) = found(TEXT, {LOCAL: [61, 62, 63], FEDAVG: [60, 59, 62]})["steadier"]
    assert (one.seeds, one.means, one.why) == (3, (), "3 seeds of at least 5")
    instant = full_scale(read_claims("p", TEXT), finished({LOCAL: [1], FEDAVG: [1]}, 0.0), {})
    assert instant["dearer"] == (NO_FINDING,)  # 0 / 0 seconds


def test_a_run_of_another_setting_is_not_taken() -> None:
    numbers = {LOCAL: [61.0, 62, 63], FEDAVG: [60.0, 59.5, 59]}
    assert found(TEXT, numbers, **{"train.lr": 0.3})["above"] == (NO_FINDING,)
    assert found(TEXT, numbers, **{"train.lr": -1})["above"] == (NO_FINDING,)  # no row can have it
    assert found(TEXT, numbers, **{"engine.name": "inprocess"})["above"][0].seeds == 3


def test_rows_that_stand_in_do_so_for_all_rows_of_a_case_or_for_none() -> None:
    text = 'paper = "C"\n' + STAND_INS + COMET
    cnn = {"comet-t3-cnn-fedavg-C0.10": [5.0, 6, 7], "comet-t3-cnn-local-C0.10": [6.0, 8, 9]}
    assert found(text, cnn)["above"][0].verdict == FAILS
    assert found('paper = "C"\n' + COMET, cnn)["above"] == (NO_FINDING,)
    one = {"comet-t3-cnn-fedavg-C0.10": [5.0, 6, 7], "comet-t3-local-C0.10": [6.0, 8, 9]}
    assert found(text, one)["above"] == (NO_FINDING,)
    assert read_claims("p", text).said == {"p": "A small CNN."}


def test_rows_stand_in_where_a_cases_own_have_no_seed_in_common() -> None:
    claims = read_claims("p", 'paper = "C"\n' + STAND_INS + COMET)
    fedavg, local = "comet-t3-fedavg-C0.10", "comet-t3-local-C0.10"
    own = finished({fedavg: [9.0, 9.0], local: [1.0, 1.0]})
    apart = {key: one for key, one in own.items() if one.seed == (one.row == local)}
    cnn = finished(
        {"comet-t3-cnn-fedavg-C0.10": [5.0, 6, 7], "comet-t3-cnn-local-C0.10": [6.0, 8, 9]}
    )
    assert full_scale(claims, apart, {})["above"] == (NO_FINDING,)
    assert full_scale(claims, {**apart, **cnn}, {})["above"][0].means == (-1, -2, -2)
    assert full_scale(claims, {**own, **cnn}, {})["above"][0].means == (8, 8)


def test_the_register_of_comet_has_its_stand_ins() -> None:
    comet: Register = register("comet")
    case = next(one for one in comet.claims if one.id == "comet-above-local").cases[0]
    assert substitute_rows(comet, case)[0] == "comet-t3-cnn-comet-c=3-C0.10"
    mixed = next(one for one in comet.claims if one.id == "the-regularizer-helps").cases[0]
    assert substitute_rows(comet, mixed) == ()


@pytest.mark.skipif(not REPRODUCTION.is_dir(), reason="the package alone has no docs")
def test_the_tables_here_tell_of_comet_and_fedfomo() -> None:
    """As docs/reproduction has it: FedFomo is far above COMET, not level with it."""
    preprint = register("perfed-ckt")
    near = [one for one in preprint.claims if one.id == "near-fedfomo-c010"]
    told = full_scale(preprint._replace(claims=tuple(near)), read(REPRODUCTION), {})
    (one,) = told["near-fedfomo-c010"]
    assert one.verdict == FAILS
    assert all(-8 < value < -5 for value in one.means)
