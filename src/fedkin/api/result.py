"""What came out: a run directory as tables, models, data and files; and going on with it."""

import operator
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from torch import Tensor

from fedkin.api.paths import path_of
from fedkin.api.progress import displayed
from fedkin.core.errors import FedkinError
from fedkin.core.escaping import html_table
from fedkin.core.method import Method
from fedkin.data.population import Population, Split
from fedkin.doctor.diagnosis import ExtraMethods, diagnosis
from fedkin.experiment.resume import resume as go_on
from fedkin.experiment.training import Progress
from fedkin.export.export import export as write
from fedkin.export.exportable import exportable
from fedkin.export.opened_run import Member, Opened
from fedkin.export.output_paths import place_of
from fedkin.export.personal import Personal
from fedkin.export.predict import predicted
from fedkin.models.given import recipes_of, register
from fedkin.newcomers.join import join
from fedkin.report import frames
from fedkin.report.comparison.side_by_side import SideBySide
from fedkin.report.page.figure_files import first_chart, write_figures
from fedkin.report.page.report import write_report
from fedkin.report.summary import numbers_of, summary
from fedkin.runs.database import before_resume, read_only
from fedkin.runs.directory import check_begun, of_run
from fedkin.setup.arguments.given import file_of
from fedkin.setup.arguments.values import check_given
from fedkin.setup.loaded_run import load, spec_of

__all__ = ["Result", "resume"]


