"""The toy of COMET's Fig. 2: three clients' linear regressions, each method in closed form."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans

from fedkin.core.rng import Key
from fedkin.data.synthetic import linear_toy
from fedkin.theory.linear_regression import Floats, minimiser

__all__ = ["Toy", "toy"]


class Toy(NamedTuple):
    """Models [clients, d] of the toy: the truth, each client's least squares, and what each method
    ends with.
    """

    true: Floats
    local: Floats
    fedavg: Floats
    plain: Floats
    clustered: Floats
    groups: npt.NDArray[np.int64]

    def distances(self) -> dict[str, Floats]:
        """Distance of each client's model to its truth, [clients], by method.

        Returns:
            {method: ‖w_k − truth‖ of each client [clients]}.
        """
        methods = {
            "local": self.local,
            "fedavg": self.fedavg,
            "KT without clustering": self.plain,
            "KT with clustering": self.clustered,
        }
        return {
            name: np.linalg.norm(models - self.true, axis=1) for name, models in methods.items()
        }


def toy(
    seed: int = 0, *, rows: int = 20, lam: float = 50.0, clusters: int = 2, public: int = 20
) -> Toy:
    """The example of COMET's Fig. 2 (section III-B and appendix): three clients, of which two are
    alike.

    Without clustering, every client is taught the mean of all predictions (α = 1/3); with
    clustering, the mean of its c-means cluster of predictions on ``public`` samples from the same
    range. Both in closed form (``minimiser``). With λ = 50, far above ``lambda_star``, clients 0
    and 1 end nearer to their truth with clustering than without it or by FedAvg, but ``local``
    least squares is nearer still: the figure does not show it, ``distances`` does. Reading: sizes,
    noise and the number of public samples are not in the paper, see ``linear_toy``.

    Args:
        seed: Of all that is drawn.
        rows: Samples of a client.
        lam: λ of the pull to the teacher's predictions, at least 0.
        clusters: Of the c-means.
        public: Samples that clients predict.

    Returns:
        Models of each client, and their clusters.
    """
    source = linear_toy(rows=rows, seed=seed)
    clients = len(source.truth["w"])
    x = source.x.reshape(clients, rows, -1).astype(np.float64)
    y = source.y.reshape(clients, rows).astype(np.float64)
    p = Key(seed).numpy("linear toy public").uniform(-10, 10, (public, x.shape[2]))
    xtx = np.einsum("krd,kre->kde", x, x)
    local = np.stack([np.linalg.lstsq(x[k], y[k], rcond=None)[0] for k in range(clients)])
    pooled = np.linalg.lstsq(x.reshape(-1, x.shape[2]), y.ravel(), rcond=None)[0]
    groups = KMeans(clusters, n_init=10, random_state=0).fit(local @ p.T).labels_
    alike = (groups[:, None] == groups[None, :]).astype(float)
    teacher = alike / alike.sum(axis=1, keepdims=True) @ local

    def teach(teachers: Floats) -> Floats:
        return np.stack(
            [minimiser(xtx[k], p.T @ p, lam, local[k], teachers[k]) for k in range(clients)]
        )

    mean = np.broadcast_to(local.mean(axis=0), local.shape)
    fedavg = np.broadcast_to(pooled, local.shape)
    return Toy(
        source.truth["w"], local, fedavg, teach(mean), teach(teacher), groups.astype(np.int64)
    )
