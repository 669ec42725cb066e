"""In what a study differs from the search that is asked for."""

from types import SimpleNamespace

from fedkin.sweep.other_search import CODE, other_search


def test_a_study_of_another_search_says_in_what_it_differs() -> None:
    def asked(**keys: object) -> dict[str, object]:
        spec = {"data": {"name": "digits"}, "run": {"rounds": 2, "seed": 0}, **keys}
        return {"spec": spec, "space": {"train.lr": [0.1, 0.2]}}

    def told_of(then: object, now: object) -> str:
        study = SimpleNamespace(user_attrs={"fedkin": then})
        return other_search(study, {"fedkin": now, "data": "", CODE: {}})

    before = asked()
    assert told_of(before, {**before, "space": {"train.lr": [0.1, 0.2, 0.5]}}) == (
        "holds a sweep of another experiment or space (--space train.lr: [0.1, 0.2] there, "
        "[0.1, 0.2, 0.5] here): choose another --out"
    )
    assert "(run.rounds: 2 there, 3 here):" in told_of(before, asked(run={"rounds": 3, "seed": 0}))
    noise = told_of(before, asked(privacy={"noise": 1.0, "clip": 1.0, "delta": 1e-5}))
    assert "(privacy.noise: none there, 1.0 here, privacy.clip: none there, 1.0 " in noise
    for strange in (7, {}, {"spec": [1], "space": 3}):
        assert told_of(strange, before).startswith("holds a sweep of another experiment or space")
    colour = told_of({"spec": {"data": {"name": "\x1b[31m", "\x1b[0m": 1}}}, before)
    assert "\x1b" not in colour
