"""A run, opened to take personal models out of it."""

from pathlib import Path

from fedkin.core.errors import FedkinError, some, unknown
from fedkin.core.method import Method
from fedkin.core.tree import Tree
from fedkin.experiment import load
from fedkin.handover.personal import Personal


class Opened:
    """A run at its last committed round. Its data are read again, as the run read them."""

    def __init__(self, folder: Path, method: Method | None = None) -> None:
        self.folder = folder
        self.coordinator, self.parts = load(folder, method=method)
        self.names = self.parts.population.names

    def client(self, text: str) -> int:
        """The number of the client that is called ``text``, or else that has this number."""
        if text in self.names:
            return self.names.index(text)
        if text.isdecimal() and int(text) < len(self.names):
            return int(text)
        raise FedkinError(
            f"client {text!r} is not there: clients are 0 to {len(self.names) - 1}, called {some(self.names, 8)}"
        )

    def view(self, client: int, view: str = "personal") -> Tree:
        """What the method predicts with for a client: parameters, or a mixture of several."""
        views = self.coordinator.views(client, self.parts.spec.run.rounds + 1)  # as the finished run was evaluated
        if view not in views:
            raise unknown("view", view, views)
        return views[view]

    def personal(self, client: int, view: str = "personal") -> Personal:
        """The model that a client would deploy, in evaluation mode."""
        parts = self.parts
        model = parts.models[parts.infos[client].architecture]
        return Personal(model, self.view(client, view), parts.method.predict).eval()
