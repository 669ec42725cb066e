"""Tiny made-up copies of data sets in the layouts in which others publish them."""

import json
from pathlib import Path

import numpy as np

SIGNALS = ("body_acc", "body_gyro", "total_acc")
SUBJECTS = {"train": (3, 1), "test": (2,)}  # as there: of no order, and in one part each
WRITERS = ("f0001_02", "f0000_14", "f0003_45")
ROLES = ("THE_TEMPEST_ARIEL", "THE_TEMPEST_MIRANDA")


def write_har(folder: Path, windows: int = 6) -> Path:
    """UCI HAR's text files: of each subject two recordings of two activities, whose windows overlap
    by half.
    """
    rng = np.random.default_rng(0)
    for part, subjects in SUBJECTS.items():
        signals = folder / part / "Inertial Signals"
        signals.mkdir(parents=True)
        x, y, subject = [], [], []
        for one in subjects:
            for activity in (5, 1, 5, 1):  # as there: activities are done twice
                recording = rng.normal(size=(64 * (windows + 1), 9))
                x += [recording[64 * k : 64 * k + 128] for k in range(windows)]
                y += [activity] * windows
                subject += [one] * windows
        for number, name in enumerate(f"{one}_{axis}" for one in SIGNALS for axis in "xyz"):
            rows = np.stack(x)[:, :, number]
            np.savetxt(signals / f"{name}_{part}.txt", rows, fmt=" %.7e")
        np.savetxt(folder / part / f"y_{part}.txt", y, fmt="%d")
        np.savetxt(folder / part / f"subject_{part}.txt", subject, fmt="%d")
    return folder


def write_leaf_femnist(folder: Path) -> Path:
    """LEAF's train and test: pictures as 784 numbers from 0 to 1."""
    rng = np.random.default_rng(1)
    for part, rows in (("train", 12), ("test", 3)):
        pixels = {writer: rng.integers(0, 256, (rows, 784)) for writer in WRITERS}
        classes = {writer: [(7 * k) % 62 for k in range(rows)] for writer in WRITERS}
        data = {w: {"x": (pixels[w] / 255).tolist(), "y": classes[w]} for w in WRITERS}
        _write(folder / part, data)
    return folder


def write_leaf_shakespeare(folder: Path) -> Path:
    """LEAF's windows of 80 characters with the next one, and the roles' lines that they are of."""
    raw = folder / "raw_data" / "by_play_and_character"
    raw.mkdir(parents=True)
    for role in ROLES:
        lines = [f"{role} speaks line {k}, and says what it has to say. " * 2 for k in range(6)]
        (raw / f"{role}.txt").write_text("\n".join(lines) + "\n")
    for part, rows in (("train", 20), ("test", 4)):
        text = "To be, or not to be, that is the question: whether it is nobler. " * 3
        own = {"x": [text[k : k + 80] for k in range(rows)], "y": list(text[80 : 80 + rows])}
        _write(folder / part, dict.fromkeys(ROLES, own))
    return folder


def _write(folder: Path, data: dict[str, dict[str, list[object]]]) -> None:
    folder.mkdir(parents=True)
    counts = [len(own["y"]) for own in data.values()]
    content = {"users": list(data), "num_samples": counts, "user_data": data}
    (folder / "all_data_0.json").write_text(json.dumps(content))
