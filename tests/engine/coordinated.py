"""A coordinator and its clients in one process."""

from fedkin.engine.codec import decode, encode
from fedkin.engine.coordinator import Coordinator
from fedkin.engine.transports.base import InProcess
from fedkin.setup.build import assemble, host_of
from tests.engine.small import small


def federation(method="fedavg", **settings):
    parts = assemble(small(method, **settings))
    transport = InProcess(host_of(parts, sorted(parts.infos), None))
    return Coordinator(parts.method, parts.federation, transport)


class Meddling:
    """A transport that changes the messages of some clients on their way up."""

    def __init__(self, inner, change, ops=("local", "introduce")):
        self.inner, self.change, self.ops = inner, change, ops

    def ask(self, op, round, orders):
        for answer in self.inner.ask(op, round, orders):
            yield self.change(answer) if op in self.ops and answer.client in (1, 4) else answer

    def __getattr__(self, name):
        return getattr(self.inner, name)


def with_message(edit):
    return lambda answer: answer._replace(message=encode(edit(decode(answer.message))))
