"""What [method] safe = true is worth: how many clients a method hurts, and what is gained on
`local`, with and without it, on the four settings of docs/results.md.

    FEDKIN_DATA=DIR python -m benchmarks.safe --settings har,femnist --seeds 0,1,2
        [--only ditto,apfl] [--keep FOLDER]
    python -m benchmarks.safe --write docs/safe.md

Each method has the setting that its search chose there under seed 0. It is trained once, and so is
`local`: what safe would deploy is chosen from their models on validation rows, as a safe run does,
for its model beside is that of `local`, bit for bit. Test rows are read for the tables only. *Hurt*
is a share of the clients whose test accuracy is below that of `local`; *surely* by the same test at
the 5 % level. The first command adds the rows that safe.csv beside this file lacks, the second
writes its tables. ``--keep``: the models' predictions stay in a folder, so that another rule can be
tried on them without training anew.
"""

import argparse
import csv
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import torch
from safetensors.torch import load_file, save_file

from benchmarks.gains import SETTINGS, table
from benchmarks.methods import trial
from benchmarks.own_truth import add
from benchmarks.page import put
from fedkin.core.family import CATEGORICAL
from fedkin.core.model import from_module
from fedkin.engine.evaluation import Predict
from fedkin.experiment.run import run
from fedkin.export.opened_run import Opened
from fedkin.runs.spec import literal, parse
from fedkin.transforms.safe import blend, choice, errors, no_better

