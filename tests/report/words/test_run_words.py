"""The sentences about a run."""

from fedkin.report.words import run_words


def test_views_that_diverged() -> None:
    loss = {
        "personal": {"final": {"without": 0, "clients": 6}},
        "global": {"final": {"without": 2, "clients": 4}},
    }
    (said,) = run_words.diverged_views({"loss": loss})
    assert said.startswith("global: 2 of 6 clients diverged: ")


def test_clients_of_whom_a_measure_says_nothing() -> None:
    """Those that diverged are told of as such."""

    def said(without: int, clients: int, diverged: int = 0) -> list[str]:
        final = {"without": without, "clients": clients}
        loss = {"without": diverged, "clients": without + clients - diverged}
        headline, losses = {"personal": {"final": final}}, {"personal": {"final": loss}}
        return run_words.undefined_views({"measure": "auc", "headline": headline, "loss": losses})

    assert said(0, 5) == said(2, 3, diverged=2) == []
    assert said(2, 3)[0].startswith("personal: 2 of 5 clients with test samples have no AUC, and")
    assert said(5, 0)[0].startswith("personal: AUC says nothing: none of 5 clients with test")
    assert run_words.in_the_mean({"without": 2, "clients": 3}) == "3 of 5 clients"
    assert run_words.in_the_mean({"without": 0, "clients": 1}) == "1 client"


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
