"""A package that registers a method, in a folder of a test's."""

from pathlib import Path

SOURCE = """
from fedkin.core.hyperparameters import declared
from fedkin.core.method import Method
from fedkin.methods.fedavg import fedavg


@declared
def {name}(*, lr: float, near: float = 0.5) -> Method:
    return fedavg(lr=lr * near)._replace(name="{name}")
"""


def registered(site: Path, name: str) -> Path:
    """The method's file, in ``site``, which is to be on the path; its name is the package's too."""
    facts = site / f"{name}-1.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (facts / "entry_points.txt").write_text(f"[fedkin.methods]\n{name} = {name}:{name}\n")
    file = site / f"{name}.py"
    file.write_text(SOURCE.format(name=name))
    return file
