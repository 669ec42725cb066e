"""The sentences about a run."""

from fedkin.report.words import run_words


def test_views_that_diverged() -> None:
    loss = {
        "personal": {"final": {"without": 0, "clients": 6}},
        "global": {"final": {"without": 2, "clients": 4}},
    }
    (said,) = run_words.diverged_views({"loss": loss})
    assert said.startswith("global: 2 of 6 clients diverged: ")


def test_whom_rounds_evaluated() -> None:
    assert run_words.evaluation_remarks({"evaluated": None}) == []
    (panel,) = run_words.evaluation_remarks(
        {"evaluated": {"who": "panel", "clients": 6000, "of": 9000}}
    )
    assert "a panel of 6,000 of 9,000 clients" in panel
    assert panel.endswith("interval: normal distribution over it")
    (some,) = run_words.evaluation_remarks({"evaluated": {"who": "participants"}})
    assert some.startswith("every evaluation asked the participants of its round")


def test_a_split_has_its_parameters_and_a_file_no_folders() -> None:
    found = {"split": "dirichlet", "split_parameters": {"alpha": 0.1, "floor": 10}}
    assert run_words.split(found) == "dirichlet alpha=0.1 floor=10"
    assert run_words.data_name({"data": "/home/somebody/wards.csv"}) == "wards.csv"
