"""Every method, by name.

A method is a function of keyword-only hyper-parameters that returns a Method record.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any

from fedkin.core.errors import FedkinError, cut, letters, named_line, near, unknown
from fedkin.core.method import Method
from fedkin.core.optimizers import AT_SERVER
from fedkin.core.system.installed import installed
from fedkin.core.system.process_settings import importing
from fedkin.core.system.user_code import is_user_code
from fedkin.methods.apfl import apfl
from fedkin.methods.centralized import centralized
from fedkin.methods.cgpfl import cgpfl
from fedkin.methods.cgpfl_heur import cgpfl_heur
from fedkin.methods.clustered_fl import clustered_fl
from fedkin.methods.comet import comet
from fedkin.methods.ditto import ditto
from fedkin.methods.ds_fl import ds_fl
from fedkin.methods.fedala import fedala
from fedkin.methods.fedamp import fedamp
from fedkin.methods.fedas import fedas
from fedkin.methods.fedavg import fedavg
from fedkin.methods.fedbabu import fedbabu
from fedkin.methods.fedbn import fedbn
from fedkin.methods.fedcp import fedcp
from fedkin.methods.feddbe import feddbe
from fedkin.methods.feddf import feddf
from fedkin.methods.feddyn import feddyn
from fedkin.methods.fedem import fedem
from fedkin.methods.fedfomo import fedfomo
from fedkin.methods.fedkd import fedkd
from fedkin.methods.fedmd import fedmd
from fedkin.methods.fedntd import fedntd
from fedkin.methods.fedpac import fedpac
from fedkin.methods.fedper import fedper
from fedkin.methods.fedproto import fedproto
from fedkin.methods.fedprox import fedprox
from fedkin.methods.fedrep import fedrep
from fedkin.methods.fedrod import fedrod
from fedkin.methods.fedsim import fedsim
from fedkin.methods.fedtgp import fedtgp
from fedkin.methods.fedu import fedu
from fedkin.methods.finetune import finetune
from fedkin.methods.gpfl import gpfl
from fedkin.methods.hypcluster import hypcluster
from fedkin.methods.ifca import ifca
from fedkin.methods.knn_per import knn_per
from fedkin.methods.kt_pfl import kt_pfl
from fedkin.methods.l2sgd import l2sgd
from fedkin.methods.lg_fedavg import lg_fedavg
from fedkin.methods.local import local
from fedkin.methods.moon import moon
from fedkin.methods.partial_fl import partial_fl
from fedkin.methods.per_fedavg import per_fedavg
from fedkin.methods.perada import perada
from fedkin.methods.persfl import persfl
from fedkin.methods.pfedme import pfedme
from fedkin.methods.ppfl import ppfl
from fedkin.methods.scaffold import scaffold
from fedkin.methods.user_methods import user_method, user_recipe

__all__ = [
    "ALIASES",
    "METHODS",
    "Unloadable",
    "known_name",
    "made_by",
    "make",
    "method_names",
    "no_method",
    "own_name",
    "recipe_of",
    "registry",
    "taken",
]

METHODS: dict[str, Callable[..., Method]] = {
    "local": local,
    "centralized": centralized,
    "fedavg": fedavg,
    "comet": comet,
    "persfl": persfl,
    "pfedme": pfedme,
    "cgpfl": cgpfl,
    "cgpfl_heur": cgpfl_heur,
    "ppfl": ppfl,
    "apfl": apfl,
    "ditto": ditto,
    "fedprox": fedprox,
    "finetune": finetune,
    "scaffold": scaffold,
    "feddf": feddf,
    "ds_fl": ds_fl,
    "fedmd": fedmd,
    "kt_pfl": kt_pfl,
    "fedper": fedper,
    "lg_fedavg": lg_fedavg,
    "partial_fl": partial_fl,
    "fedsim": fedsim,
    "per_fedavg": per_fedavg,
    "l2sgd": l2sgd,
    "fedfomo": fedfomo,
    "ifca": ifca,
    "hypcluster": hypcluster,
    "clustered_fl": clustered_fl,
    "fedem": fedem,
    "fedrep": fedrep,
    "fedbabu": fedbabu,
    "fedbn": fedbn,
    "fedala": fedala,
    "fedamp": fedamp,
    "fedproto": fedproto,
    "fedrod": fedrod,
    "knn_per": knn_per,
    "moon": moon,
    "fedpac": fedpac,
    "feddyn": feddyn,
    "fedntd": fedntd,
    "fedas": fedas,
    "fedtgp": fedtgp,
    "feddbe": feddbe,
    "fedu": fedu,
    "fedcp": fedcp,
    "gpfl": gpfl,
    "perada": perada,
    "fedkd": fedkd,
}

ALIASES = {  # names of papers and other libraries; capitals, spaces, - and _ make no difference
    "pooled": "centralized",
    "local-only": "local",
    "per-fedavg-hf": "per_fedavg",  # as its hyper-parameter is unless somebody sets it
    "hf-maml": "per_fedavg",
    "peravg": "per_fedavg",
    "l2gd": "l2sgd",
    "perfed-ckt": "comet",
    "fedavg-ft": "finetune",
    "fedavg+": "finetune",  # of kNN-Per's table
    "fedlg": "lg_fedavg",
    "fedalt": "partial_fl",
    "babu": "fedbabu",
    "ala": "fedala",
    "amp": "fedamp",
    "proto": "fedproto",
    "rod": "fedrod",
    "fomo": "fedfomo",
    "ntd": "fedntd",
    "tgp": "fedtgp",
    "dbe": "feddbe",
    "fedavg-dbe": "feddbe",
    "cp": "fedcp",
    "cfl": "clustered_fl",
    "sattler": "clustered_fl",
}

OPTIMIZED = (
    "it is fedavg with [server] optimizer = {0!r} (--method fedavg --set server.optimizer={0})"
)
MULTITASK = "the nearest is fedu, multi-task learning with a Laplacian regularizer (--method fedu)"
FIRST_ORDER = "it is per_fedavg with hessian = 'fo' (--method per_fedavg:hessian=fo)"
RULE = "it is a rule in the place of a method's mean (--method fedavg --transform {})"
RULES = {
    "median": "median",
    "trimmedmean": "trimmed_mean",
    "geometricmedian": "geometric_median",
    "rfa": "geometric_median",
    "krum": "krum",
}
PRIVATE = (
    "it is fedavg with [privacy] (--method fedavg --set privacy.clip=1 --set privacy.noise=1 "
    "--set privacy.delta=1e-5)"
)
# What other libraries call a method is here a setting of one, or has a close relative: in letters
OTHERWISE = {
    **{published: OPTIMIZED.format(ours) for published, ours in AT_SERVER.items()},
    "fedopt": "it is fedavg with an optimizer at the server: [server] optimizer = 'momentum', "
    "'adagrad', 'adam' or 'yogi' (--method fedavg --set server.optimizer=adam)",
    "mocha": MULTITASK,
    "fedmtl": MULTITASK,
    "perfedavgfo": FIRST_ORDER,
    "fomaml": FIRST_ORDER,
    **{written: RULE.format(ours) for written, ours in RULES.items()},
    "dpfedavg": PRIVATE,
}


def registry() -> dict[str, Callable[..., Method]]:
    """fedkin's own methods and those of installed packages (entry-point group
    ``fedkin.methods``).
    """
    return {name: recipe_of(name) for name in method_names()}


def method_names() -> list[str]:
    """What ``registry`` has, of which no package is imported for it.

    Returns:
        Names, each once.
    """
    return list({**_registered(), **METHODS})


def _registered() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in installed("fedkin.methods")}


def recipe_of(name: str) -> Callable[..., Method]:
    """The function of a method; of installed packages its own alone is imported.

    Args:
        name: One of ``method_names``.

    Returns:
        What makes the method, or an ``Unloadable``.
    """
    return METHODS[name] if name in METHODS else _loaded(_registered()[name])


@dataclass(frozen=True)
class Unloadable:
    """In the place of a method whose package cannot be imported: that spoils only its
    own methods.
    """

    reason: str

    def __call__(self) -> Method:
        raise FedkinError(self.reason)


def _loaded(entry: EntryPoint) -> Callable[..., Method]:
    try:
        with importing():
            found: Callable[..., Method] = entry.load()
    except Exception as error:  # whatever a foreign package raises when imported
        return Unloadable(
            f"method {entry.name!r} of another package cannot be loaded: {named_line(error)}"
        )
    return found


def known_name(name: str) -> str:
    """A method's own name, of it or of an alias.

    Args:
        name: As somebody typed it.

    Returns:
        A key of METHODS, the name of an installed one, or the path of one's own.

    Raises:
        FedkinError: An unknown name, with the nearest that exists; the package of an installed
            method cannot be imported; or a user's is not allowed (``fedkin.methods.user_methods``).
    """
    return _looked_up(name)[0]


def taken(name: str, keys: Iterable[str]) -> Mapping[str, inspect.Parameter]:
    """What a method called ``name`` takes.

    Args:
        name: Of a method.
        keys: Of [method], which it must take.

    Returns:
        Name → parameter, with default and annotation.

    Raises:
        FedkinError: An unknown method, or a key that it has not, with the nearest that exists.
    """
    return _accepted(*_looked_up(name), keys)


def own_name(name: str, known: Iterable[str]) -> str:
    """What fedkin calls a method that somebody writes otherwise.

    Args:
        name: As written.
        known: The methods that there are.

    Returns:
        The name itself where it is a method's; else that of an alias; else the method whose name
        has the same letters and figures; else ``name``.

    >>> own_name("Per-FedAvg", METHODS), own_name("fed_avg", METHODS), own_name("x", METHODS)
    ('per_fedavg', 'fedavg', 'x')
    """
    if name in known:
        return name
    same = {letters(alias): method for alias, method in ALIASES.items()}
    same.update((letters(one), one) for one in known)
    return same.get(letters(name), name)


def no_method(name: str, known: Iterable[str]) -> FedkinError:
    """The error for a name that is no method's, with what to write in its place.

    >>> str(no_method("FedAdagrad", METHODS)).partition(": ")[0]
    "unknown method 'FedAdagrad'"

    Args:
        name: As written.
        known: The methods that there are.

    Returns:
        The error, to be raised by the caller.
    """
    if letters(name) in OTHERWISE:
        return FedkinError(f"unknown method {name!r}: {OTHERWISE[letters(name)]}")
    own, _, options = name.rpartition(":")
    if own and "=" in options:
        keys = options.replace("=", " = ").replace(",", ", ")
        return FedkinError(
            f"unknown method {name!r}: that is how --method is written; here goes the name alone, "
            f"so in [method] write name = {own!r} and {keys} beside it"
        )
    if hint := near(name, [*known, *ALIASES]):
        return FedkinError(f"unknown method {cut(name)!r}{hint} (fedkin methods lists all)")
    return unknown("method", name, known)


def _looked_up(name: str) -> tuple[str, Callable[..., Method]]:
    """A method's own name and its function."""
    known = method_names()
    if is_user_code(name):
        found, same = user_recipe(name), own_name(name.rpartition(":")[2], known)
        if same in known and recipe_of(same) is not found:  # tables would take one for the other
            raise FedkinError(
                f"method {name!r} has the name of fedkin's {same}: call the function otherwise"
            )
        return name, found
    name = own_name(name, known)
    if name not in known:
        raise no_method(name, known)
    found = recipe_of(name)
    if isinstance(found, Unloadable):  # before anybody asks what it takes
        found()
    return name, found


