"""What a method's functions are given beside messages and states, by clients and servers."""

from fedkin.engine.contexts.client import LocalData
from fedkin.engine.contexts.schedule import Schedule
from fedkin.engine.contexts.server import ServerTools

__all__ = ["LocalData", "Schedule", "ServerTools"]
