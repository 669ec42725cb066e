"""What counted guesses prove of ε: a lower bound, with confidence, from one run.

Source: Steinke, Nasr & Jagielski: Privacy auditing with one (1) training run, 2023, Theorem 5.2.
"""

import math
from functools import cache

import numpy as np
from scipy.stats import binom

STEPS = 30  # of a bisection
LARGEST = 64.0  # ε beyond which nobody asks


def p_value(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """How likely so many right guesses are, at most, where the run is (ε, δ)-private.

    Args:
        canaries: m, each in or out by a fair coin.
        guesses: r of them, on whether a canary was in; the others were passed over.
        right: v of the guesses.
        epsilon: ε that is tested.
        delta: δ that is tested.

    Returns:
        A probability: β + 2 m δ max over i of (1/i) P[v − i ≤ W < v], W binomial of r and
        e^ε / (1 + e^ε).
    """
    chance = 1 / (1 + math.exp(-epsilon))
    tail = float(binom.sf(right - 1, guesses, chance))
    if delta == 0:
        return min(tail, 1.0)
    fewer = np.arange(1, right + 1)
    below = binom.pmf(right - fewer, guesses, chance).cumsum() / fewer
    slack = float(below.max(initial=0.0))
    return min(tail + 2 * canaries * delta * slack, 1.0)


@cache
def lower_epsilon(
    canaries: int, guesses: int, right: int, delta: float = 0.0, confidence: float = 0.95
) -> float:
    """The largest ε that so many right guesses refute; 0 where they refute none.

    Args:
        canaries: m, each in or out by a fair coin.
        guesses: r of them, on whether a canary was in.
        right: v of the guesses.
        delta: δ of the guarantee that is tested, in [0, 1).
        confidence: One minus the chance that the bound is above the truth, in (0, 1).

    Returns:
        ε, from 0 to LARGEST, from below to within the bisection's last step.
    """
    doubt = 1 - confidence
    if p_value(canaries, guesses, right, 0.0, delta) > doubt:
        return 0.0
    low, high = 0.0, 1.0
    while high < LARGEST and p_value(canaries, guesses, right, high, delta) <= doubt:
        low, high = high, 2 * high
    for _ in range(STEPS):
        middle = (low + high) / 2
        refuted = p_value(canaries, guesses, right, middle, delta) <= doubt
        low, high = (middle, high) if refuted else (low, middle)
    return low
