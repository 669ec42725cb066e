"""Units that systemd itself finds right."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("flwr")

from fedkin.flower.operator.site import init
from fedkin.flower.operator.unit import LINK_UNIT, NODE_UNIT
from tests.engine.small import small

SPEC = small("fedavg", run__clients=2, run__participation=1.0)
NAMES = ("north", "south")


def test_systemd_takes_the_units_wherever_the_folder_lies(tmp_path):
    folder = init(tmp_path / "my site", SPEC, NAMES, "127.0.0.1:9")
    node = folder / "nodes" / "north"
    assert (
        f'\nEnvironment="FEDKIN={Path(sys.executable).parent}' in (folder / LINK_UNIT).read_text()
    )
    assert "\n#Environment=FEDKIN=" in (node / NODE_UNIT).read_text()
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd here")
    for place, unit in ((folder, LINK_UNIT), (node, NODE_UNIT)):
        made = subprocess.check_output(
            ["systemd-escape", "--path", f"--template={unit}", str(place)], text=True
        )
        here = {**os.environ, "SYSTEMD_UNIT_PATH": f"{place}:", "XDG_RUNTIME_DIR": str(tmp_path)}
        verify = ["systemd-analyze", "verify", "--user", "--man=no", made.strip()]
        done = subprocess.run(verify, env=here, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
