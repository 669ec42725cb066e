"""``python -m fedkin``: the same as the console script."""

import os
import sys

if __name__ == "__main__":
    here = os.path.realpath(sys.path[0]) if sys.path else ""
    if (
        not sys.flags.safe_path
        and os.path.dirname(os.path.dirname(os.path.realpath(__file__))) != here
    ):
        del sys.path[
            0
        ]  # the current folder: no file there stands in for a library (cli_handover.find_own_code)
    from fedkin.cli.app import main

    main()
