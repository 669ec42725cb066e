"""The test by which ``safe`` chooses: its chances, and how often it errs, counted exactly."""

from itertools import product
from math import comb

import numpy as np
import pytest
import torch
from scipy.stats import permutation_test, ttest_1samp

from benchmarks.safe_recordings import no_better_by
from fedkin.transforms.safe import SEQUENCES, SHARES, WHOLE, no_better, passed

LEVELS = (*(level for level, _ in SEQUENCES), 0.05)
SHARES_THAT_DIFFER = (0.05, 0.1, 0.2, 0.4, 0.8, 1.0)


def rows(wins: int, losses: int, same: int = 0) -> torch.Tensor:
    return torch.tensor([1.0] * wins + [-1.0] * losses + [0.0] * same)


def errs(n: int, level: float) -> dict[float, float]:
    """How often n rows are said to gain at a level, by the share of rows in which the two models
    differ, each of them being right as often as the other.
    """
    said = {
        (wins, losses)
        for wins in range(n + 1)
        for losses in range(n + 1 - wins)
        if no_better(rows(wins, losses, n - wins - losses)) <= level
    }
    return {
        share: sum(
            comb(n, w) * comb(n - w, k) * (share / 2) ** (w + k) * (1 - share) ** (n - w - k)
            for w, k in said
        )
        for share in SHARES_THAT_DIFFER
    }


@pytest.mark.parametrize("n", [2, 4, 5, 6, 8, 10, 15, 20])
def test_of_classes_no_level_is_passed(n: int) -> None:
    for level in LEVELS:
        assert max(errs(n, level).values()) <= level


@pytest.mark.parametrize("n", [4, 7, 12, 20])
def test_nor_is_that_of_the_whole_choice(n: int) -> None:
    """However the four tests depend on one another: one false test of each sequence can pass first,
    and these are added up. Those that give the own model up stay below 5 % together. Where as many
    rows gain as lose, log-loss lets a mixture pass that is no better half of the time.
    """
    one = [errs(n, level) for level, _ in SEQUENCES]
    given_up = [
        found for found, (_, shares) in zip(one, SEQUENCES, strict=True) if max(shares) > 0.5
    ]
    ties = {
        differ: sum(
            comb(n, w) * comb(n - w, w) * (differ / 2) ** (2 * w) * (1 - differ) ** (n - 2 * w)
            for w in range(n // 2 + 1)
        )
        for differ in SHARES_THAT_DIFFER
    }
    for differ in SHARES_THAT_DIFFER:
        assert sum(found[differ] for found in one) + ties[differ] / 2 <= 0.55
        assert sum(found[differ] for found in given_up) <= 0.05


def test_what_is_no_better_passes_only_where_the_first_such_test_of_its_sequence_does() -> None:
    for chances in product((0.0, 0.02, 0.1, 0.6), repeat=len(SHARES)):
        found = dict(zip(SHARES, chances, strict=True))
        for false in product((False, True), repeat=len(SHARES)):
            no_gain = {share for share, so in zip(SHARES, false, strict=True) if so}
            for level, shares in SEQUENCES:
                first = next((share for share in shares if share in no_gain), None)
                if no_gain.intersection(shares).intersection(passed(found)):
                    assert first is not None
                    assert found[first] <= level


@pytest.mark.parametrize("sizes", [(1.0,) * 3 + (1e-6,) * 7, (9, 4, 3, 2, 1, 1), (1, 2, 4, 8)])
def test_of_losses_no_level_is_passed_either(sizes: tuple[float, ...]) -> None:
    """Where each loss is as likely as a gain of that size. A t-test says so of three rows that
    count and seven that do not with a chance of 1/8.
    """
    size = torch.tensor(sizes, dtype=torch.float64)
    signs = torch.tensor(list(product((-1, 1), repeat=len(size))))
    chances = [no_better(one * size) for one in signs]
    for level in LEVELS:
        assert sum(chance <= level for chance in chances) / len(chances) <= level


def test_more_evidence_never_counts_for_less() -> None:
    for same, losses, wins in product((0, 5), range(4), range(12)):
        assert no_better(rows(wins + 1, losses, same)) <= no_better(rows(wins, losses, same))
    one_of_many = [no_better(rows(1, 0, same)) for same in (1, 9, 99)]
    assert one_of_many == [0.5, 0.5, 0.5]


def test_the_chance_is_that_of_scipys_permutation_test() -> None:
    rng = np.random.default_rng(3)
    for n in (2, 7, 11):
        gain = rng.normal(0.3, 1, n)
        theirs = permutation_test(
            (gain,), np.mean, permutation_type="samples", alternative="greater", n_resamples=2**n
        ).pvalue
        assert no_better(torch.from_numpy(gain)) == pytest.approx(theirs, rel=1e-9)
        # rows that are told twice, in one group each, are no more evidence than once
        twice, group = torch.from_numpy(gain).repeat_interleave(2), np.arange(2 * n) // 2
        assert no_better_by(twice, group) == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("n", [WHOLE + 1, 60, 3000])
def test_of_many_rows_it_comes_to_the_t_test(n: int) -> None:
    rng = np.random.default_rng(n)
    for shift in (-1, 0, 1, 2, 6):
        gain = rng.normal(0, 1, n) + shift / n**0.5
        theirs = ttest_1samp(gain, 0, alternative="greater").pvalue
        found = no_better(torch.from_numpy(gain))
        assert found == pytest.approx(theirs, abs=0.02)
        assert found == no_better(torch.from_numpy(gain)), "the same signs are drawn always"
