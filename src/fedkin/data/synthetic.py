"""Data made here, with its truth: a mixture of logistic models (PPFL), and three lines (COMET's
toy).
"""

from collections.abc import Sequence

import numpy as np

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.data.source import Source


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

    Args:
        clients: How many.
        components: Of the mixture.
        dim: Features of a sample.
        alpha: The Dirichlet concentration of a client's mixture, above 0.
        noise: The standard deviation of e.
        smallest: The fewest training rows of a client.
        largest: The most.
        mean: The log-normal's mean, of the logarithm.
        sigma: Its standard deviation.
        test_rows: Official test rows of a client.
        features: "uniform" or "normal".
        seed: Of all that is drawn.

    Returns:
        Two classes, natural clients, official test rows.

    Raises:
        FedkinError: A number is out of range, or ``features`` is not known.
    """
    _positive(
        clients=clients,
        components=components,
        dim=dim,
        smallest=smallest,
        test_rows=test_rows,
        alpha=alpha,
    )
    if features not in ("uniform", "normal"):
        raise FedkinError(
            f"synthetic_mixture: features={features!r} is not known: use 'uniform' or 'normal'"
        )
    if largest < smallest or noise < 0 or sigma < 0:
        raise FedkinError(
            "synthetic_mixture: largest must be at least smallest, and noise and sigma at least 0"
        )
    rng = Key(seed).numpy("synthetic mixture")
    theta = rng.uniform(-1, 1, (components, dim)).astype(np.float32)
    weights = rng.dirichlet(np.full(components, alpha), size=clients)
    drawn = np.minimum(rng.lognormal(mean, sigma, clients), float(largest))
    train = np.minimum(smallest + drawn.astype(np.int64), largest)
    counts = np.stack(
        [rng.multinomial(train, weights), rng.multinomial(np.full(clients, test_rows), weights)],
        axis=1,
    )
    rows = int(counts.sum())
    component = np.repeat(np.tile(np.arange(components), 2 * clients), counts.ravel()).astype(
        np.int8
    )
    x = np.empty((rows, dim), np.float32)
    logit = np.empty(rows, np.float32)
    for start in range(0, rows, 65_536):  # in blocks, so that temporaries stay small
        part = slice(start, min(start + 65_536, rows))
        shape = (part.stop - part.start, dim)
        x[part] = (
            rng.standard_normal(shape, np.float32)
            if features == "normal"
            else rng.random(shape, np.float32) * 2 - 1
        )
        logit[part] = np.einsum("nd,nd->n", x[part], theta[component[part]])
    noisy = logit + noise * rng.standard_normal(rows, np.float32)
    return Source(
        "synthetic_mixture",
        x,
        (noisy > 0).astype(np.int64),  # round(sigmoid(z)) is 1 exactly where z > 0
        2,
        client=np.repeat(np.arange(clients), counts.sum(axis=(1, 2))),
        official_test=np.repeat(np.tile([False, True], clients), counts.sum(axis=2).ravel()),
        class_names=("0", "1"),
        truth={"alpha": weights, "theta": theta, "component": component},
        per_client=("alpha",),
    )


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
    _positive(rows=rows, dim=dim, reach=reach, clients=len(sigmas))
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
