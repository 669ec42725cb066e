"""The leaderboard's page while a suite runs, for ``fedkin watch``."""

from pathlib import Path

from fedkin.bench.leaderboard.page import page
from fedkin.bench.row import ROWS, read_rows, whole_cases
from fedkin.core.errors import FedkinError


class LiveRows:
    """The page of the rows that a folder of ``fedkin bench run`` holds by now.

    Args:
        folder: Of a leaderboard.
    """

    def __init__(self, folder: Path) -> None:
        self.file = folder / ROWS

    @staticmethod
    def of(folder: Path) -> "LiveRows | None":
        """The page of a folder.

        Args:
            folder: Any one.

        Returns:
            None where the folder is no leaderboard's.
        """
        return LiveRows(folder) if (folder / ROWS).is_file() else None

    def page(self) -> tuple[str, bool]:
        """(the page, True: rows can always come).

        Returns:
            (HTML, True: rows can always come).

        Raises:
            FedkinError: It has no row yet.
        """
        rows = read_rows(self.file)
        if not rows:
            raise FedkinError(f"{self.file} has no row yet")
        return page(whole_cases(rows)), True
