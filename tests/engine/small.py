"""Small experiments that finish in a fraction of a second, and what two runs must have
in common.
"""

import os
import subprocess
from collections.abc import Callable
from functools import cache, partial
from multiprocessing import forkserver, get_context
from multiprocessing.context import ForkServerContext
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from fedkin.experiment.run import experiment, run
from fedkin.methods import METHODS as ALL
from fedkin.methods import make
from fedkin.runs.checkpoint import committed
from fedkin.runs.database import read_only
from fedkin.runs.spec import Spec

# Hyper-parameters that make a method meaningful and quick, where its defaults do not: several
# clusters, several canonical models.
SETTINGS: dict[str, dict[str, Any]] = {
    "fedper": {"personal": ["1.bias"]},
    "lg_fedavg": {"shared": ["1.bias"]},
    "partial_fl": {"personal": ["1.weight"], "personal_steps": 3},
    "fedsim": {"personal": ["1.weight"], "personal_lr": 0.1},
    "fedrep": {"personal": ["1.bias"], "personal_steps": 3},
    "fedbabu": {"head": ["1.bias"], "epochs": 1},
    "fedbn": {"personal": ["1.bias"]},
    "fedala": {"adaptive": ["1.weight"], "first_epochs": 2},
    "fedamp": {"alpha": 0.7, "sigma": 4.0, "lam": 0.5},
    "fedrod": {"personal_lr": 0.1},
    "knn_per": {"k": 5},
    "feddyn": {"alpha": 0.1},
    "fedtgp": {"server_epochs": 3, "server_lr": 0.1},
    "fedas": {"align_lr": 0.1},
    "fedu": {"pull": 0.3},
    "feddbe": {"kappa": 2.0, "momentum": 0.3},
    "per_fedavg": {"inner_lr": 0.1},
    "l2sgd": {"p": 0.3},
    "fedfomo": {"candidates": 2},
    "fedprox": {"mu": 0.5},
    "ditto": {"lam": 0.5},
    "finetune": {"epochs": 1},
    "comet": {"clusters": 2},
    "persfl": {"lams": [0.2, 0.6], "temperatures": [1.0, 5.0], "student_epochs": 1},
    "pfedme": {"inner": 2},
    "cgpfl": {"clusters": 2, "inner": 2, "alpha": 0.7},
    "cgpfl_heur": {"inner": 2},
    "ppfl": {"models": 2},
    "feddf": {"distill_steps": 4, "public_batch": 16},
    "perada": {"lam": 0.5, "distill_steps": 4, "public_batch": 16},
    "fedkd": {"personal_lr": 0.1},
    "ds_fl": {"distill_steps": 4, "public_batch": 16},
    "fedmd": {"subset": 20, "pretrain_steps": 6, "digest_steps": 4, "public_batch": 16},
    "kt_pfl": {"distill_steps": 4, "public_batch": 16},
    "ifca": {"clusters": 2},
    "hypcluster": {"clusters": 2, "starts": 2, "trial": 2},
    "fedem": {"components": 2},
    "clustered_fl": {"eps1": 1.0, "eps2": 0.01, "gamma": 0.05},
}
METHODS = {name: SETTINGS.get(name, {}) for name in ALL}
# Importing these takes ten times as long as a small run; what is not installed is passed over.
PRELOADED = ["fedkin.experiment.run", "sklearn.cluster", "sklearn.datasets", "threadpoolctl"]
PRELOADED += ["torch._inductor", "torch.fx.experimental.proxy_tensor"]
PRELOADED += ["fedkin.flower.node.host", "flwr.app"]
TABLES = ("metrics", "messages", "notes", "events", "clients")


def content(method: str = "fedavg", **settings: Any) -> dict[str, Any]:
    """A specification as a dict: digits, 6 clients, 4 a round, 3 rounds, committed after each."""
    sections: dict[str, dict[str, Any]] = {
        "data": {"name": "digits"},
        "split": {"name": "dirichlet", "alpha": 0.5},
        "model": {"name": "mlr"},
        "method": {"name": method, **METHODS.get(method, {})},
        "train": {"steps": 4, "batch_size": 16, "lr": 0.05},
        "engine": {"name": "inprocess", "compile": "trace"},
        "run": {"clients": 6, "rounds": 3, "seed": 3, "commit_every": 0, "participation": 0.6},
    }
    needs = make(method, METHODS.get(method, {}), {"lr": 0.05}).needs
    if needs.full_participation:
        sections["run"]["participation"] = 1.0
    if needs.head:
        sections["model"] = {"name": "dnn", "hidden": 5}
    if needs.public != "none":
        sections["public"] = {
            "source": "held-out",
            "samples": 60,
            "labeled": needs.public == "labeled",
        }
    for key, value in settings.items():
        section, _, name = key.partition("__")
        sections.setdefault(section, {})[name] = value
    return sections


def small(method: str = "fedavg", **settings: Any) -> Spec:
    """The same, checked; settings are ``section__key=value``."""
    return experiment(content(method, **settings))


def outcome_of(spec: Spec) -> dict[str, Any]:
    """The outcome of an uninterrupted run, whose folder is thrown away: what all others must
    give.
    """
    with TemporaryDirectory(prefix="fedkin-plain-") as folder:
        return outcome(run(spec, Path(folder)))


def outcome(folder: Path) -> dict[str, Any]:
    """Everything two equal runs have in common: fingerprint, states byte for byte, every row but
    the times.
    """
    with read_only(folder) as database:
        facts = database.facts()
        assert facts["finished"]
        rows: dict[str, Any] = {
            table: sorted(database.rows(f"SELECT * FROM {table}"), key=repr) for table in TABLES
        }
        rows["rounds"] = database.rows(
            "SELECT round, phase, participants FROM rounds ORDER BY round"
        )
        states = {client: path.read_bytes() for client, path in committed(folder, database).items()}
    return {"fingerprint": facts["fingerprint"], **rows, "states": states}


@cache
def forking() -> ForkServerContext:
    """Processes that start in milliseconds: forked from a server that has imported torch and run
    nothing.

    (Forked from pytest itself they would hang: OpenMP does not survive a fork once it has had two
    threads.)
    """
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        forkserver.ensure_running()
    finally:
        del os.environ["OMP_NUM_THREADS"]
        if before is not None:
            os.environ["OMP_NUM_THREADS"] = before
    return context


class Forked:
    """In place of subprocess.Popen: a worker that is forked, and so starts at once. ``build``: its
    host's.
    """

    def __init__(
        self, command: list[str], env: dict[str, str], build: Callable[..., Any] | None = None
    ) -> None:
        self._process = forking().Process(
            target=_work, args=(command[-2], command[-1], env, build), daemon=True
        )
        self._process.start()
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("worker", timeout or 0)
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()


def forked(build: Callable[..., Any] | None = None) -> SimpleNamespace:
    """In place of the module subprocess in engine.processes."""
    return SimpleNamespace(
        Popen=partial(Forked, build=build), TimeoutExpired=subprocess.TimeoutExpired
    )


FORKED = forked()


def _work(address: str, number: str, env: dict[str, str], build: Callable[..., Any] | None) -> None:
    import torch

    from fedkin.engine.transports.serving import serve
    from fedkin.setup.hosts import host_from_setup

    os.environ.update(env)
    torch.set_num_threads(1)
    serve(address, number, build or host_from_setup)
