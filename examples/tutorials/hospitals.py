"""Made-up patients of thirty hospitals, a CSV each in hospitals/: put your own files
there instead.
"""

import csv
from pathlib import Path

import numpy as np

COLUMNS = ["age", "bmi", "crp", "ward", "readmitted"]


def main(folder: Path = Path("hospitals"), hospitals: int = 30, seed: int = 0) -> None:
    """What age and CRP mean for readmission differs between two kinds of hospital; bmi has gaps,
    ward is a word.
    """
    rng = np.random.default_rng(seed)
    folder.mkdir(exist_ok=True)
    for hospital in range(hospitals):
        kind = 1 if hospital % 2 else -1
        with (folder / f"H{hospital:02d}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            for _ in range(int(rng.integers(60, 140))):
                age, bmi, crp = rng.integers(20, 95), rng.normal(27, 4), rng.gamma(2, 20)
                ward = rng.choice(["surgery", "medicine", "icu"], p=[0.5, 0.4, 0.1])
                risk = kind * (age - 57) / 10 + (crp - 40) / 30 + (ward == "icu") - 0.3
                ill = rng.random() < 1 / (1 + np.exp(-risk))
                gap = "" if rng.random() < 0.05 else f"{bmi:.1f}"
                writer.writerow([age, gap, f"{crp:.0f}", ward, "yes" if ill else "no"])


if __name__ == "__main__":
    main()
