"""Twenty phones, three architectures, one language between them: predictions on public samples
(COMET).
"""

from pathlib import Path

import torch
from torch import nn

from fedkin import Experiment, Result, run
from fedkin.report import frames

MODELS = {"old": "mlr", "usual": "dnn:hidden=32", "new": "phones:Net:width=16"}


class Net(nn.Module):
    """Your own torch module, for the new phones."""

    def __init__(self, shape: tuple[int, ...], classes: int, width: int) -> None:
        super().__init__()
        convolution = nn.Conv2d(shape[0], width, 3, padding=1)
        self.layers = nn.Sequential(
            convolution, nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.LazyLinear(classes)
        )
        self.layers(torch.zeros(1, *shape))  # sizes the last layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits [batch, classes] of images [batch, channels, height, width]."""
        out: torch.Tensor = self.layers(x)
        return out


def main(folder: Path = Path("runs"), rounds: int = 40) -> dict[str, Result]:
    """COMET against every phone alone, on the same samples: mean test accuracy by architecture."""
    shared = {
        "data": "digits",
        "split": "dirichlet",
        "clients": 20,
        "rounds": rounds,
        "seed": 2,
        "lr": 0.1,
        "epochs": 2,
        "public": "held-out",  # a tenth of the samples: seen by everybody, without labels
        "engine": "inprocess",
        "split.alpha": 0.3,
        "split.floor": 20,
        "model.map": MODELS,
        "model.rule": "random",
        "model.shares": [0.3, 0.5, 0.2],
    }
    settings = {"local": {}, "comet": {"method.clusters": 3, "method.lam": 0.3}}
    results = {
        name: run(Experiment(name, **shared, **own), folder / name)
        for name, own in settings.items()
    }
    for name, result in results.items():
        last = (
            result.metrics.query("split == 'test' and view == 'personal'").groupby("client").last()
        )
        kinds = frames.clients(result.folder).set_index("client")["architecture"]
        means = last["accuracy"].groupby(kinds).mean()
        print(name, *(f"{kind} {accuracy:.1%}" for kind, accuracy in means.items()), sep="   ")
    return results


if __name__ == "__main__":
    main()
