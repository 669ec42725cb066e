"""A coordinator and its clients in one process."""

from fedkin.engine.coordinator import Coordinator
from fedkin.engine.transports.base import InProcess
from fedkin.setup.build import assemble, host_of
from tests.engine.small import small


def federation(method="fedavg", **settings):
    parts = assemble(small(method, **settings))
    transport = InProcess(host_of(parts, sorted(parts.infos), None))
    return Coordinator(parts.method, parts.federation, transport)
