"""A coordinator and its clients in one process."""

from fedkin.engine.codec import decode, encode
from fedkin.engine.coordinator import Coordinator
from fedkin.engine.transports.base import InProcess
from fedkin.setup.build import assemble
from fedkin.setup.hosts import host_of
from fedkin.setup.method_transforms import with_secret
from tests.engine.small import small


def federation(method="fedavg", **settings):
    return coordinated(small(method, **settings))


def coordinated(spec, secret=None):
    parts = assemble(spec)
    if secret is not None:
        parts = parts._replace(federation=with_secret(parts.federation, secret))
    transport = InProcess(host_of(parts, sorted(parts.infos), None))
    return Coordinator(parts.method, parts.federation, transport)


class Meddling:
    """A transport that changes the messages of some clients on their way up."""

    def __init__(self, inner, change, ops=("local", "introduce"), clients=(1, 4)):
        self.inner, self.change, self.ops, self.clients = inner, change, ops, clients

    def ask(self, op, round, orders):
        for answer in self.inner.ask(op, round, orders):
            changes = op in self.ops and answer.client in self.clients
            yield self.change(answer) if changes else answer

    def __getattr__(self, name):
        return getattr(self.inner, name)


def with_message(edit):
    return lambda answer: answer._replace(message=encode(edit(decode(answer.message))))
