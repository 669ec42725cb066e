"""``python -m fedkin.experiment.worker ADDRESS NUMBER``: a host in a process of its own, started by
the engine.
"""

import signal
import sys

import torch

from fedkin.engine.transports.serving import serve
from fedkin.setup.hosts import host_from_setup

if __name__ == "__main__":
    # Ctrl-C is the coordinator's to handle: it ends the round first
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    serve(sys.argv[1], sys.argv[2], host_from_setup)