def _accepted(
    name: str, function: Callable[..., Method], keys: Iterable[str]
) -> Mapping[str, inspect.Parameter]:
    accepted = inspect.signature(function).parameters
    for key in keys:
        if key not in accepted:
            raise unknown(f"{name} hyper-parameter", key, accepted)
    return accepted


def make(name: str, given: dict[str, Any], shared: dict[str, Any]) -> Method:
    """The method called ``name`` with the hyper-parameters of [method]; ``shared`` fills those it
    also takes.

    Args:
        name: Of a method.
        given: The hyper-parameters of [method].
        shared: What other sections say: the lr of [train], the rounds of [run].

    Returns:
        The method.

    Raises:
        FedkinError: Names what is unknown, missing or out of range.
    """
    return made_by(*_looked_up(name), given, shared)


def made_by(
    name: str, function: Callable[..., Method], given: dict[str, Any], shared: dict[str, Any]
) -> Method:
    """The same of a function that need not be registered; ``name``: what messages call it.

    Args:
        name: What messages call it.
        function: A recipe of keyword-only hyper-parameters.
        given: The hyper-parameters of [method].
        shared: What other sections say: the lr of [train], the rounds of [run].

    Returns:
        The method.

    Raises:
        FedkinError: Names what is unknown, missing or out of range.
    """
    accepted = _accepted(name, function, given)
    chosen = {**{key: value for key, value in shared.items() if key in accepted}, **given}
    missing = [key for key, p in accepted.items() if p.default is p.empty and key not in chosen]
    if missing:
        raise FedkinError(f"method {name!r} needs {', '.join(missing)} in [method]")
    if METHODS.get(name) is function:
        return function(**chosen)
    # a name that is left of the method that it is made of would be taken for that one
    return user_method(name, function, chosen)._replace(name=name.rpartition(":")[2])
