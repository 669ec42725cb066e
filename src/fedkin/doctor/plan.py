"""A first experiment for data that nobody has trained on yet: what ``fedkin init`` writes."""

import tomllib
from collections.abc import Mapping
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError
from fedkin.doctor.candidates import split_name
from fedkin.doctor.data_checks import check_data
from fedkin.doctor.diagnosis import diagnosis
from fedkin.doctor.fixed_spec import fixed_spec
from fedkin.doctor.seldom_worse import takes_safe
from fedkin.runs.spec import Spec, parse
from fedkin.setup.build import assemble

BY_PREDICTIONS = "ds_fl"  # docs/gains.md: the most gained without parameters or public labels
OTHERS_BY_PREDICTIONS = "kt_pfl and comet"
SIZES = {"large": "dnn", "small": "mlr"}  # devices' models: the largest clients have the first


class Answers(NamedTuple):
    """What a person said of the federation.

    Attributes:
        data: A file, a folder or a data set's name.
        data_dir: Data directory; None: that of FEDKIN_DATA.
        label: The column to predict; None where the data say it.
        client: The column that names the client; None where the data name the clients, or nobody
            does.
        invented: Whether rows are to be divided among invented clients.
        parameters: Whether a model's parameters may leave a client.
        alike: Whether every device can train the same model.
    """

    data: str
    data_dir: str | None = None
    label: str | None = None
    client: str | None = None
    invented: bool = False
    parameters: bool = True
    alike: bool = True


class Plan(NamedTuple):
    """The experiment that was chosen.

    Attributes:
        text: The specification, commented.
        spec: The same, read.
        method: The method's name.
        why: Why this one, in a sentence.
        beside: The method to compare it with, as it is typed after --method.
        problems: ``Problem.plain`` of each fault of the data.
        safe: Whether the method takes [method] safe = true on these data.
    """

    text: str
    spec: Spec
    method: str
    why: str
    beside: str
    problems: list[dict[str, Any]]
    safe: bool


def plan(answers: Answers, command: str) -> Plan:
    """Look at the data, mend what can be mended, let the doctor compare, and choose.

    Args:
        answers: What is known.
        command: What was typed, for the file's first line.

    Returns:
        The file's text, the experiment in it, why its method was chosen, and what was found in the
        data.

    Raises:
        FedkinError: Data that cannot be read, for which there is no fix.
    """
    content = _asked(answers)
    facts, _, _ = check_data(parse(content)[0])
    problems = facts["problems"]
    mended = _read(fixed_spec(parse(content)[0], problems, command))
    chosen = _chosen(answers, mended, bool(facts["classes"]))
    content.update(chosen.sections)
    text = fixed_spec(parse(content)[0], problems, command, _reasons(answers, chosen))
    method = chosen.sections["method"]["name"]
    spec = _read(text)
    safe = chosen.safe if chosen.safe is not None else takes_safe(assemble(spec), method)
    return Plan(text, spec, method, chosen.why, chosen.beside, problems, safe)


def _read(text: str) -> Spec:
    return parse(tomllib.loads(text), text, "the first experiment")[0]


def _asked(answers: Answers) -> dict[str, Any]:
    columns = {"dir": answers.data_dir, "client": answers.client, "label": answers.label}
    named = {key: value for key, value in columns.items() if value is not None}
    content: dict[str, Any] = {"data": {"name": answers.data, **named}}
    if answers.invented:
        content["split"] = {"name": "iid"}
    return content


class _Chosen(NamedTuple):
    """The sections that the answers and the doctor choose, the reason, what to compare with, and
    whether the method can be safe (None: nobody has looked).
    """

    sections: dict[str, Any]
    why: str
    beside: str = "local"
    safe: bool | None = None


def _chosen(answers: Answers, spec: Spec, classes: bool) -> _Chosen:
    if answers.parameters and answers.alike:
        return _by_doctor(spec)
    cause = "parameters stay" if not answers.parameters else "devices train unlike models"
    if not classes:
        why = f"{cause}, and methods that exchange predictions need classes: each client by itself"
        return _alone(why, "finetune")
    sections: dict[str, Any] = {
        "method": {"name": BY_PREDICTIONS},
        "public": {"source": "held-out"},
    }
    if not answers.alike:
        sections["model"] = {"map": SIZES, "rule": "size"}
    return _Chosen(
        sections, f"{cause}: clients exchange predictions only; {OTHERS_BY_PREDICTIONS} do so too"
    )


def _alone(why: str, beside: str) -> _Chosen:
    return _Chosen({"method": {"name": "local"}}, why, beside, safe=False)


def _by_doctor(spec: Spec) -> _Chosen:
    try:
        findings = diagnosis(spec, rounds=0, named=False)
    except FedkinError as error:
        return _alone(f"the doctor could not compare: {error}", "finetune")
    verdict, first = findings["verdict"], findings["candidates"]
    if verdict is None or not first:
        return _alone("the doctor compares nothing: begin with each client alone", "finetune")
    best = first[0]
    if not verdict["federate"]:
        return _alone(f"the doctor says: {verdict['says']}", best["method"])
    name, options = split_name(best["method"])
    return _Chosen(
        {"method": {"name": name, **options}},
        f"the doctor says: {verdict['says']}; {best['reason']}",
        safe=best["method"] in findings["safe"],
    )


def _reasons(answers: Answers, chosen: _Chosen) -> Mapping[str, str]:
    """section → what stands under its name."""
    by_size = "Clients with fewer samples get the small model; name your own for each."
    invented = "Nobody names clients: rows are divided evenly among invented ones (a simulation)."
    return {
        "method": f"{chosen.why[0].upper()}{chosen.why[1:]}.",
        "public": "A tenth of the rows, taken from the clients, on which all of them predict.",
        **({"model": by_size} if "map" in chosen.sections.get("model", {}) else {}),
        **({"split": invented} if answers.invented else {}),
    }