METHODS = (
    *("fedavg", "finetune", "ditto", "apfl", "ifca"),
    *("fedper", "pfedme", "scaffold", "per_fedavg", "ppfl"),
)
ROWS = Path(__file__).with_name("safe.csv")
COLUMNS = (
    *("setting", "seed", "method", "gain", "gain_safe", "hurt", "hurt_safe"),
    *("surely", "surely_safe", "federated", "mixture", "alone"),
)
CLASSES = from_module("classes", torch.nn.Linear(1, 2), CATEGORICAL)  # rows are right or wrong
SHARES = COLUMNS[3:9]  # what tables give: the gain in points, shares of clients
HEAD = (
    "| data, method | seeds | gain | gain, safe | hurt | hurt, safe | surely | surely, safe | "
    "federated / mixture / alone |\n|---|---|---|---|---|---|---|---|---|"
)
HEAD_SEEDS = (
    "| data | seed | gain | gain, safe | hurt | hurt, safe | surely | surely, safe |\n"
    "|---|---|---|---|---|---|---|---|"
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


def deployed(share: float, p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """Log-probabilities of what a client deploys: of the federated model p and its own q."""
    return {0.0: q, 1.0: p}.get(share, blend(CLASSES, p, q, torch.tensor(share)))


Judged = dict[str, tuple[torch.Tensor, torch.Tensor, torch.Tensor]]
"""Of a client's rows "val" and "test": log-probabilities of the federated model and of its own
[n, classes], and what is true [n]."""


def judged(alone: Opened, other: Opened) -> list[Judged]:
    """What the two models of each client say of its rows."""
    population, found = alone.parts.population, []
    for client in range(population.clients):
        parts: Judged = {}
        for part in ("val", "test"):
            rows = population.rows(part)[client]
            x, y = population.x[rows], population.y[rows]
            parts[part] = logs(other, client, x), logs(alone, client, x), y
        found.append(parts)
    return found


def keep(file: Path, clients: Sequence[Judged]) -> None:
    """Write them, as tensors CLIENT/PART/NUMBER."""
    tensors = {
        f"{client}/{part}/{number}": values.contiguous()
        for client, parts in enumerate(clients)
        for part, some in parts.items()
        for number, values in enumerate(some)
    }
    save_file(tensors, file)


def kept(file: Path) -> list[Judged]:
    """Read what ``keep`` wrote."""
    found: dict[int, Judged] = {}
    tensors = load_file(file)
    for name in tensors:
        client, part, number = name.split("/")
        if number == "0":
            p, q, y = (tensors[f"{client}/{part}/{index}"] for index in range(3))
            found.setdefault(int(client), {})[part] = p, q, y
    return [found[client] for client in sorted(found)]


def row(clients: Sequence[Judged]) -> tuple[float, ...]:
    """What the clients lose and gain, without and with safe, and how many deploy what: the numbers
    of ``COLUMNS``.
    """
    gain, hurt, surely = [0.0, 0.0], [0, 0], [0, 0]
    taken = [0, 0, 0]
    for parts in clients:
        share, _ = choice(CLASSES, *parts["val"], errors)
        taken[0 if share == 1 else 2 if share == 0 else 1] += 1
        p, q, y = parts["test"]
        base = errors(CLASSES, q, y).double()
        for way, out in enumerate((p, deployed(share, p, q))):
            worse = errors(CLASSES, out, y).double() - base
            gain[way] -= 100 * float(worse.mean())
            hurt[way] += float(worse.mean()) > 1e-9
            surely[way] += no_better(worse) <= 0.05
    shares = (value / len(clients) for value in (*gain, *hurt, *surely))
    return *(round(share, 5) for share in shares), *taken


def measure(setting: str, names: Sequence[str], seed: int, folder: Path) -> None:
    """Add the rows of a setting that the file lacks. What is kept in the folder is not trained."""
    done = {(one["setting"], one["seed"], one["method"]) for one in measured()}
    left = [name for name in names if (setting, str(seed), name) not in done]
    files = {name: folder / f"{setting}-{seed}-{name}.safetensors" for name in left}
    untrained = [name for name in left if not files[name].exists()]
    with tempfile.TemporaryDirectory() as runs:
        alone = trained(setting, "local", runs, seed) if untrained else None
        for name in left:
            if alone is not None and name in untrained:
                keep(files[name], judged(alone, trained(setting, name, runs, seed)))
            found = (setting, seed, name, *row(kept(files[name])))
            add(ROWS, COLUMNS, found)
            print(*found, flush=True)


def measured() -> list[dict[str, str]]:
    """The rows of the file, as text."""
    if not ROWS.exists():
        return []
    with ROWS.open(newline="") as file:
        return list(csv.DictReader(file))


def methods_table() -> str:
    """Means over seeds of each method, and of all of a data set."""
    lines, rows = [HEAD], measured()
    for setting, title in SETTINGS.items():
        of = [one for one in rows if one["setting"] == setting]
        for name in METHODS:
            some = [one for one in of if one["method"] == name]
            taken = [fmean(float(one[key]) for one in some) for key in COLUMNS[9:]]
            cells = " / ".join(f"{count:.0f}" for count in taken)
            lines.append(f"| {title}, {name} | {len(some)} | {_means(some)} | {cells} |")
        seeds = len({one["seed"] for one in of})
        lines.append(f"| {title}, **mean** | {seeds} | {_means(of)} |  |")
    return "\n".join(lines)


def seeds_table() -> str:
    """Means over methods of each data set and seed, and over its seeds."""
    lines, rows = [HEAD_SEEDS], measured()
    for setting, title in SETTINGS.items():
        of = [one for one in rows if one["setting"] == setting]
        for seed in sorted({one["seed"] for one in of}):
            lines.append(f"| {title} | {seed} | {_means([o for o in of if o['seed'] == seed])} |")
        lines.append(f"| {title} | **mean** | {_means(of)} |")
    return "\n".join(lines)


def _means(rows: Sequence[dict[str, str]]) -> str:
    means = [fmean(float(one[key]) for one in rows) for key in SHARES]
    gains = [f"{mean:+.1f}" for mean in means[:2]]
    return " | ".join([*gains, *(f"{mean:.0%}" for mean in means[2:])])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--settings", default=",".join(SETTINGS))
    parser.add_argument("--only", default=",".join(METHODS))
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    if given.write is not None:
        put(given.write, "safe", methods_table())
        put(given.write, "safe-seeds", seeds_table())
        return
    with tempfile.TemporaryDirectory() as folder:
        keeping = given.keep or Path(folder)
        keeping.mkdir(parents=True, exist_ok=True)
        for seed in given.seeds.split(","):
            for setting in given.settings.split(","):
                measure(setting, given.only.split(","), int(seed), keeping)


if __name__ == "__main__":
    main()
