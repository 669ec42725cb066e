"""Pictures of pages for the documentation: what a person sees who typed a tutorial's commands.

    python -m website.pictures FOLDER...     the tutorials' folders, with their runs in them

Writes docs/images/NAME.png from the pages that are there; needs chromium (or FEDKIN_CHROMIUM).
"""

import argparse
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser

from tests.report.browser import executable, opened, started

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"


class Picture(NamedTuple):
    """``page``: a page below one of the folders; ``height``: pixels of it, from the top, or of
    what ``part`` selects.
    """

    page: str
    height: int
    part: str = ""


PICTURES = {
    "report": Picture("runs/hospitals/ppfl/report.html", 1230),
    "first_steps": Picture("runs/digits.html", 1262),
    "hospitals": Picture("runs/hospitals.html", 1262),
    "phones": Picture("runs/phones.html", 1165),
    "population": Picture("runs/population/report.html", 900, "#simplex"),
    "figure": Picture("reproduction/comet-figure-2.html", 700),
    "median": Picture("runs/median.html", 1100),
}
WIDTH = 1150


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    folders = parser.parse_args().folders
    if executable() is None:
        raise SystemExit("no chromium: install it, or set FEDKIN_CHROMIUM")
    with started() as browser:
        for name, picture in PICTURES.items():
            for page in (folder / picture.page for folder in folders):
                if page.exists():
                    take(browser, page, picture, IMAGES / f"{name}.png")
                    print(f"{name}.png from {page}")


def take(browser: Browser, page: Path, picture: Picture, to: Path) -> None:
    """The top of a page, or a part of it, light, as PNG."""
    with opened(browser, page, width=WIDTH) as view:
        view.set_viewport_size({"width": WIDTH, "height": picture.height})
        if picture.part:
            view.locator(picture.part).screenshot(path=to)
        else:
            view.screenshot(path=to)


if __name__ == "__main__":
    main()
