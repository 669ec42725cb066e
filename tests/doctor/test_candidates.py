"""Which models are compared."""

from benchmarks.made_verdicts import SETS
from fedkin.doctor.candidates import candidates
from fedkin.doctor.verdict import examined

BY_NAME = {made.name: made for made in SETS}


def test_a_model_of_one_layer_has_no_last_layer_of_its_own() -> None:
    population = BY_NAME["one concept, unlike labels"].make(0)
    found = examined(population, "accuracy")
    assert found is not None
    of_two, of_one = (
        [one["method"] for one in candidates(found, population.names, layers)] for layers in (2, 1)
    )
    assert "fedper" in of_two
    assert "fedper" not in of_one
    assert len(set(of_one)) == 3
