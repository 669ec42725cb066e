"""What [method] safe = true is worth: how many clients a method hurts, and what is gained on
`local`, with and without it, on the four settings of docs/results.md.

    FEDKIN_DATA=DIR python -m benchmarks.safe --out RUNS [--settings har,femnist]
        [--only ditto,apfl] [--seed 1] [--write docs/safe.md]

Each method has the setting that its search chose there under seed 0. It is trained once, and so is
`local`: what safe would deploy is chosen from their models on validation rows, as a safe run does,
for its model beside is that of `local`, bit for bit. Test rows are read for the table only. *Hurt*
is a share of the clients whose test accuracy is below that of `local`; *surely* by the same test at
the 5 % level. Finished rows are not repeated.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.gains import SETTINGS, table
from benchmarks.methods import trial
from benchmarks.page import renew
from fedkin.core.model import Model
from fedkin.engine.evaluation import Predict
from fedkin.experiment.run import run
from fedkin.export.opened import Opened
from fedkin.runs.spec import literal, parse
from fedkin.transforms.safe import blend, chosen, errors, no_better

METHODS = (
    *("fedavg", "finetune", "ditto", "apfl", "ifca"),
    *("fedper", "pfedme", "scaffold", "per_fedavg", "ppfl"),
)
HEAD = (
    "| data, method | gain | gain, safe | hurt | hurt, safe | surely | surely, safe | "
    "federated / mixture / alone |\n|---|---|---|---|---|---|---|---|"
)


def trained(setting: str, name: str, folder: str, seed: int = 0) -> Opened:
    """A finished run, opened, with the hyper-parameters that docs/results.md names."""
    words = [word.rpartition(" ") for word in table(setting)[name][5].split(", ")]
    hyper = {key: literal(value) for key, _, value in words}
    rate = hyper.pop("lr")
    content = trial(setting, name, rate, hyper, seed, Path(folder)).content
    return Opened(run(parse(content)[0], out=Path(folder) / name))


def logs(opened: Opened, client: int, x: torch.Tensor) -> torch.Tensor:
    """Log-probabilities of a client's personal model."""
    member = opened.member(client)
    model = opened.parts.models[opened.architecture(member)]
    predict: Predict = opened.parts.method.predict
    with torch.no_grad():
        return predict(model, opened.view(member), x)


def deployed(model: Model, share: float, p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """Log-probabilities of what a client deploys: of the federated model p and its own q."""
    return {0.0: q, 1.0: p}.get(share, blend(model, p, q, torch.tensor(share)))


def row(alone: Opened, other: Opened) -> dict[str, Any]:
    """What the clients lose and gain, with and without safe."""
    population, gains = alone.parts.population, {"plain": [0.0], "safe": [0.0]}
    hurt, surely = {"plain": 0, "safe": 0}, {"plain": 0, "safe": 0}
    taken = [0, 0, 0]
    host = other.coordinator.transport.host  # type: ignore[attr-defined]
    for client in range(population.clients):
        data = host.data(alone.parts.spec.run.rounds + 1, client)
        own = alone.view(alone.member(client))
        share, _ = chosen(other.parts.method, other.view(other.member(client)), own, data, errors)
        taken[0 if share == 1 else 2 if share == 0 else 1] += 1
        rows = population.rows("test")[client]
        x, y = population.x[rows], population.y[rows]
        p, q = logs(other, client, x), logs(alone, client, x)
        mixture = deployed(data.model, share, p, q)
        base = errors(data.model, q, y).double()
        for name, out in (("plain", p), ("safe", mixture)):
            worse = errors(data.model, out, y).double() - base
            gains[name].append(-100 * float(worse.mean()))
            hurt[name] += float(worse.mean()) > 1e-9
            surely[name] += no_better(worse) <= 0.05
    count = population.clients
    return {
        "gain": {name: sum(values) / count for name, values in gains.items()},
        "hurt": {name: value / count for name, value in hurt.items()},
        "surely": {name: value / count for name, value in surely.items()},
        "taken": taken,
    }


def measured(setting: str, names: Sequence[str], out: Path, seed: int) -> dict[str, dict[str, Any]]:
    """The rows of a setting, each kept in a file when it is done."""
    files = {name: out / f"{setting}-{name}.json" for name in names}
    out.mkdir(parents=True, exist_ok=True)
    left = [name for name in names if not files[name].exists()]
    with tempfile.TemporaryDirectory() as folder:
        alone = trained(setting, "local", folder, seed) if left else None
        for name in left:
            assert alone is not None
            found = row(alone, trained(setting, name, folder, seed))
            files[name].write_text(json.dumps(found))
            print(setting, name, found, flush=True)
    return {name: json.loads(path.read_text()) for name, path in files.items()}


def lines(setting: str, rows: dict[str, dict[str, Any]]) -> list[str]:
    """Markdown rows, the mean last."""
    mean = {
        part: {
            name: sum(one[part][name] for one in rows.values()) / len(rows)
            for name in ("plain", "safe")
        }
        for part in ("gain", "hurt", "surely")
    }
    told = {**rows, "**mean**": mean}
    return [
        f"| {SETTINGS[setting]}, {name} | {one['gain']['plain']:+.1f} | {one['gain']['safe']:+.1f}"
        f" | {one['hurt']['plain']:.0%} | {one['hurt']['safe']:.0%} | {one['surely']['plain']:.0%}"
        f" | {one['surely']['safe']:.0%} | {' / '.join(map(str, one.get('taken', [])))} |"
        for name, one in told.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--settings", default=",".join(SETTINGS))
    parser.add_argument("--only", default=",".join(METHODS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    found: list[str] = []
    for setting in given.settings.split(","):
        found += lines(setting, measured(setting, given.only.split(","), given.out, given.seed))
    print("\n".join([HEAD, *found]))
    if given.write is not None:
        order = [f"{data}, {name}" for data in SETTINGS.values() for name in (*METHODS, "**mean**")]
        renew(given.write, "safe", HEAD, found, order)


if __name__ == "__main__":
    main()
