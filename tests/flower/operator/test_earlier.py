"""What the runs of a deployment cost together, before another one begins."""

from fedkin.flower.operator.earlier import earlier, plain, said_before
from fedkin.runs.database import create
from fedkin.runs.directory import RECORD
from fedkin.runs.spec import parse
from tests.engine.small import content, small

NOISE = {"noise": 2.0, "clip": 1.0, "delta": 1e-5}


def test_a_run_with_noise_is_told_what_it_adds_to(tmp_path):
    private = parse({**content("fedavg"), "privacy": NOISE})[0]
    assert (said_before(tmp_path, private), plain(earlier(tmp_path))) == ("", None)
    noise = {"delta": 1e-5, "noise": 2.0, "rounds": 3}
    for name, facts in (
        ("1", {"privacy": {**noise, "epsilon": 2.5}}),
        ("2", {"privacy": None}),
        ("10", {"privacy": {**noise, "epsilon": 1.25}}),
        ("11", {"privacy": {**noise, "epsilon": 1.25, "seeded": True}}),
    ):
        (tmp_path / "runs" / name).mkdir(parents=True)
        create(tmp_path / "runs" / name / RECORD, facts).close()
    (tmp_path / "runs" / "12").mkdir()  # killed before it had a record
    assert said_before(tmp_path, private) == (
        "the epsilon of this run is added to that of 3 runs with noise: epsilon = 2.5 (run 1), "
        "1.25 (run 10), together 3.75 at delta = 2e-05 by basic composition; of unknown epsilon "
        "noise 2.0, 3 rounds (run 11)"
    )
    assert said_before(tmp_path, small("fedavg")) == ""
