"""The Python interface: describe an experiment, run it, look at what came out."""

import contextlib
import operator
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pandas as pd
from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.method import Method
from fedkin.core.plain import html_table
from fedkin.data.population import Population, Split
from fedkin.doctor.checked import checked, data_notes
from fedkin.doctor.diagnosis import Asked, diagnosis
from fedkin.experiment.heading import head
from fedkin.experiment.notebook import Bar, in_notebook
from fedkin.experiment.progress import Tally, display
from fedkin.experiment.resume import resume as _resume
from fedkin.experiment.run import new_folder
from fedkin.experiment.run import run as _run
from fedkin.experiment.terminal import console
from fedkin.experiment.training import Progress
from fedkin.export.export import export as write
from fedkin.export.exportable import exportable
from fedkin.export.opened import Member, Opened
from fedkin.export.personal import Personal
from fedkin.export.place import place_of
from fedkin.export.predict import predicted
from fedkin.models.build import GIVEN_MODELS
from fedkin.newcomers.join import join as joined
from fedkin.report import frames
from fedkin.report.comparison.side_by_side import SideBySide
from fedkin.report.page.figure_files import first_chart
from fedkin.report.page.report import write_report
from fedkin.report.summary import numbers_of, summary
from fedkin.runs.database import read_only
from fedkin.runs.directory import check_begun
from fedkin.runs.spec import Spec, assign, parse
from fedkin.setup.arguments.given import check_experiment, check_method, file_of
from fedkin.setup.arguments.given_errors import in_callers_words
from fedkin.setup.arguments.in_words import in_words
from fedkin.setup.arguments.keywords import content_of
from fedkin.setup.arguments.method_value import check_called, check_settings
from fedkin.setup.arguments.names_exist import check_names
from fedkin.setup.arguments.typed_space import typed_space
from fedkin.setup.arguments.values import check_given
from fedkin.setup.opened import load, spec_of
from fedkin.setup.own_code import permit
from fedkin.setup.population import reading_once


