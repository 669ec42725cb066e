"""What a row's bits may depend on beside its specification: commit, versions, machine."""

import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

import fedkin
from fedkin.experiment.run_facts import versions as versions_of

THREADS = "1"  # a run of the leaderboard computes with one


def today() -> str:
    """The day, as the world has it.

    Returns:
        "2026-01-31", say, in UTC.
    """
    return datetime.now(UTC).date().isoformat()


def versions() -> dict[str, str]:
    """Of fedkin and of what computes for it.

    Returns:
        {name: version}.
    """
    own = {"python": platform.python_version(), "numpy": np.__version__}
    return {**versions_of(), **own, "safetensors": version("safetensors")}


def machine() -> dict[str, str]:
    """What computes.

    Returns:
        {"system", "processor", "instructions", "threads"}.
    """
    return {
        "system": platform.system(),
        "processor": _processor(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": THREADS,
    }


@cache
def commit() -> str:
    """The commit of fedkin's own checkout, with a + where files differ from it; "" of an installed
    package.

    Returns:
        Twelve letters, perhaps with a +; or "".
    """
    root = Path(fedkin.__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return ""
    head = _git(root, "rev-parse", "--short=12", "HEAD")
    changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", "src")
    return head + ("+" if head and changed else "")


def differences(
    then: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]]
) -> list[str]:
    """What differs, as "torch 2.8.0 then, 2.9.0 now".

    Args:
        then: {part: {name: value}} of a row.
        now: The same of this machine.

    Returns:
        [] where nothing differs.
    """
    changes = []
    for part in then:
        for name, value in then[part].items():
            other = now.get(part, {}).get(name, "")
            if value != other:
                changes.append(f"{name} {value or 'unknown'} then, {other or 'unknown'} now")
    return changes


def _git(root: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        lines = []
    named = next((line.partition(":")[2].strip() for line in lines if "model name" in line), "")
    return named or platform.processor() or platform.machine()