class Result:
    """A run directory, opened. DataFrames are read when asked for.

    Samples are as in the data set: uint8 pixels in 0..255 or float features, of a table its columns
    in their order without label and client. Classes are numbered in the sorted order of the labels;
    ``class_names`` are their values. What is in the folder is read when it is asked for:
    FedkinError then where it is damaged.

    Args:
        folder: The run directory.
        method: The Method value that the run was started with; None where its method has a name.
        trust_code: Whether code that the run of somebody else names may be imported
            (docs/security.md); it runs with your rights.

    Raises:
        FedkinError: The folder is not there, or no run began in it.
    """

    def __init__(
        self, folder: Path | str, method: Method | None = None, trust_code: bool = False
    ) -> None:
        self.folder = path_of(folder, "a run directory")
        self._method, self._trust_code = method, trust_code
        check_begun(self.folder)
        self._models: Mapping[str, Any] = {}  # those that ``run`` was given as values
        self._held: tuple[Any, Population] | None = None  # with the digest of its run's data

    def __repr__(self) -> str:
        return f"Result({str(self.folder)!r})"

    def _repr_html_(self) -> str:
        return html_table(f"Result in {self.folder}", numbers_of(self.summary)) + first_chart(
            self.folder
        )

    @property
    def summary(self) -> dict[str, Any]:
        """What ``fedkin show --json`` prints: plain values. Accuracies are fractions 0..1 on TEST,
        losses means per sample, times seconds, sizes bytes.
        """
        return summary(self.folder)

    @property
    def metrics(self) -> pd.DataFrame:
        """One row a round, client, view and split: loss, a mean per sample, and accuracy, a
        fraction 0..1.
        """
        return frames.metrics(self.folder)

    @property
    def communication(self) -> pd.DataFrame:
        """One row a message: its direction, its scalars by kind, and its bytes."""
        return frames.communication(self.folder)

    @property
    def notes(self) -> pd.DataFrame:
        """What the method reported of clients, round by round: clusters, memberships, teachers."""
        return frames.notes(self.folder)

    def personal(self, client: int | str, view: str = "personal") -> Personal:
        """The model that a client would deploy (or its ``view`` "global"), as a torch module in
        evaluation mode.

        ``client``: its number, or its name, also that of one who joined (docs/join.md). It takes
        samples as in the data set (see ``data``).

        Args:
            client: Its number, from 0, or its name.
            view: "personal", or "global" for the shared model.

        Returns:
            The model, on the CPU: samples [batch, …] in, log-probabilities [batch, classes] out;
            means [batch, 1] of a regression.

        Raises:
            FedkinError: A client or a view that is not there.
        """
        opened, member = self._member(client)
        return opened.personal(member, view)

    def _register_models(self) -> None:
        """Those given as values, anew: another experiment may have one of the same name."""
        register(self._models)

    def _member(self, client: int | str) -> tuple[Opened, Member]:
        """The run, opened, and one of its clients."""
        self._register_models()
        whose = client if isinstance(client, str) else _index(client)
        opened = Opened(self.folder, self._method, self._trust_code, whose)
        if not isinstance(client, str):
            client = _number(client, len(opened.parts.infos))
        return opened, opened.member(client)

    def data(self, client: int | str, split: Split = "test") -> tuple[Tensor, Tensor]:
        """(x, y) of one client's "train", "val" or "test" samples, as a copy: what its personal
        model takes and is measured by.

        x is as in the data set: uint8 pixels in 0..255 or float features, of a table its columns in
        their order without label and client (z-scores with data.scale). y numbers the classes in
        sorted order (``class_names``), or holds the targets. ``client``: its number, or its name.

        Args:
            client: Its number, from 0, or its name.
            split: "train", "val" or "test".

        Returns:
            (x [n, ...], y [n]): y holds classes, or targets.

        Raises:
            FedkinError: A client or a split that is not there.
        """
        names = self._population.names
        number = names.index(client) if isinstance(client, str) and client in names else client
        return self._population.part(_number(number, len(names)), split)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The label of class 0, 1, … in sorted order; () for regression and where the data set has
        no names.
        """
        return self._population.class_names

    @property
    def _population(self) -> Population:
        """The run's data, read again where the folder holds another run by now."""
        with read_only(self.folder) as record:
            digest = record.facts().get("data_digest")
        if self._held is None or self._held[0] != digest:
            self._register_models()
            loaded = load(self.folder, method=self._method, trust_code=self._trust_code, of=())
            self._held = loaded.at.facts.get("data_digest"), loaded.parts.population
        return self._held[1]

    def predict(
        self,
        client: int | str,
        x: Any,
        view: str = "personal",
        threshold: float | Literal["own"] | None = None,
    ) -> pd.DataFrame:
        """What a client's personal model says of new samples: what ``fedkin predict`` writes.

        Args:
            client: Its number, from 0, or its name; also that of one who joined.
            x: A DataFrame or a file with the columns of training; or samples as ``data`` gives
                them, [rows, …].
            view: "personal", or "global" for the shared model.
            threshold: Of two classes, the least probability of the second with which it is
                predicted: in 0..1, or "own", which the client's validation samples chose; None:
                the likelier class is predicted.

        Returns:
            A row a sample: "prediction", and "p(LABEL)" in 0..1 for each class. ``attrs["said"]``
            holds sentences on what the model never saw. ``attrs["threshold"]`` is the one that the
            predictions were made with, ``attrs["own_threshold"]`` the client's own; None where
            there is none.

        Raises:
            FedkinError: A client or view that is not there, a file that is missing, a threshold
                that is none, or samples of other columns, another shape or another type than the
                model was trained on.
        """
        return predicted(*self._member(client), x, view, threshold)

    def compare(
        self,
        *others: "Result | Path | str",
        against: str | None = None,
        best: bool = False,
        measure: str | None = None,
    ) -> SideBySide:
        """This run beside others, as ``fedkin compare`` shows them.

        Args:
            *others: Results, or their folders.
            against: A method, or the name of a run; else local, else the first run.
            best: Whether only the setting that validation data chose is kept of each method.
            measure: The measure to go by, such as "auc"; None: that of the runs.

        Returns:
            The comparison, which shows itself in a notebook.

        Raises:
            FedkinError: No finished run has the name, or is of the method, that ``against`` says;
                or the measure does not exist, or no finished run has it.
        """
        folders = [
            one.folder if isinstance(one, Result) else path_of(one, "a run directory")
            for one in others
        ]
        return SideBySide.of([self.folder, *folders], against, best, measure)

    def report(self) -> Path:
        """Write report.html into the run directory: one page with tables and charts, which needs no
        network.

        Returns:
            The path of the page.

        Raises:
            FedkinError: The folder is no run, is damaged, or cannot be written.
        """
        return write_report(self.folder)

    def figures(self, folder: Path | str) -> list[Path]:
        """Write the report's charts as files, for a paper: what ``fedkin report --figures`` writes.

        Args:
            folder: Is made where it is not there.

        Returns:
            The paths: of each chart an SVG, a PNG and a PDF.

        Raises:
            FedkinError: The run is damaged, or the folder cannot be written.
        """
        return write_figures(self.folder, path_of(folder, "the folder of the figures"))

    def doctor(self, rounds: int = 3, methods: ExtraMethods = None) -> dict[str, Any]:
        """The run's experiment as the doctor sees it: what ``fedkin doctor DIR/experiment.toml
        --json`` prints.

        Args:
            rounds: How many rounds each method is probed for, from 1; 0: none is probed.
            methods: Names of methods, or Method values, to probe beside the doctor's candidates; or
                one of them.

        Returns:
            What was found, as plain values.

        Raises:
            FedkinError: It is no run directory, or one of a Method value, which ``Result`` was not
                given; or what is wrong with the rounds or a method's name.
        """
        self._register_models()
        with read_only(self.folder) as record:
            how = f"fedkin.Result({str(self.folder)!r}, method=THE METHOD)"
            check_given(self.folder, self._method, record.facts(), how)
        spec = spec_of(self.folder, trust_code=self._trust_code)
        return diagnosis(spec, rounds, methods, method_value=self._method)

    def audit(self) -> dict[str, Any]:
        """Attacks on the finished run, which stays as it is: what ``fedkin audit --json`` prints.

        Returns:
            What was found, as plain values: "membership", "labels", "properties", "inversion",
            "canaries", "kinds", "accounted"; None in the place of what cannot be tried here.

        Raises:
            FedkinError: It is no run, a deployment's, or not finished.
        """
        from fedkin.audit.audit import audit

        self._register_models()
        return audit(self.folder, self._trust_code, self._method)

    def export(
        self,
        client: int | str,
        format: str = "safetensors",
        out: Path | str | None = None,
        view: str = "personal",
    ) -> Path:
        """A client's model as a file, with its card: what ``fedkin export`` writes.

        Args:
            client: Its number, from 0, or its name; also that of one who joined.
            format: "safetensors" (tensors), "pt2" (a program of torch) or "onnx" (a program for
                other runtimes).
            out: A folder, in which the model gets one of the client's name; None: DIR/export/NAME.
            view: "personal", or another model that the method has for it, such as "global", which
                gets a folder of that name in the client's.

        Returns:
            The file of the model; card.md and card.json lie beside it.

        Raises:
            FedkinError: A client, view or format that is not there, an extra that is not installed,
                a folder that holds another model, or a file that would not give what the model
                gave in the run.
        """
        opened, member = self._member(client)
        model = exportable(opened, member, view)
        place = place_of(
            self.folder, None if out is None else path_of(out, "out"), member, format, view
        )
        return write(model, format, place).file

    def join(
        self,
        data: Path | str | None = None,
        rounds: int | None = None,
        client: str | None = None,
        out: Path | str | None = None,
        model: str | None = None,
    ) -> dict[str, Any]:
        """A personal model for a client that was not in the run: what ``fedkin join --json``
        prints.

        Args:
            data: The newcomer's samples: .csv, .parquet or .npz; None where ``client`` is named.
            rounds: Rounds of work, 0 or more; None: its validation data choose.
            client: The name of a client that run.holdout_clients kept out, in place of ``data``.
            out: A folder for what comes of it, never a run's own; None: DIR/joined/NAME.
            model: The name of its architecture; None: what [model] says of so many samples.

        Returns:
            What came of it, as plain values; "model" is its file.

        Raises:
            FedkinError: Not exactly one of ``data`` and ``client`` is given; what is wrong with
                the run, the samples or the number of rounds; or the folder is somebody else's.
        """
        self._register_models()
        return join(
            self.folder,
            None if data is None else file_of(data),
            client,
            out=None if out is None else path_of(out, "out"),
            rounds=rounds,
            architecture=model,
            method=self._method,
            trust_code=self._trust_code,
        )