class Experiment:
    """What to run: ``Experiment(method="cgpfl", data="mnist", clients=40, rounds=200,
    **{"method.clusters": 4})``.

    Keys that have another name here are understood, with a warning. Samples are not read before
    ``check``, ``doctor``, ``sweep`` or ``run``.

    Args:
        method: The name of a method, or a Method value of your own, for which the engine is
            "inprocess". None: what [method] begins with on such data, most often ``finetune``,
            which fine-tunes a shared model at each client.
        **settings: The options of the command line by their names; dotted ones are ``section.key``
            of a specification.

    Raises:
        FedkinError: A key, a name or a value that does not exist, here and now.
    """

    def __init__(self, method: str | Method | None = None, **settings: Any) -> None:
        check_method(method)
        self.method = method if isinstance(method, Method) else None
        named = {"method": method} if isinstance(method, str) else {}
        shown = {"method": method.name} if isinstance(method, Method) else named
        self._asked = {**shown, **settings}
        content, notes, self.given = content_of({**named, **settings})
        if isinstance(method, Method):  # whose hyper-parameters are its own, not a default's
            assign(content, "method.name", method.name)
        here = str(content.get("model", {}).get("name", "")).endswith("@python")
        if self.method is not None or (here and "name" not in content.get("engine", {})):
            assign(content, "engine.name", "inprocess")
        self.spec, hints = parse(content, where="Experiment")
        if self.method is not None:
            check_settings(self.method, content, self.spec.train.lr)
            hints = [*hints, *check_called(self.method)]
        for hint in [*notes, *hints]:
            warnings.warn(hint, stacklevel=2)
        permit(self.spec)  # who wrote the program typed the names in it
        check_names(self.spec, self.method)
        name = self.spec.model.name
        self._models = {name: GIVEN_MODELS[name]} if name in GIVEN_MODELS else {}

    def __repr__(self) -> str:
        shown = {key: self._shown(key, value) for key, value in self._asked.items()}
        plain = [f"{key}={value!r}" for key, value in shown.items() if "." not in key]
        dotted = {key: value for key, value in shown.items() if "." in key}
        return f"Experiment({', '.join([*plain, *([f'**{dotted!r}'] if dotted else [])])})"

    def _repr_html_(self) -> str:
        rows = [(key, repr(self._shown(key, value))) for key, value in self._asked.items()]
        return html_table("Experiment", rows)

    def _shown(self, key: str, value: Any) -> Any:
        given = self.given if key == "data" else None
        return in_words(value, None if given is None else given.says)

    def check(self) -> dict[str, Any]:
        """What is in the data and what looks wrong: what ``fedkin data check --json`` prints.

        Returns:
            Plain values; "problems" has a dict a fault, with its sentence and its fix.

        Raises:
            FedkinError: Data that cannot be read, with no fix for it: a file that is not there,
                say.
        """
        with self._placed() as spec:
            return checked(spec).found

    def doctor(self, rounds: int = 3, methods: Asked = None) -> dict[str, Any]:
        """The experiment looked at before it is run: what ``fedkin doctor --json`` prints.

        Args:
            rounds: How many rounds each method is probed for, from 1; 0: none is probed.
            methods: Names of methods, or Method values, to probe beside the doctor's candidates; or
                one of them.

        Returns:
            What was found, as plain values: texts, numbers, lists, dicts.

        Raises:
            FedkinError: What is wrong with the experiment, the rounds or a method's name.
        """
        with self._placed() as spec:
            return diagnosis(spec, rounds, methods, given=self.method)

    def sweep(
        self,
        space: Mapping[str, Any] | Sequence[str],
        out: Path | str = "sweep",
        trials: int | None = None,
        sampler: str = "grid",
    ) -> dict[str, Any]:
        """Hyper-parameters searched by validation: what ``fedkin sweep --json`` prints (extra
        ``sweep``). The same folder goes on with the same study.

        Args:
            space: {"train.lr": [0.01, 0.1]}, or texts as after ``--space``; or one text. A value in
                place of a list is a list of one.
            out: The folder of the study and its runs; it is made.
            trials: How many, at least 1, of all processes together; without it a grid is done
                whole, and "tpe" refuses.
            sampler: "grid" takes every combination of the values, "tpe" draws from them and from
                ranges.

        Returns:
            {"best": a trial, "trials": all that have a value, best first, "lost": those without
            one, "running": how many are under way}. A trial is a dict: its "validation" score, its
            values, its "run".

        Raises:
            FedkinError: What is wrong with the space, the sampler or the number of trials; data
                or a model that are no names; or no trial has a value.
        """
        from fedkin.sweep import outcome, space_of
        from fedkin.sweep import sweep as search

        values = (self.method, self.given, GIVEN_MODELS.get(self.spec.model.name))
        if any(value is not None for value in values):
            raise FedkinError(
                "a sweep begins its runs from names: give the method, the data and the model as "
                "names or files"
            )
        texts = typed_space(space)
        permit(self.spec)
        return outcome(search(self.spec, space_of(texts), Path(out), trials, sampler), Path(out))

    def run(
        self, out: Path | str | None = None, progress: bool | Progress | None = None
    ) -> "Result":
        """``fedkin.run(experiment, out, progress)``.

        Args:
            out: The run directory, new or empty; else a new one in ``runs``.
            progress: As of ``fedkin.run``.

        Returns:
            The finished run.

        Raises:
            FedkinError: What is wrong with the experiment, or with the folder, in one sentence.
        """
        return run(self, out, progress)

    @contextlib.contextmanager
    def _placed(self) -> Iterator[Spec]:
        """The specification, with given data in a folder of their own for as long as it lasts."""
        permit(self.spec)  # another process may have made the experiment
        GIVEN_MODELS.update(self._models)  # another experiment may have one of the same name
        if self.given is None:
            yield self.spec
            return
        with tempfile.TemporaryDirectory(prefix="fedkin-") as folder:
            path = self.given.write(Path(folder))
            with in_callers_words(self.given, path):
                yield named_data(self.spec, path)


def named_data(spec: Spec, path: Path) -> Spec:
    """The same experiment on other data.

    Args:
        spec: The specification.
        path: A file or folder, which takes the place of [data] name.

    Returns:
        A copy; nothing but [data] name differs.
    """
    return spec.model_copy(update={"data": spec.data.model_copy(update={"name": str(path)})})


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
        self.folder, self._method, self._trust_code = Path(folder), method, trust_code
        check_begun(self.folder)
        self._models: Mapping[str, Any] = {}  # those that ``run`` was given as values

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

    def _member(self, client: int | str) -> tuple[Opened, Member]:
        """The run, opened, and one of its clients."""
        GIVEN_MODELS.update(self._models)  # another experiment may have one of the same name
        opened = Opened(self.folder, self._method, self._trust_code)
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

    @cached_property
    def _population(self) -> Population:
        GIVEN_MODELS.update(self._models)
        return load(
            self.folder, method=self._method, trust_code=self._trust_code, of=()
        ).parts.population

    def predict(self, client: int | str, x: Any, view: str = "personal") -> pd.DataFrame:
        """What a client's personal model says of new samples: what ``fedkin predict`` writes.

        Args:
            client: Its number, from 0, or its name; also that of one who joined.
            x: A DataFrame or a file with the columns of training; or samples as ``data`` gives
                them, [rows, …].
            view: "personal", or "global" for the shared model.

        Returns:
            A row a sample: "prediction", and "p(LABEL)" in 0..1 for each class. ``attrs["said"]``
            holds sentences on what the model never saw.

        Raises:
            FedkinError: A client or view that is not there, a file that is missing, or samples of
                other columns, another shape or another type than the model was trained on.
        """
        return predicted(*self._member(client), x, view)

    def compare(
        self, *others: "Result | Path | str", against: str | None = None, best: bool = False
    ) -> SideBySide:
        """This run beside others, as ``fedkin compare`` shows them.

        Args:
            *others: Results, or their folders.
            against: A method, or the name of a run; else local, else the first run.
            best: Whether only the setting that validation data chose is kept of each method.

        Returns:
            The comparison, which shows itself in a notebook.

        Raises:
            FedkinError: No finished run has the name, or is of the method, that ``against`` says.
        """
        folders = [one.folder if isinstance(one, Result) else Path(one) for one in others]
        return SideBySide.of([self.folder, *folders], against, best)

    def report(self) -> Path:
        """Write report.html into the run directory: one page with tables and charts, which needs no
        network.

        Returns:
            The path of the page.

        Raises:
            FedkinError: The folder is no run, is damaged, or cannot be written.
        """
        return write_report(self.folder)

    def doctor(self, rounds: int = 3, methods: Asked = None) -> dict[str, Any]:
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
        GIVEN_MODELS.update(self._models)
        with read_only(self.folder) as record:
            how = f"fedkin.Result({str(self.folder)!r}, method=THE METHOD)"
            check_given(self.folder, self._method, record.facts(), how)
        spec = spec_of(self.folder, trust_code=self._trust_code)
        return diagnosis(spec, rounds, methods, given=self._method)

    def audit(self) -> dict[str, Any]:
        """Attacks on the finished run, which stays as it is: what ``fedkin audit --json`` prints.

        Returns:
            What was found, as plain values: "membership", "labels", "properties", "inversion",
            "canaries", "kinds", "accounted"; None in the place of what cannot be tried here.

        Raises:
            FedkinError: It is no run, a deployment's, or not finished.
        """
        from fedkin.audit.audit import audit

        GIVEN_MODELS.update(self._models)
        return audit(self.folder, self._trust_code, self._method)

    def export(
        self, client: int | str, format: str = "safetensors", out: Path | str | None = None
    ) -> Path:
        """A client's model as a file, with its card: what ``fedkin export`` writes.

        Args:
            client: Its number, from 0, or its name; also that of one who joined.
            format: "safetensors" (tensors), "pt2" (a program of torch) or "onnx" (a program for
                other runtimes).
            out: A folder, in which the model gets one of the client's name; None: DIR/export/NAME.

        Returns:
            The file of the model; card.md and card.json lie beside it.

        Raises:
            FedkinError: A client or format that is not there, an extra that is not installed, a
                folder that holds another model, or a file that would not give what the model gave
                in the run.
        """
        opened, member = self._member(client)
        place = place_of(self.folder, None if out is None else Path(out), member, format)
        return write(exportable(opened, member), format, place).file

    def join(self, data: Path | str, rounds: int | None = None) -> dict[str, Any]:
        """A personal model for a client that was not in the run: what ``fedkin join --json``
        prints.

        Args:
            data: The newcomer's samples: .csv, .parquet or .npz.
            rounds: Rounds of work, 0 or more; None: its validation data choose.

        Returns:
            What came of it, as plain values; "model" is its file.

        Raises:
            FedkinError: What is wrong with the run, the samples or the number of rounds.
        """
        GIVEN_MODELS.update(self._models)
        join = partial(joined, method=self._method, trust_code=self._trust_code)
        return join(self.folder, file_of(data), rounds=rounds)


def _number(client: int | str, clients: int) -> int:
    try:
        number = operator.index(client)  # type: ignore[arg-type]  # of a name, a TypeError
    except TypeError:
        number = -1
    if not 0 <= number < clients:
        raise FedkinError(f"client {client!r} is not there: clients are 0 to {clients - 1}")
    return number


@reading_once()
def run(
    experiment: Experiment,
    out: Path | str | None = None,
    progress: bool | Progress | None = None,
) -> Result:
    """Run an experiment.

    Args:
        experiment: What to run.
        out: The run directory, new or empty; else a new one in ``runs``.
        progress: True shows it as the command line does, in notebooks and terminals; a function is
            called with the Record of every round; None is silent.

    Returns:
        The finished run.

    Raises:
        FedkinError: What is wrong with the experiment, in one sentence; ``Interrupted``, which is
            one, after Ctrl-C: what is committed stays.
    """
    check_experiment(experiment, Experiment)
    spec = experiment.spec
    with experiment._placed() as placed:
        for sentence in data_notes(placed):
            warnings.warn(sentence, stacklevel=2)
    if experiment.given is None:
        return _shown(spec, out, experiment, progress)
    out = new_folder(spec, spec.method.name, out)  # which is a Method value's name, too
    path = experiment.given.write(Path(out))
    with in_callers_words(experiment.given, path):
        return _shown(named_data(spec, path), out, experiment, progress)


def _shown(
    spec: Spec, out: Path | str | None, asked: Experiment, progress: bool | Progress | None
) -> Result:
    """The run, with its progress where that was asked for."""
    if progress is not True:
        folder = _run(spec, out, method=asked.method, progress=progress or None)
    else:
        tally = Tally(spec, head(spec))
        with Bar(tally) if in_notebook() else display(tally, console()) as shown:
            folder = _run(spec, out, method=asked.method, progress=shown.update)
    result = Result(folder, asked.method)
    result._models = asked._models
    return result


def resume(
    folder: Path | str,
    method: Method | None = None,
    progress: Progress | None = None,
    trust_code: bool = False,
) -> Result:
    """Continue a run that was stopped; gives the numbers of an uninterrupted one.

    Args:
        folder: The run directory.
        method: The Method value that the run was started with, where it was one; one with another
            name or other hyper-parameters is refused.
        progress: Called with the Record of every round; None is silent.
        trust_code: Whether code that the run names may be imported; it runs with your rights.

    Returns:
        The finished run.

    Raises:
        FedkinError: It is no run directory, or one that cannot be continued; ``Interrupted``, which
            is one, after Ctrl-C.
    """
    path = _resume(Path(folder), method=method, progress=progress, trust_code=trust_code)
    result = Result(path, method, trust_code)
    with read_only(path) as record:
        known = (record.facts().get("values") or {}).get("models") or {}  # which are values
    result._models = {name: GIVEN_MODELS[name] for name in known if name in GIVEN_MODELS}
    return result


__all__ = ["Experiment", "Personal", "Result", "resume", "run"]
