"""Sites that write other codes for the labels that the rest has."""

import numpy as np
import pytest

from fedkin.data.quality.label_codes import disjoint_label_codes
from fedkin.data.source import classified


@pytest.mark.parametrize(
    ("sites", "which"),
    [
        (["yn", "yn", "01", "ny"], "2 shares no class with 3 clients"),
        (["yn", "01", "01", "nyu", "un"], "1, 2 share no class with 3 clients"),
        (["yn", "y", "n", "yn"], ""),  # all in one code
        (["yn", "yn", "0", "ny"], ""),  # of one class: reported as such
        (["yn", "Yn", "Yn"], ""),  # y and Y are one class
        (["ab", "cd", "ef", "gh", "ij"], ""),  # everybody has classes of their own
        (["yn", "01"], ""),
    ],
)
def test_clients_that_share_no_class_with_most(sites: list[str], which: str) -> None:
    names, y = np.unique([code for site in sites for code in site], return_inverse=True)
    client = np.repeat(np.arange(len(sites)), [len(site) for site in sites])
    x = np.zeros((len(y), 1), dtype=np.float32)
    source = classified("t", x, y, where="t", class_names=tuple(map(str, names)), client=client)
    found = [one.says for one in disjoint_label_codes(source)]
    whole = [f"{which} whose codes are alike ('0', '1')"] if which else []
    assert found == whole
    assert bool(disjoint_label_codes(source._replace(class_names=()))) == bool(which)
    assert disjoint_label_codes(source._replace(client=None)) == []
