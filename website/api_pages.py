"""Reference pages of the Python interface, for mkdocstrings to fill from docstrings."""

import re
from importlib.util import find_spec

import fedkin
from website.staging import ROOT

# The public modules by what one wants of them; other modules may change without notice.
PUBLIC: dict[str, dict[str, str]] = {
    "Experiments": {
        "fedkin.api.experiment": "Describe an experiment and run it",
        "fedkin.api.result": "Look at what came out, or go on",
    },
    "Writing a method": {
        "fedkin.core.method": "The contract: what a method is",
        "fedkin.core.aggregation": "What the server needs of the replies",
        "fedkin.core.tree": "States and messages",
        "fedkin.core.ops": "Steps over mini-batches",
        "fedkin.core.kinds": "Kinds of what is sent",
        "fedkin.core.model": "Models as functions",
        "fedkin.core.rng": "Randomness from a seed",
        "fedkin.core.layers": "Naming layers",
        "fedkin.core.errors": "Errors in one sentence",
        "fedkin.methods": "All methods by name",
        "fedkin.methods.fedavg": "FedAvg, to build on",
    },
    "Data": {
        "fedkin.data.sources": "Data sets by name or path",
        "fedkin.data.named_sets": "Data sets that have names",
        "fedkin.data.arrays": "Arrays",
        "fedkin.data.population": "Clients and their samples",
        "fedkin.data.population_builder": "From samples to clients",
        "fedkin.data.partitions.registry": "Partitions by name",
        "fedkin.data.public": "Public sets",
    },
    "Models": {
        "fedkin.models.build": "Architectures by name",
        "fedkin.models.learner": "Models that are no torch module",
    },
    "Runs and results": {
        "fedkin.runs.spec": "The specification of an experiment",
        "fedkin.setup.loaded_run": "Open a finished run",
        "fedkin.report.frames": "The record as DataFrames",
        "fedkin.report.summary": "The numbers of a run",
        "fedkin.report.comparison.compare": "Runs side by side",
    },
    "Theory and baselines": {
        "fedkin.theory.run_bounds": "Bounds along a run",
        "fedkin.theory.generalization": "Generalization bounds",
        "fedkin.theory.stationarity": "Distance from a stationary point",
        "fedkin.theory.mixed_models": "Mixed models",
        "fedkin.theory.linear_regression": "COMET on linear regression",
        "fedkin.theory.linear_toy": "A toy problem with a known optimum",
        "fedkin.baselines.mixed_effects": "Generalized linear mixed models",
    },
}


def public() -> dict[str, dict[str, str]]:
    """``PUBLIC``, and in a group of their own the other modules that pages and examples import."""
    known = {module for group in PUBLIC.values() for module in group}
    rest = sorted(imported() - known)
    return {**PUBLIC, **({"Also used on these pages": dict.fromkeys(rest, "")} if rest else {})}


def imported() -> set[str]:
    """Every module of fedkin that README, CONTRIBUTING, docs/ or examples/ import from."""
    paths = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    paths += (ROOT / "examples").rglob("*.py")
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    pairs = re.findall(r"^\s*from (fedkin\.[a-z_.]+) import (\w+)", text, re.MULTILINE)
    return {inner if _is_module(inner := f"{m}.{name}") else m for m, name in pairs}


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # what stands before the last dot is no package
        return False


def pages() -> dict[str, str]:
    """A page a module, and one with the names of ``import fedkin``."""
    found = {"reference/python/index.md": _overview()}
    for group in public().values():
        for module in group:
            found[f"reference/python/{module}.md"] = (
                f"# {module}\n\n::: {module}\n    options:\n      show_root_heading: false\n"
            )
    return found


def _overview() -> str:
    lines = [
        "# Python interface",
        "",
        "After this page you can look up any public name. These pages are written from docstrings. "
        "Modules that are not listed may change without notice.",
        "",
        "```python",
        f"from fedkin import {', '.join(name for name in fedkin.__all__)}",
        "```",
        "",
    ]
    lines += [f"- [`fedkin.{name}`][{place(name)}]" for name in fedkin.__all__] + [""]
    for heading, group in public().items():
        lines += [f"## {heading}", ""]
        lines += [f"- [`{module}`]({module}.md) {said}" for module, said in group.items()]
        lines += [""]
    return "\n".join(lines)


def place(name: str) -> str:
    """Where a public name is defined, such as ``fedkin.api.experiment.run``."""
    return f"{getattr(fedkin, name).__module__}.{name}"
