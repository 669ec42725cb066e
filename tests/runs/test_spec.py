"""A specification: its sections, usual names, values of the command line."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.runs.spec import assign, literal, our_names, parse, read


def test_one_section_gets_other_values_and_the_others_stay() -> None:
    spec, _ = parse({"engine": {"compile": "trace"}, "run": {"rounds": 3}})
    other = spec.replace("engine", workers=3, device="cuda")
    assert (other.engine.workers, other.engine.device) == (3, "cuda")
    assert other.engine.compile == "trace"
    assert other.model_copy(update={"engine": spec.engine}) == spec
    assert spec.engine.workers is None


def test_keys_go_into_their_sections() -> None:
    content = {"run": {"rounds": 3}}
    assign(content, "run.seed", 5)
    assign(content, "data.missing.age", ["?"])
    assert content == {"run": {"rounds": 3, "seed": 5}, "data": {"missing": {"age": ["?"]}}}
    with pytest.raises(FedkinError, match="'rounds' is not a section"):
        assign(content, "run.rounds.x", 1)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", 0.1),
        ("true", True),
        ("[1, 2]", [1, 2]),
        ("{a = 1}", {"a": 1}),
        ("'7'", "7"),
        ("dirichlet:0.1", "dirichlet:0.1"),
        ("2024-01-01", "2024-01-01"),  # a date is a name here
        ("1\nother = 2", "1\nother = 2"),  # no second key comes in
        ("", ""),
    ],
)
def test_values_are_toml_where_they_can_be(text, value) -> None:
    assert literal(text) == value


def test_usual_names_are_moved_with_a_hint() -> None:
    ours, hints = our_names({"batch-size": 7, "run": {"local_epochs": 2, "rounds": 9}})
    assert ours == {"train": {"batch_size": 7, "epochs": 2}, "run": {"rounds": 9}}
    assert hints == [
        "batch-size is called train.batch_size here",
        "run.local_epochs is called train.epochs here",
    ]


def test_a_methods_own_keys_stay() -> None:
    ours, hints = our_names({"method": {"name": "x", "batch_size": 3, "alpha": 0.5}})
    assert ours["method"] == {"name": "x", "batch_size": 3, "alpha": 0.5}
    assert hints == []
    assert our_names({"split": {"alpha": 0.3}})[0] == {"split": {"alpha": 0.3}}


def test_what_a_run_wrote_beside_it_is_no_key() -> None:
    spec, hints = parse({"run": {"rounds": 4}, "record": {"torch": "2"}})
    assert (spec.run.rounds, hints) == (4, [])
    with pytest.raises(FedkinError, match=r"^here: unknown key 'run\.roundz': did you mean 'roun"):
        parse({"run": {"roundz": 4}}, where="here")


def test_what_is_not_asked_for_is_not_written() -> None:
    plain = parse({})[0].model_dump()
    assert not {"transforms", "privacy", "audit"} & set(plain)
    private = {"noise": 1.0, "clip": 0.5, "delta": 1e-6}
    asked = parse(
        {"transforms": [{"name": "median"}], "audit": {"canaries": 5}, "privacy": private}
    )[0]
    assert {"transforms", "privacy", "audit"} <= set(asked.model_dump())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a = [", "is not valid TOML"),
        (b"\xff\xfe", "cannot be read: it is no text, so no experiment"),
        (None, "does not exist"),
    ],
)
def test_a_file_that_is_none(content, said, tmp_path) -> None:
    path = tmp_path / "a.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FedkinError, match=f"a.toml {said}"):
        read(path)
    with pytest.raises(FedkinError, match="cannot be read: Is a directory"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("rounds", 10**9, "run.rounds: input should be less than 1000000000"),
        ("clients", "9" * 4000, "run.clients: input should be less than 1000000000"),
        ("min_replies", "9" * 4000, "run.min_replies has more than 64 bits"),
        ("min_replies", 2**63, "run.min_replies has more than 64 bits"),
    ],
)
def test_numbers_that_no_record_or_array_holds(key, value, said) -> None:
    with pytest.raises(FedkinError, match=said):
        parse({"run": {key: value}})
    assert parse({"run": {"rounds": 10**9 - 1, "min_replies": 2**63 - 1}})[0].run.rounds < 10**9


@pytest.mark.parametrize(
    ("key", "most"), [("batch_size", 10**7), ("steps", 10**6), ("epochs", 10**6)]
)
def test_local_work_that_no_memory_holds(key, most) -> None:
    with pytest.raises(FedkinError, match=f"train.{key}: input should be less than or equal to"):
        parse({"train": {key: most + 1}})
    assert getattr(parse({"train": {key: most}})[0].train, key) == most


def test_a_file_of_code_is_its_module_as_on_the_command_line() -> None:
    content = {
        "method": {"name": "mine.py:slower"},
        "model": {"map": {"a": "./nets.py:Net"}},
        "run": {"measure": "mine.py:top_score"},
    }
    spec, _ = parse(content)
    assert (spec.method.name, spec.run.measure) == ("mine:slower", "mine:top_score")
    assert spec.model.map == {"a": "nets:Net"}
    assert parse({"model": {"name": "nets.py:Net"}})[0].model.name == "nets:Net"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize(
    "key",
    [
        "data.mean",
        "data.std",
        "data.noise",
        "split.alpha",
        "model.shares",
        "model.target",
        "method.lam",
        "train.lr",
        "privacy.clip",
    ],
)
def test_a_number_that_a_record_cannot_hold_is_refused(key, number) -> None:
    """JSON would have nothing in its place: the run's own file would lose the key."""
    value = [number, 1.0] if key in ("data.mean", "data.std", "model.shares") else number
    value = (number, 1.0) if key == "model.target" else value
    section, name = key.split(".")
    with pytest.raises(FedkinError, match=rf"^specification: {section}\.{name}"):
        parse({section: {name: value}})