def _index(client: int | str) -> int | None:
    """A whole number, also one of NumPy's; None of a name, and of what is neither."""
    try:
        return operator.index(client)  # type: ignore[arg-type]  # of a name, a TypeError
    except TypeError:
        return None


def _number(client: int | str, clients: int) -> int:
    number = _index(client)
    if number is None or not 0 <= number < clients:
        raise FedkinError(f"client {client!r} is not there: clients are 0 to {clients - 1}")
    return number


def with_models(result: Result, models: Mapping[str, Any]) -> Result:
    """A result of a run whose models were given as values, which their names alone do not find.

    Args:
        result: Of the run.
        models: {name: what makes the model}.

    Returns:
        ``result`` itself.
    """
    result._models = models
    return result


def resume(
    folder: Path | str,
    method: Method | None = None,
    progress: bool | Progress | None = None,
    trust_code: bool = False,
) -> Result:
    """Continue a run that was stopped; gives the numbers of an uninterrupted one.

    Args:
        folder: The run directory.
        method: The Method value that the run was started with, where it was one; one with another
            name or other hyper-parameters is refused.
        progress: As of ``run``.
        trust_code: Whether code that the run names may be imported; it runs with your rights.

    Returns:
        The finished run.

    Raises:
        FedkinError: It is no run directory, or one that cannot be continued; ``Interrupted``, which
            is one, after Ctrl-C.
    """
    run = path_of(folder, "a run directory")
    with _displayed(run, progress) as update:
        path = go_on(run, method=method, progress=update, trust_code=trust_code)
    with read_only(path) as record:
        known = (record.facts().get("values") or {}).get("models") or {}  # which are values
    return with_models(Result(path, method, trust_code), recipes_of(known))


def _displayed(
    folder: Path, progress: bool | Progress | None
) -> AbstractContextManager[Progress | None]:
    """As of ``run``, from the rounds that are there on; nothing of a run that is finished."""
    before = before_resume(folder) if progress is True else None
    if before is None:
        return nullcontext(progress if callable(progress) else None)
    return displayed(of_run(folder), progress, *before)
