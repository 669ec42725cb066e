"""Two-class results as a clinician reads them."""

from fedkin.report.page.clinical import clinical


def test_a_clinician_reads_sentences() -> None:
    of = {"mean": 0.9, "worst_decile": 0.5, "clients": 4}
    measures = {"sensitivity": of, "specificity": {**of, "mean": 0.75}, "ece": {**of, "mean": 0.2}}
    text = clinical({"measures": {"personal": measures}})
    assert "of 100 cases of the second class 90 are found and 10 missed" in text
    assert "25 raise a false alarm" in text
    assert "not to be read literally" in text
    assert clinical({"measures": {"personal": {"auc": of}}}) == ""
