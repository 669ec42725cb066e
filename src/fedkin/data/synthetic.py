"""Data made here, with its truth: a mixture of logistic models (PPFL), and three lines (COMET's
toy).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.core.system.posix import memory
from fedkin.data.arrays import Array, Ints
from fedkin.data.source import Source

DRAWS = ("own", "script")
SEEDS = 2**32  # what numpy's RandomState takes
COMPONENTS = 127  # which the "component" of a row, of 8 bits, can number
NOBODY = -1  # the component of rows that the script labels 0 whatever they are


def synthetic_mixture(
    *,
    clients: int = 300,
    components: int = 3,
    dim: int = 150,
    alpha: float = 0.4,
    noise: float = 0.1,
    smallest: int = 50,
    largest: int = 1000,
    mean: float = 4.0,
    sigma: float = 2.0,
    test_rows: int = 5000,
    features: str = "uniform",
    draws: str = "own",
    seed: int = 0,
) -> Source:
    """PPFL's synthetic set (its appendix C; generator of Marfoq et al. 2021), float32 [n, dim],
    labels 0 and 1.

    Component k has coefficients theta_k ~ U[-1,1]^dim. Client i mixes components with alpha_i ~
    Dirichlet(alpha), holds min(smallest + floor(lognormal(mean, sigma)), largest) training rows and
    ``test_rows`` official test rows of the same mixture. Counts per component are multinomial; y =
    round(sigmoid(x theta + e)), e ~ N(0, noise). Reading: x ~ U[-1,1]^dim as in the authors'
    script; features="normal" gives N(0, 1), as the paper's text has it. Needs 4·dim bytes a row:
    the defaults make about 0.9 GB; tests use fewer clients and ``test_rows`` each. truth: "alpha"
    [clients, components], "theta" [components, dim], "component" [n].

    draws="script" takes the same numbers in the same order as the authors' script
    (data/synthetic/generate_data.py of Marfoq et al.), which draws from numpy's RandomState. With
    seed=12345 it makes the very samples of PPFL's Table 1, as the README of its code has it. The
    script labels the shares of all components from a client's first row on: later ones overwrite
    earlier ones, and what no share reaches has the label 0. "component" is then what labels a row,
    or -1.

    Args:
        clients: How many.
        components: Of the mixture.
        dim: Features of a sample.
        alpha: The Dirichlet concentration of a client's mixture, above 0.
        noise: The standard deviation of e.
        smallest: The fewest training rows of a client.
        largest: The most.
        mean: The log-normal's mean, of the logarithm. Only ``load`` in Python takes it: in an
            experiment [data] mean is the scale of inputs.
        sigma: Its standard deviation.
        test_rows: Official test rows of a client.
        features: "uniform" or "normal".
        draws: "own" or "script".
        seed: Of all that is drawn.

    Returns:
        Two classes, natural clients, official test rows.

    Raises:
        FedkinError: A number is out of range, or ``features`` or ``draws`` is not known.
    """
    _positive(
        clients=clients,
        components=components,
        dim=dim,
        smallest=smallest,
        test_rows=test_rows,
        alpha=alpha,
    )
    _check_draws(features, draws, seed)
    if components > COMPONENTS:
        raise FedkinError(
            f"synthetic_mixture: components={components} must be {COMPONENTS} or less"
        )
    _fits("synthetic_mixture", clients * components + components * dim, 8)
    _fits("synthetic_mixture", clients * (smallest + test_rows), 4 * dim)
    if largest < smallest or noise < 0 or sigma < 0:
        raise FedkinError(
            "synthetic_mixture: largest must be at least smallest, and noise and sigma at least 0"
        )
    if draws == "script":
        script_rng = np.random.RandomState(seed)
        lengths = script_rng.lognormal(mean, sigma, clients)
        weights = np.stack(
            [script_rng.dirichlet(np.full(components, alpha)) for _ in range(clients)]
        )
        theta = script_rng.uniform(-1, 1, (components, dim))
        sizes = _sizes(lengths, smallest, largest, test_rows)
        drawn = _as_the_script(script_rng, theta, weights, sizes, noise)
    else:
        rng = Key(seed).numpy("synthetic mixture")
        theta = rng.uniform(-1, 1, (components, dim)).astype(np.float32)
        weights = rng.dirichlet(np.full(components, alpha), size=clients)
        sizes = _sizes(rng.lognormal(mean, sigma, clients), smallest, largest, test_rows)
        drawn = _in_blocks(rng, theta, weights, sizes, noise, features)
    return Source(
        "synthetic_mixture",
        drawn.x,
        (drawn.noisy > 0).astype(np.int64),  # round(sigmoid(z)) is 1 exactly where z > 0
        2,
        client=np.repeat(np.arange(clients), sizes.sum(axis=1)),
        official_test=np.repeat(np.tile([False, True], clients), sizes.ravel()),
        class_names=("0", "1"),
        truth={
            "alpha": weights,
            "theta": theta.astype(np.float32),
            "component": drawn.component,
        },
        per_client=("alpha",),
    )


def _check_draws(features: str, draws: str, seed: int) -> None:
    if features not in ("uniform", "normal"):
        raise FedkinError(
            f"synthetic_mixture: features={features!r} is not known: use 'uniform' or 'normal'"
        )
    _seed("synthetic_mixture", seed)
    if draws == "script" and seed >= SEEDS:
        raise FedkinError(
            f"synthetic_mixture: draws='script' has seeds up to {SEEDS - 1}, not {seed}"
        )
    if draws not in DRAWS:
        raise FedkinError(f"synthetic_mixture: draws={draws!r} is not known: use 'own' or 'script'")
    if draws == "script" and features != "uniform":
        raise FedkinError(
            "synthetic_mixture: draws='script' has features='uniform' only, as the script has"
        )


class _Drawn(NamedTuple):
    """Samples x [n, dim], the noisy logit [n] and the component [n] of each."""

    x: Array
    noisy: Array
    component: Array


def _sizes(drawn: Array, smallest: int, largest: int, test_rows: int) -> Ints:
    """[clients, 2] training and test rows of each."""
    more = np.minimum(drawn, float(largest)).astype(np.int64)
    train = np.minimum(smallest + more, largest)
    return np.stack([train, np.full_like(train, test_rows)], axis=1)


def _in_blocks(
    rng: np.random.Generator,
    theta: Array,
    weights: Array,
    sizes: Ints,
    noise: float,
    features: str,
) -> _Drawn:
    """All rows, in blocks, so that temporaries stay small; of each client and part by component."""
    components, dim = theta.shape
    parts = [rng.multinomial(sizes[:, part], weights) for part in (0, 1)]
    counts = np.stack(parts, axis=1)
    rows = int(counts.sum())
    component = np.repeat(np.tile(np.arange(components), sizes.size), counts.ravel()).astype(
        np.int8
    )
    x = np.empty((rows, dim), np.float32)
    logit = np.empty(rows, np.float32)
    for start in range(0, rows, 65_536):
        part = slice(start, min(start + 65_536, rows))
        shape = (part.stop - part.start, dim)
        x[part] = (
            rng.standard_normal(shape, np.float32)
            if features == "normal"
            else rng.random(shape, np.float32) * 2 - 1
        )
        logit[part] = np.einsum("nd,nd->n", x[part], theta[component[part]])
    return _Drawn(x, logit + noise * rng.standard_normal(rows, np.float32), component)


def _as_the_script(
    rng: np.random.RandomState,
    theta: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
    sizes: Ints,
    noise: float,
) -> _Drawn:
    """Client by client, training rows before test rows: counts, samples, the noise of one component
    after the other, and a permutation.

    The script labels every component's share from the first row on (its ``current_index`` is never
    moved). So a row has the label of the last component that reaches it, and rows beyond the
    largest share keep the 0 that they began with.
    """
    components, dim = theta.shape
    rows = int(sizes.sum())
    drawn = _Drawn(np.empty((rows, dim), np.float32), np.empty(rows), np.empty(rows, np.int8))
    ends = np.cumsum(sizes)
    for part_number, n in enumerate(sizes.ravel()):
        client = part_number // 2
        counts = rng.multinomial(n, weights[client])
        x = rng.uniform(-1, 1, (n, dim))
        component, noisy = np.full(n, NOBODY), np.full(n, -np.inf)
        for number in range(components):
            first = slice(0, counts[number])
            noises = rng.normal(size=counts[number], scale=noise)
            noisy[first] = np.einsum("nd,d->n", x[first], theta[number]) + noises
            component[first] = number
        order = np.arange(n)
        rng.shuffle(order)
        part = slice(ends[part_number] - n, ends[part_number])
        drawn.x[part], drawn.noisy[part] = x[order], noisy[order]
        drawn.component[part] = component[order]
    return drawn


def linear_toy(
    *,
    rows: int = 20,
    sigmas: Sequence[float] = (2.0, 5.0, 200.0),
    noise: float = 10.0,
    dim: int = 2,
    reach: float = 10.0,
    seed: int = 0,
) -> Source:
    """COMET's toy (appendix, "Toy Example - Fig. 2"): linear regression, x float32 [clients·rows,
    dim], y = x·w_i + e.

    w_i = theta + zeta_i with theta ~ U(-reach, reach)^dim and zeta_i ~ N(0, sigmas[i]); x ~
    U(-reach, reach). Reading: sigmas are standard deviations. The paper does not give the noise: e
    ~ N(0, noise) with noise = 10, nor the (equal) sizes: 20 rows. truth: "w" [clients, dim],
    "theta" [dim].

    Args:
        rows: Samples of a client.
        sigmas: How far each client's w lies from theta; one a client.
        noise: The standard deviation of e.
        dim: Features of a sample.
        reach: Half the range of theta and x.
        seed: Of all that is drawn.

    Returns:
        A regression with natural clients.

    Raises:
        FedkinError: A number is out of range.
    """
    _seed("linear_toy", seed)
    _positive(rows=rows, dim=dim, reach=reach, clients=len(sigmas))
    _fits("linear_toy", len(sigmas) * rows, 8 * dim)
    if noise < 0 or min(sigmas) < 0:
        raise FedkinError("linear_toy: noise and every one of sigmas must be at least 0")
    rng = Key(seed).numpy("linear toy")
    clients = len(sigmas)
    theta = rng.uniform(-reach, reach, dim)
    w = theta + np.asarray(sigmas)[:, None] * rng.standard_normal((clients, dim))
    x = rng.uniform(-reach, reach, (clients, rows, dim))
    y = np.einsum("krd,kd->kr", x, w) + noise * rng.standard_normal((clients, rows))
    return Source(
        "linear_toy",
        x.reshape(-1, dim).astype(np.float32),
        y.ravel().astype(np.float32),
        0,
        client=np.repeat(np.arange(clients), rows),
        task="regression",
        truth={"w": w, "theta": theta},
        per_client=("w",),
    )


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0:
            raise FedkinError(f"{name}={value} must be greater than 0")


def _fits(name: str, rows: int, size: int) -> None:
    """Refuse rows of so many bytes that this machine has no memory for."""
    if rows * size > memory():
        raise FedkinError(
            f"{name}: {rows:,} rows of {size:,} bytes are more than this machine's memory of "
            f"{memory():,} bytes: ask for fewer"
        )


def _seed(name: str, seed: int) -> None:
    if seed < 0:
        raise FedkinError(f"{name}: seed={seed} is not possible: use 0 or more")
