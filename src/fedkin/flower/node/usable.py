"""What a node finds out by itself before it works: whether its experiment is for it, whether its
file can be read, and whether both go together. ``fedkin deploy check``, a start and a server's
request ask the same.
"""

import os
import stat
from dataclasses import replace
from pathlib import Path

from fedkin.core.errors import FedkinError
from fedkin.core.model import Inputs
from fedkin.data.formats.frames import SUFFIXES
from fedkin.data.population import Population
from fedkin.flower import config
from fedkin.flower.config import NODE, NodeConfig
from fedkin.flower.deployable import check_device, check_not_pooled
from fedkin.flower.envelope import Place
from fedkin.flower.node import data
from fedkin.flower.node.advice import on_a_node
from fedkin.flower.node.placement import models_of_node, permit_method
from fedkin.runs.spec import Spec
from fedkin.setup.architectures import inputs_of, names_of, with_measure
from fedkin.setup.build import method_of

FEW = 2  # classes that a model has at least: a node may hold samples of one of them alone


def experiment_at(node: NodeConfig, folder: Path) -> tuple[Spec, str]:
    """The experiment beside node.toml, once this node may do it.

    Args:
        node: What node.toml says.
        folder: Of the node.

    Returns:
        (the experiment, its fingerprint).

    Raises:
        FedkinError: It is not there or not valid, names a device, or code that node.toml does not
            list, or its method needs everybody's data in one place.
    """
    spec = config.spec_of(folder)
    check_device(spec)  # [engine] is no part of the fingerprint
    permit_method(node, spec)
    check_not_pooled(method_of(spec))
    return config.at_home(spec, folder), config.fingerprint(spec)


def own_data(path: Path, spec: Spec) -> Population:
    """The node's file as it is now.

    Args:
        path: Of the file.
        spec: The experiment, for the column of labels.

    Returns:
        A population of one client.

    Raises:
        FedkinError: It cannot be read or used; may quote a cell, and advises what a node's owner
            can do.
    """
    _check_file(path)
    try:
        own = data.read(path, spec.data.label or "label")
        data.facts_of(own, 0)  # refuses too many columns, or names that are too long
    except FedkinError as error:
        raise error.reworded(on_a_node(str(error))) from error
    return own


def check_fit(node: NodeConfig, spec: Spec, own: Population) -> Inputs:
    """Refuse data that the experiment cannot have, whatever the other nodes hold.

    Args:
        node: What node.toml says.
        spec: The experiment, as ``experiment_at`` has it.
        own: The node's data.

    Returns:
        How its samples enter a model.

    Raises:
        FedkinError: The scale, the measure, the model or the public set does not go with them.
    """
    enter = inputs_of(spec, own)
    classes = max(FEW, own.classes) if own.classes else 0
    for architecture in [node.model] if node.model else sorted(names_of(spec)):
        place = Place(client=0, clients=1, classes=classes, architecture=architecture)
        population = data.alone(spec, replace(own, classes=classes), place)
        with_measure(spec, population, counted=False)
        models_of_node(node, spec, population, architecture)
    return enter


def _check_file(path: Path) -> None:
    """Refuse what is no file; to open a pipe is to wait for who writes into it."""
    named = f"{NODE} names it as the node's data"
    try:
        kind = os.stat(path).st_mode
    except FileNotFoundError:
        gone = "is a link to nothing" if path.is_symlink() else "is not there"
        raise FedkinError(f"{path} {gone}: {named}{_instead(path)}") from None
    except OSError as error:
        raise FedkinError(f"{path} cannot be read: {error.strerror}: {named}") from None
    if not stat.S_ISREG(kind):
        raise FedkinError(f"{path} is a folder, a device or a pipe, not a file: {named}")


def _instead(path: Path) -> str:
    """What to write in node.toml, where the folder holds one other file that may be meant: ``fedkin
    deploy init``, which names one there, does not know of which kind it will be.
    """
    try:
        there = [one for one in path.parent.iterdir() if one.suffix.lower() in (".npz", *SUFFIXES)]
    except OSError:
        return ""
    return f'; if it is {there[0].name}, write data = "{there[0].name}"' if len(there) == 1 else ""
