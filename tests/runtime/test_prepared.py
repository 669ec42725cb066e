"""Steps that are made anew in each call: few are kept, and the record says so."""

import gc
import weakref

from fedkin.core.ops import Batches, scan
from fedkin.methods.fedavg import sgd_step
from fedkin.runtime.prepared import MOST, Prepared, retraced_note
from fedkin.runtime.replay import Runtime
from tests.runtime.test_replay import linear, stacked


def made_within():
    """A step as a method makes it that writes it within ``client_update``."""

    def step(model, w, batch, lr):
        return sgd_step(model, w, batch, lr)

    return step


def scanned(runtime, step, model):
    data = stacked(1)
    return scan(step, model.initial, Batches(runtime, model, 1, lambda a, b: data), 0.1)


def test_steps_made_in_each_call_do_not_fill_the_memory():
    model, runtime = linear(), Runtime("trace")
    expected = scanned(runtime, sgd_step, model)
    held = []
    for _ in range(MOST + 10):
        step = made_within()
        held.append(weakref.ref(step))
        found = scanned(runtime, step, model)
        assert all(found[name].equal(value) for name, value in expected.items())
    del step
    gc.collect()
    assert sum(one() is not None for one in held) == MOST
    assert sgd_step in [key[0] for key in runtime._ready]  # another step stays
    (said,) = runtime.said
    assert "made_within.<locals>.step (test_prepared.py, line 1" in said
    assert said.endswith("write it at the top of the file")


def test_a_step_for_many_shapes_is_kept_for_all():
    prepared: Prepared[int] = Prepared()
    assert not any(prepared.keep((sgd_step, "dnn", width), width) for width in range(5 * MOST))
    assert len(prepared) == 5 * MOST


def test_an_object_that_is_a_step_is_named_by_its_class():
    class Step:
        def __call__(self, *arguments):
            return arguments

    assert retraced_note(Step()).startswith("step Step is made anew")
