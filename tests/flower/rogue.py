"""``python -m tests.flower.rogue FOLDER``: a node whose host misbehaves in the rounds that its
rogue.json names.
"""

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from fedkin.core.tree import named_leaves
from fedkin.engine.codec import decode, encode
from fedkin.flower.envelope import NodeReply, Request, sealed
from fedkin.flower.node import host
from fedkin.flower.operator import supervisor

PLAN = "rogue.json"


class Rogue(host.Node):
    """Does what it is asked, and then something else."""

    def answer(self, parts: list[bytes]) -> list[bytes]:
        request = Request.model_validate_json(parts[0])
        work = [step.round for step in request.steps if step.op == "local"]
        plan = json.loads((self.folder / PLAN).read_text())
        act = plan.get(str(work[0])) if work else None
        if act is None:
            return super().answer(parts)
        (self.folder / f"did-{work[0]}").touch()
        if act == "full":
            return full(lambda: super(Rogue, self).answer(parts))
        answer = super().answer(parts)
        name, _, value = act.partition(":")
        return ACTS[name](answer, value)


def full(work: Callable[[], list[bytes]]) -> list[bytes]:
    """As on a full disk: no file grows."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, before[1]))
    try:
        return work()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _nan(answer: list[bytes], _: str) -> list[bytes]:
    tree = decode(answer[1])
    next(leaf for _, leaf in named_leaves(tree) if isinstance(leaf, torch.Tensor)).view(-1)[0] = (
        float("nan")
    )
    return [answer[0], encode(tree)]


def _shape(answer: list[bytes], _: str) -> list[bytes]:
    tree = decode(answer[1])
    for kind, part in tree.items():
        if isinstance(part, torch.Tensor):
            tree[kind] = part[:-1].contiguous()
        else:
            name = next(iter(part))
            part[name] = part[name][:-1].contiguous()
    return [answer[0], encode(tree)]


def _round(answer: list[bytes], _: str) -> list[bytes]:
    reply = NodeReply.model_validate_json(answer[0])
    steps = tuple(done.model_copy(update={"round": done.round + 1}) for done in reply.steps)
    return [sealed(reply.model_copy(update={"steps": steps})), *answer[1:]]


def _client(answer: list[bytes], value: str) -> list[bytes]:
    return [
        sealed(NodeReply.model_validate_json(answer[0]).model_copy(update={"name": value})),
        *answer[1:],
    ]


def _large(answer: list[bytes], value: str) -> list[bytes]:
    return [answer[0], answer[1] + bytes(int(value))]


def _garbage(answer: list[bytes], _: str) -> list[bytes]:
    return [b'{"protocol": "\x80', *answer[1:]]


def _pickle(answer: list[bytes], _: str) -> list[bytes]:
    import pickle

    return [answer[0], pickle.dumps({"parameters": [1.0]})]


def _slow(answer: list[bytes], value: str) -> list[bytes]:
    time.sleep(float(value))
    return answer


def _die(answer: list[bytes], _: str) -> list[bytes]:
    os._exit(9)  # the work is committed, its reply is lost


ACTS = {
    "nan": _nan,
    "shape": _shape,
    "round": _round,
    "client": _client,
    "large": _large,
    "garbage": _garbage,
    "pickle": _pickle,
    "slow": _slow,
    "die": _die,
}

if __name__ == "__main__":
    if os.environ.get("FEDKIN_ROGUE"):
        host.Node = Rogue  # type: ignore[misc]
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        host.main(Path(sys.argv[1]))
    else:
        os.environ["FEDKIN_ROGUE"] = "1"
        supervisor.HOST = "tests.flower.rogue"
        supervisor.node(Path(sys.argv[1]))
