"""What code of somebody's own an experiment runs."""

from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.experiment.own_files import method_file, own_files
from fedkin.runs.spec import parse
from tests.experiment.registered import registered


def test_fedkins_own_code_is_none_of_it() -> None:
    assert own_files(parse({})[0]) == {}
    assert method_file("Fed-Avg") == {}
    with pytest.raises(FedkinError, match="did you mean 'fedavg'"):
        method_file("fedagv")


@pytest.mark.usefixtures("own_modules")
def test_a_registered_method_has_the_digest_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = registered(tmp_path, "half41")
    monkeypatch.syspath_prepend(tmp_path)
    spec = parse({"method": {"name": "half41"}})[0]
    before = own_files(spec)
    assert list(before) == ["half41"]
    file.write_text(file.read_text().replace("lr * near", "0 * lr"))
    assert own_files(spec) != before
    assert method_file("Half-41") == own_files(spec)


def test_a_value_whose_name_nobody_registers_has_no_file() -> None:
    spec = parse({})[0]
    mine = spec.method.model_copy(update={"name": "mine"})
    assert own_files(spec.model_copy(update={"method": mine})) == {}


@pytest.mark.usefixtures("own_modules")
def test_a_value_has_the_name_of_a_package_that_cannot_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered(tmp_path, "half44").write_text("import nobody_has_this_package\n")
    monkeypatch.syspath_prepend(tmp_path)
    spec = parse({})[0]
    mine = spec.method.model_copy(update={"name": "half44"})
    assert own_files(spec.model_copy(update={"method": mine})) == {}
    with pytest.raises(FedkinError, match=r"half44.* cannot be loaded"):
        method_file("half44")
