"""Which client data a run had."""

import pytest

from fedkin.report.comparison.setting import setting
from tests.report.records_for_tests import FACTS

SPEC = FACTS["spec"]


def of(seed: int = 7, digest: str | None = "d7", clients: int = 3, **spec: object):
    facts = {**FACTS, "seed": seed, "data_digest": digest, "spec": {**SPEC, **spec}}
    return setting(facts, clients)


def test_for_equal_seeds_the_digest_decides_and_else_the_specification() -> None:
    other = {"split": {"name": "iid"}}
    assert of().same(of(**other))
    assert not of().same(of(digest="d8"))
    assert of().same(of(seed=8, digest="d8"))
    assert not of().same(of(seed=8, digest="d8", **other))
    assert of().same(of(digest=None))


def test_data_from_python_are_what_they_hold_and_not_where_a_run_keeps_its_copy() -> None:
    def given(seed: int, path: str, sha256: str):
        spec = {**SPEC, "data": {"name": path}}
        return setting({**FACTS, "seed": seed, "data": path, "given": sha256, "spec": spec}, 3)

    assert given(7, "/a/given.csv", "e3").same(given(8, "/b/given.csv", "e3"))
    assert not given(7, "/a/given.csv", "e3").same(given(8, "/a/given.csv", "f4"))


def test_one_and_1_0_are_one_option_and_where_files_lie_is_none() -> None:
    whole = of(seed=8, split={**SPEC["split"], "floor": 10.0}, data={"name": "digits", "dir": "/x"})
    assert of().same(whole)
    assert not of().same(of(seed=8, clients=4, run={}))


@pytest.mark.parametrize(
    ("public", "typed"),
    [
        ({}, ""),
        ({"source": "digits", "samples": 50}, "--public digits:50"),
        ({"source": "a b"}, "--public 'a b'"),
        (
            {"source": "d", "labeled": True, "labels": "own"},
            "--public d --set public.labeled=true --set public.labels=own",
        ),
    ],
)
def test_the_options_of_a_public_set(public: dict[str, object], typed: str) -> None:
    assert of(public=public).options == typed
