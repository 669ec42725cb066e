"""A node's data as its host holds them: read once, and again where its file is another one."""

from pathlib import Path
from typing import NamedTuple

from fedkin.core.errors import FedkinError
from fedkin.data.population import Population
from fedkin.flower.config import NodeConfig
from fedkin.flower.envelope import Facts
from fedkin.flower.node import data, reasons
from fedkin.flower.node.store import salt_of
from fedkin.flower.node.usable import own_data
from fedkin.runs.spec import Spec
from fedkin.setup.build import method_of
from fedkin.setup.population import population_of

Stamp = tuple[int, int, int]  # when a file was written last, its bytes, and which file it is


class LoadedData(NamedTuple):
    """The data as they were read, for one experiment; ``facts`` are of a file of the node's own."""

    experiment: str
    stamp: Stamp | None
    population: Population
    facts: Facts | None


class HeldData:
    """The data of one node.

    Args:
        folder: Of the node.
        config: What node.toml says.
        state: The node's folder of states, where its secret is.
    """

    def __init__(self, folder: Path, config: NodeConfig, state: Path) -> None:
        self.folder, self.config, self.state = folder, config, state
        self._known: LoadedData | None = None

    def look(self, spec: Spec, experiment: str) -> LoadedData:
        """The data as they are now: read again for another experiment, and where the file changed.

        Args:
            spec: The experiment.
            experiment: Its fingerprint.

        Returns:
            With the population of the last look, as long as it holds the same.

        Raises:
            FedkinError: They cannot be read; says where, and nothing that stands there.
        """
        known, stamp = self._known, self._stamp()
        if known is not None and known[:2] == (experiment, stamp):
            return known
        data_now = self._read(spec, experiment, stamp)
        if known is not None and (known.experiment, known.facts) == (experiment, data_now.facts):
            data_now = data_now._replace(population=known.population)  # the same was written again
        self._known = data_now
        return data_now

    def _read(self, spec: Spec, experiment: str, stamp: Stamp | None) -> LoadedData:
        if self.config.data is None:
            whole = population_of(spec, method_of(spec).needs.public != "none")
            return LoadedData(experiment, stamp, whole, None)
        path = self.folder / self.config.data
        try:
            own = own_data(path, spec)
        except Exception as error:  # the sentence, or whatever it is, may quote a cell
            raise FedkinError(reasons.of_data(error, path)) from None
        declared = {"architecture": self.config.model or ""}
        facts = data.facts_of(own, 0, salt_of(self.state)).model_copy(update=declared)
        return LoadedData(experiment, stamp, own, facts)

    def _stamp(self) -> Stamp | None:
        """Of the file, before it is read: who replaces it meanwhile has it read again."""
        if self.config.data is None:
            return None
        try:
            status = (self.folder / self.config.data).stat()
        except OSError:  # reading it says why
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino
