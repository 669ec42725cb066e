"""What to run: an experiment as a value, to be looked at, searched over and run."""

import contextlib
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from fedkin.api.paths import path_of
from fedkin.api.progress import displayed
from fedkin.api.result import Result, with_models
from fedkin.core.errors import FedkinError
from fedkin.core.escaping import html_table
from fedkin.core.method import Method
from fedkin.doctor.data_checks import check_data, data_notes
from fedkin.doctor.diagnosis import ExtraMethods, diagnosis
from fedkin.experiment.run import claimed
from fedkin.experiment.run import run as begin
from fedkin.experiment.training import Progress
from fedkin.models.given import SUFFIX, recipe_of, recipes_of, register
from fedkin.runs.output_files import EXPERIMENTS, write_outside
from fedkin.runs.spec import Spec, assign, our_names, parse, read
from fedkin.setup.arguments.given import check_experiment, check_method
from fedkin.setup.arguments.given_errors import in_callers_words
from fedkin.setup.arguments.in_words import in_words
from fedkin.setup.arguments.keywords import changes_of, content_of
from fedkin.setup.arguments.method_value import check_called, check_settings
from fedkin.setup.arguments.names_exist import check_names
from fedkin.setup.arguments.options import specification
from fedkin.setup.population import shared_reading
from fedkin.setup.user_code import permit

__all__ = ["Experiment", "run"]


