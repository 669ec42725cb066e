"""The card of a personal model: what it learned from, how well it does, what it cost."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fedkin.core.kinds import KINDS
from fedkin.core.model import Model
from fedkin.core.tree import is_buffer
from fedkin.data.population import Population
from fedkin.engine.untrained import begins_untrained
from fedkin.export.module_io import postprocessing, preprocessing
from fedkin.export.opened_run import PERSONAL, Member, Opened
from fedkin.report.records import Run, number
from fedkin.report.records import opened as records
from fedkin.report.scores import measures
from fedkin.report.words.deployed import CHANCE, SHARE, of_notes
from fedkin.runs.bounds import are_counts

NO_SCORES = "no score of this client: secure aggregation keeps means over clients alone"
PARTICIPANTS = "SELECT participants FROM rounds WHERE phase = 'round' AND round <= ?"


def card_of(opened: Opened, member: Member, view: str = PERSONAL) -> dict[str, Any]:
    """The card as plain values. Scores are those of the run's end, or of the join, on the client's
    own samples.

    Args:
        opened: The run.
        member: Whose model.
        view: Which of its models the card goes with.

    Returns:
        What card.json holds: samples are counts, accuracies fractions 0..1, losses means per
        sample, sizes bytes.
    """
    with records(opened.folder) as run:
        facts = run.facts
        model = opened.parts.models[opened.architecture(member)]
        own = (
            _of_newcomer(member.details)
            if member.number is None
            else _of_client(run, member.number, opened.at.round)
        )
        return {
            "client": member.name,
            "number": member.number,
            "view": view,
            "method": run.fact("method"),
            "hyper_parameters": run.fact("hyper"),
            "architecture": opened.architecture(member),
            "family": (run.fact("spec").get("model") or {}).get("family"),
            "seed": run.fact("seed"),
            "rounds": opened.round,
            "finished": opened.at.finished,
            "joined": own.joined,
            "took_part": own.took_part,
            "untrained": own.took_part == 0 and _begins_untrained(run, opened, member),
            "data": {
                "name": run.fact("data"),
                "samples": own.samples,
                "unseen_classes": _unseen_classes(opened.parts.population, own, facts),
                "digest": run.fact("data_digest"),
            },
            "deploys": own.deploys if view == PERSONAL else None,
            "scores": own.scores,
            "no_scores": NO_SCORES if _masked(run) and member.number is not None else None,
            "communicated": own.communicated,
            "input": input_of(opened.parts.population, model),
            "output": output_of(opened.parts.population, model),
            "versions": run.fact("versions"),
            "privacy": facts.get("privacy"),
            "outside_of_privacy": _outside(facts, view, model),
        }


def _outside(facts: Mapping[str, Any], view: str, model: Model) -> bool:
    """Whether the run's ε says nothing of this file: of a personal model that is made of its
    client's own rows, and of any with statistics of batch norm that never left its client.
    """
    privacy = facts.get("privacy")
    if not isinstance(privacy, Mapping):
        return False
    if view == PERSONAL:
        return bool(privacy.get("personal_outside", True))  # of an older record nobody knows
    own = (facts["spec"].get("model") or {}).get("buffers") == "local"
    return own and any(map(is_buffer, model.initial))


def _unseen_classes(
    population: Population, own: "RecordedClient", facts: Mapping[str, Any]
) -> list[str]:
    """The classes that none of the client's training samples has, by name; where privacy was asked
    for, nobody is told.
    """
    if facts.get("privacy") or not any(own.histogram):
        return []
    names = population.class_names or tuple(map(str, range(len(own.histogram))))
    return [name for name, count in zip(names, own.histogram, strict=True) if not count]


def _masked(run: Run) -> bool:
    """Whether scores of the run's clients left them as a sum; a newcomer's own are its own."""
    return (run.fact("spec").get("privacy") or {}).get("secure_aggregation") is not None


class RecordedClient(NamedTuple):
    """What the record says of a client.

    ``joined``: of a newcomer, after which round it came and how long it worked. ``took_part``: in
    how many rounds; None of a newcomer. ``deploys``: under [method] safe what it took, and why.
    """

    samples: dict[str, int]
    scores: dict[str, Any]
    communicated: dict[str, dict[str, int]]
    joined: dict[str, int] | None = None
    took_part: int | None = None
    deploys: str | None = None
    histogram: Sequence[int] = ()  # training samples by class; () where it is not known


def _of_client(run: Run, client: int, at: int) -> RecordedClient:
    """``at``: the round of the commit that its model is of; the record may be further by now."""
    own = run.clients[client]
    last = run.last_scored(at)
    return RecordedClient(
        {"train": own.train, "val": own.val, "test": own.test},
        {view: _scores(run, client, last, view) for view in _views(run, client, last)},
        {way: _sent(run, client, way, at) for way in ("up", "down")},
        took_part=_taken(run, at)[client],
        deploys=_deploys(run, client, last),
        histogram=own.histogram,
    )


def _deploys(run: Run, client: int, at: int) -> str | None:
    """None where the run is not safe, or not at its end."""
    query = "SELECT name, value FROM notes WHERE client = ? AND round = ? AND name IN (?, ?)"
    notes = run.rows(query, client, at, SHARE, CHANCE)
    return of_notes({name: run.read(value) for name, value in notes})


def _taken(run: Run, at: int) -> Counter[int]:
    """Client → in how many rounds it took part."""
    took_part = (run.read(who, are_counts) for (who,) in run.rows(PARTICIPANTS, at))
    return Counter(client for clients in took_part for client in clients)


def _begins_untrained(run: Run, opened: Opened, member: Member) -> bool:
    """Whether a client that no round had deploys something that nobody trained."""
    assert member.number is not None
    parts, info = opened.parts, opened.parts.infos[member.number]
    participants = _taken(run, opened.at.round)
    alike = (k for k in participants if parts.infos[k].architecture == info.architecture)
    model, state = parts.models[info.architecture], opened.coordinator.state
    return begins_untrained(parts.method, state, model, info, next(alike, None))


def _of_newcomer(details: Mapping[str, Any]) -> RecordedClient:
    others = details.get("measures", {})  # an older join has none
    return RecordedClient(
        {split: details[split] for split in ("train", "val", "test")},
        {
            view: {
                split: {**by, **others.get(view, {}).get(split, {})} for split, by in splits.items()
            }
            for view, splits in details["scores"].items()
        },
        {
            way: {"bytes": details["bytes"][way], **details["scalars"][way]}
            for way in ("up", "down")
        },
        {"after_round": details["after_round"], "rounds": details["rounds"]},
        deploys=of_notes(details.get("notes", {})),
    )


def _views(run: Run, client: int, last: int) -> list[str]:
    query = (
        "SELECT DISTINCT view FROM metrics WHERE round = ? AND client = ? ORDER BY view "
        "= 'personal' DESC, view"
    )
    return [view for (view,) in run.rows(query, last, client)]


def _scores(run: Run, client: int, last: int, view: str) -> dict[str, Any]:
    query = "SELECT split, loss, accuracy FROM metrics WHERE round = ? AND client = ? AND view = ?"
    return {
        split: {"loss": loss, "accuracy": None if accuracy is None else number(accuracy)}
        | {
            name: by[client]
            for name, by in measures(run, last, view, split).items()
            if client in by
        }
        for split, loss, accuracy in run.rows(query, last, client, view)
    }


def _sent(run: Run, client: int, way: str, at: int) -> dict[str, int]:
    sums = ", ".join(f"coalesce(sum({kind}), 0)" for kind in ("bytes", *KINDS))
    where = "client = ? AND direction = ? AND round <= ?"
    ((total, *counts),) = run.rows(f"SELECT {sums} FROM messages WHERE {where}", client, way, at)
    return {"bytes": total} | {
        kind: count for kind, count in zip(KINDS, counts, strict=True) if count
    }


def input_of(population: Population, model: Model) -> dict[str, Any]:
    """What the model takes, as plain values; ``module``: with what that enters its torch module.

    Args:
        population: The run's.
        model: The architecture.

    Returns:
        "shape", "dtype", "module" (what enters its torch module), and of a table "numbers" and
        "columns".
    """
    described: dict[str, Any] = {
        "shape": ["samples", *population.x.shape[1:]],
        "dtype": str(population.x.dtype).removeprefix("torch."),
        "module": preprocessing(population.x.dtype, model.inputs),
    }
    if population.encoding is not None:
        described |= {
            "numbers": population.encoding.outputs,
            "columns": population.encoding.plain(),
        }
    return described


def output_of(population: Population, model: Model) -> dict[str, Any]:
    """What it says; ``module``: how that comes of what its torch module gives.

    Args:
        population: The run's.
        model: The architecture.

    Returns:
        "is", "shape", "module" (how that comes of what its torch module gives), and "classes" where
        there are some.
    """
    module = postprocessing(model.family)
    if population.task == "regression":
        return {"is": "the predicted mean", "shape": ["samples", 1], "module": module}
    names = population.class_names or tuple(str(c) for c in range(population.classes))
    return {
        "is": "log-probabilities",
        "shape": ["samples", population.classes],
        "classes": list(names),
        "module": module,
    }
