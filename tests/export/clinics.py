"""A small table as people have them: clinics whose patients differ, numbers, words, gaps."""

from pathlib import Path

import numpy as np

from tests.cli.command import fedkin


def write_clinics(path: Path, clinics: int = 5, patients: int = 24, seed: int = 0) -> Path:
    """patients.csv: hospital, age, bmi (gaps), ward (words), outcome (home, readmitted); odd
    clinics the other way.
    """
    rng = np.random.default_rng(seed)
    lines = ["hospital,age,bmi,ward,outcome"]
    for clinic in range(clinics):
        sign = 1 if clinic % 2 else -1
        for _ in range(patients):
            age, bmi, ward = (
                rng.integers(20, 90),
                rng.normal(27, 4),
                rng.choice(["icu", "surgery", "medicine"]),
            )
            ill = rng.random() < 1 / (1 + np.exp(-sign * (age - 55) / 8))
            gap = "" if rng.random() < 0.1 else f"{bmi:.1f}"
            lines.append(f"H{clinic:02d},{age},{gap},{ward},{'readmitted' if ill else 'home'}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run_of_clinics(folder: Path, patients: int) -> tuple[Path, Path]:
    """The table of two clinics, and the run of one round in which each trained alone."""
    table, run = (
        write_clinics(folder / "patients.csv", clinics=2, patients=patients),
        folder / "run",
    )
    run_table(table, "local", run)
    return table, run


def run_table(table: Path, method: str, out: Path) -> None:
    """A run of one round of a table of clinics."""
    given = f"{table}:client=hospital,label=outcome"
    few = ["--engine", "inprocess", "--rounds", "1", "--set", "train.steps=2"]
    done = fedkin("run", *few, "--data", given, "--method", method, "--out", out)
    assert done.exit_code == 0, done.output
