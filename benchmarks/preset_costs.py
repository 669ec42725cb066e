"""What every preset's rows cost in processor time: src/fedkin/reproduce/costs.csv, from runs that
were made.

    fedkin reproduce NAME --out DIR --set engine.name=inprocess   every preset, and full-scale runs
    FEDKIN_DATA=DIR python -m benchmarks.preset_costs DIR …       writes the file
    FEDKIN_DATA=DIR python -m benchmarks.preset_costs --check     how good its counted rows may be

A row that was run is *measured*: its run stands below one of the folders, or it was measured
before. The others are *counted*: the rate of the measured row that is most like it × the ratio of
their counted work (``benchmarks.work``). Data that are not at hand can be made up (``python -m
benchmarks.made_up DIR``): values do not change the time.
"""

import argparse
from pathlib import Path
from statistics import median

import torch

import fedkin.reproduce.estimate
from benchmarks.work import like, work
from fedkin.core.errors import FedkinError
from fedkin.reproduce.cost import cost
from fedkin.reproduce.estimate import COUNTED, MEASURED, PROBE, Costs, costs, probe
from fedkin.reproduce.preset import SCALES, names, preset
from fedkin.reproduce.row_spec import spec_of
from fedkin.runs.spec import MethodSection, Spec

FILE = Path(fedkin.reproduce.estimate.__file__).with_name("costs.csv")
HEAD = (
    "# Processor seconds of one seed, one process, two-core machine: python -m "
    "benchmarks.preset_costs"
)
LONG = 50  # rounds


def measured(name: str, folders: list[Path]) -> Costs | None:
    """What a row's run took, if it is in one of the folders and was made in one session and
    process.
    """
    for folder in folders:
        found = cost(folder / "runs" / f"{name}-seed0")
        if (
            found
            and found.once is not None
            and found.round is not None
            and found.finish is not None
        ):
            return Costs(found.once, found.round, found.finish, MEASURED)
    return None


def counted(mine: Spec, others: dict[str, Spec], lines: dict[str, Costs]) -> Costs:
    """A row's costs from those of the measured row that is most like it."""
    before = nearest(mine, others)
    model, known = others[before].model, lines[before]
    here, there = work(others[before]), work(mine)
    once = max(0.0, known.once - known.round)
    if model == mine.model:
        rate, last = known.round / here.round, known.finish / here.finish
    else:
        # small models cost more than their gradients: what carries over is the ratio to FedAvg
        base = nearest(
            others[before].model_copy(update={"method": MethodSection(name="fedavg")}), others
        )
        rate = last = known.round / here.round / (lines[base].round / work(others[base]).round)
    return Costs(once + rate * there.round, rate * there.round, last * there.finish, COUNTED)


def nearest(mine: Spec, others: dict[str, Spec]) -> str:
    """The name of the measured row whose setting has most in common with a specification."""
    return max(others, key=lambda name: alike(mine, others[name]))


def alike(a: Spec, b: Spec) -> tuple[bool, bool, bool, bool, int]:
    """The method first, the model, whether steps are likely to be compiled (long runs are), the
    data, then how many settings are equal.
    """
    settings = [
        (getattr(a, name).model_dump(), getattr(b, name).model_dump())
        for name in ("method", "train", "split")
    ]
    equal = sum(x.get(key) == value for x, y in settings for key, value in y.items())
    long = (a.run.rounds >= LONG) == (b.run.rounds >= LONG)
    return (
        a.method.name == b.method.name,
        a.model == b.model,
        long,
        a.data.name == b.data.name,
        equal,
    )


def specifications() -> dict[str, Spec]:
    """Of every row that is a run, both scales, by name; with data of the same shapes where its own
    may be missing.
    """
    found = [row for name in names() for scale in SCALES for row in preset(name, scale).rows]
    return {row.name: like(spec_of(row, 0, {})) for row in found if row.runner == "experiment"}


def check(known: dict[str, Spec], lines: dict[str, Costs]) -> None:
    """Every measured row from the other measured ones: how many times its true cost would have been
    told.
    """
    ratios: dict[bool, list[float]] = {True: [], False: []}
    for name, mine in known.items():
        others = {other: spec for other, spec in known.items() if other != name}
        same = known[nearest(mine, others)].model == mine.model
        rounds = mine.run.rounds
        ratios[same].append(
            counted(mine, others, lines).seconds(rounds) / lines[name].seconds(rounds)
        )
    for same, found in ratios.items():
        within = sum(1 / 2 <= ratio <= 2 for ratio in found) / max(1, len(found))
        beside = "the same model" if same else "another model"
        print(
            f"beside {beside}: {len(found)} rows, estimated / measured: median "
            f"{median(found):.2f},",
            end=" ",
        )
        print(f"{min(found):.2f} to {max(found):.2f}, {within:.0%} within a factor of two")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="*", metavar="DIR")
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing: count the measured rows from each other",
    )
    parser.add_argument(
        "--speed", action="store_true", help="measure the machine's speed anew: it must be idle"
    )
    asked = parser.parse_args()
    torch.set_num_threads(1)
    rows = specifications()
    before = {name: one for name, one in costs().items() if name in rows and one.how == MEASURED}
    lines = before | {name: found for name in rows if (found := measured(name, asked.folders))}
    known = {name: rows[name] for name in lines}
    if asked.check:
        check(known, lines)
        return
    for name, mine in rows.items():
        try:
            if name not in known:
                lines[name] = counted(mine, known, lines)
        except FedkinError as error:
            print(f"{name} is left out: {error}")
    lines[PROBE] = Costs(probe(), 0.0, 0.0, MEASURED) if asked.speed else costs()[PROBE]
    told = [
        f"{name},{one.once:.3g},{one.round:.3g},{one.finish:.3g},{one.how}"
        for name, one in sorted(lines.items())
    ]
    FILE.write_text("\n".join([HEAD, "row,once,round,finish,how", *told, ""]), encoding="utf-8")
    print(FILE, len(told), "rows, of them measured:", len(known))


if __name__ == "__main__":
    main()