class Experiment:
    """What to run: ``Experiment(method="cgpfl", data="mnist", clients=40, rounds=200,
    method__clusters=4)``.

    Keys that have another name here are understood, with a warning. Samples are not read before
    ``check``, ``doctor``, ``sweep`` or ``run``.

    Args:
        method: The name of a method, or a Method value of your own, for which the engine is
            "inprocess". None: what [method] begins with on such data, most often ``finetune``,
            which fine-tunes a shared model at each client.
        **settings: The options of the command line by their names, and any key of a specification:
            ``section__key=value``, or ``**{"section.key": value}``.

    Raises:
        FedkinError: A key, a name or a value that does not exist, here and now.
    """

    def __init__(self, method: str | Method | None = None, **settings: Any) -> None:
        check_method(method)
        self.method = method if isinstance(method, Method) else None
        named = {"method": method} if isinstance(method, str) else {}
        shown = {"method": method.name} if isinstance(method, Method) else named
        self._asked = {**shown, **settings}
        content, notes, self.given_data = content_of({**named, **settings})
        if isinstance(method, Method):  # whose hyper-parameters are its own, not a default's
            assign(content, "method.name", method.name)
        here = str(content.get("model", {}).get("name", "")).endswith(SUFFIX)
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
        self._models = recipes_of([self.spec.model.name])
        self._file: Path | None = None

    @classmethod
    def read(cls, path: Path | str, trust_code: bool = False, **changes: Any) -> "Experiment":
        """The experiment of a file, as ``fedkin run FILE`` reads it.

        Args:
            path: A TOML file, such as one of ``write``, of ``fedkin init``, or of a run directory.
            trust_code: Whether code that the file names may be imported; it runs with your rights,
                and the file's folder is trusted from then on.
            **changes: Settings as of ``Experiment``, in place of what the file says: ``seed=1``.
                Keys of another method, model or partition are dropped, with a warning. A
                ``transform`` follows those of the file; ``transforms`` replace them.

        Returns:
            An experiment.

        Raises:
            FedkinError: The file is none, or has a mistake, which is named with its line; or a key,
                a name or a value of ``changes`` does not exist; or the file names code, and nobody
                trusts its folder.
        """
        file = path_of(path, "an experiment file")
        made = object.__new__(cls)
        asked = changes_of(changes, _sections(file))
        made.spec, hints = specification(file, asked, [], trust_code, where="Experiment")
        made.method, made.given_data, made._asked, made._file = None, None, changes, file
        made._models = {}
        for hint in hints:
            warnings.warn(hint, stacklevel=2)
        check_names(made.spec, None)
        return made

    def __repr__(self) -> str:
        asked = {key: self._shown(key, value) for key, value in self._asked.items()}
        plain = [f"{key}={value!r}" for key, value in asked.items() if "." not in key]
        dotted = {key: value for key, value in asked.items() if "." in key}
        shown = [*plain, *([f"**{dotted!r}"] if dotted else [])]
        if self._file is None:
            return f"Experiment({', '.join(shown)})"
        return f"Experiment.read({', '.join([repr(str(self._file)), *shown])})"

    def _repr_html_(self) -> str:
        rows = [(key, repr(self._shown(key, value))) for key, value in self._asked.items()]
        return html_table("Experiment", rows)

    def _shown(self, key: str, value: Any) -> Any:
        given = self.given_data if key == "data" else None
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
            return check_data(spec).found

    def doctor(self, rounds: int = 3, methods: ExtraMethods = None) -> dict[str, Any]:
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
            return diagnosis(spec, rounds, methods, method_value=self.method)

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
            space: {"train.lr": [0.01, 0.1]}, or {"train.lr": "log 0.001 .. 0.3"}, a range; or
                texts as after ``--space``, or one text. A value in place of a list is a list of
                one.
            out: The folder of the study and its runs; it is made.
            trials: How many, at least 1, of all processes together; without it a grid is done
                whole, and "tpe" refuses.
            sampler: "grid" takes every combination of the values, "tpe" draws from them and from
                ranges.

        Returns:
            {"best": a trial, "trials": all that have a value, best first, "lost": those without
            one, "running": how many are under way, "privacy": the epsilon of all together where
            they have noise, "edges": the keys whose best value is at the end of its list}. A trial
            is a dict: its "validation" score, its values, its "run".

        Raises:
            FedkinError: What is wrong with the space, the sampler or the number of trials; data
                or a model that are no names; or no trial has a value.
        """
        from fedkin.sweep import costs_of_trials, given_space, outcome
        from fedkin.sweep import sweep as search

        self._check_named("a sweep begins its runs from names")
        searched = given_space(space)
        permit(self.spec)
        folder = path_of(out, "the folder of a sweep")
        study = search(self.spec, searched, folder, trials, sampler)
        return outcome(study, folder, costs_of_trials(study, folder))

    def write(self, path: Path | str) -> Path:
        """Write the experiment as a file, which ``fedkin run`` and ``fedkin deploy init`` take.

        Args:
            path: Ends in .toml; an experiment file that is there is replaced.

        Returns:
            The same path.

        Raises:
            FedkinError: Data, a model or a method that are no names; or the file does not end in
                .toml, cannot be written, or is a run's own.
        """
        file = path_of(path, "an experiment file")
        if file.suffix not in EXPERIMENTS:
            raise FedkinError(f"{file}: an experiment file ends in .toml")
        self._check_named("an experiment file holds names")
        content = self.spec.model_dump(mode="json", exclude_unset=True, exclude_none=True)
        if self.spec.run.patience is None:  # who names the rounds is given no patience
            assign(content, "run.rounds", self.spec.run.rounds)
        return write_outside(file, tomli_w.dumps(content), EXPERIMENTS)

    def _check_named(self, why: str) -> None:
        values = (self.method, self.given_data, recipe_of(self.spec.model.name))
        if any(value is not None for value in values):
            raise FedkinError(f"{why}: give the method, the data and the model as names or files")

    def run(self, out: Path | str | None = None, progress: bool | Progress | None = None) -> Result:
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
        register(self._models)  # another experiment may have one of the same name
        if self.given_data is None:
            yield self.spec
            return
        with tempfile.TemporaryDirectory(prefix="fedkin-") as folder:
            path = self.given_data.write(Path(folder))
            with in_callers_words(self.given_data, path):
                yield self.spec.replace("data", name=str(path))


def _sections(file: Path) -> dict[str, Any]:
    """What an experiment file says, unchecked; {} where it cannot be read, which is told later."""
    with contextlib.suppress(FedkinError):
        return our_names(read(file)[0])[0]
    return {}


@shared_reading()
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
    spec, out = experiment.spec, None if out is None else path_of(out, "a run directory")
    with experiment._placed() as placed:
        for sentence in data_notes(placed):
            warnings.warn(sentence, stacklevel=3)  # 2 is shared_reading's
    if experiment.given_data is None:
        return _run(experiment, spec, out, progress)
    # the name is a Method value's, too; another process may have data of its own for this folder
    with claimed(spec, spec.method.name, out) as folder:
        path = experiment.given_data.write(folder)
        with in_callers_words(experiment.given_data, path):
            named = spec.replace("data", name=str(path))
            return _run(experiment, named, folder, progress, is_claimed=True)


def _run(
    experiment: Experiment,
    spec: Spec,
    out: Path | str | None,
    progress: bool | Progress | None,
    is_claimed: bool = False,
) -> Result:
    """A run of the experiment's specification, in which given data have a name by now.

    ``is_claimed``: as of ``begin``.
    """
    with displayed(spec, progress) as update:
        folder = begin(spec, out, method=experiment.method, progress=update, is_claimed=is_claimed)
    return with_models(Result(folder, experiment.method), experiment._models)
