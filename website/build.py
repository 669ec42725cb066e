"""Build the site: ``scripts/docs``, or ``python -m website.build [--versions] [FOLDER]``."""

import argparse
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import tomli_w

import fedkin
from website import (
    api_pages,
    boards,
    commands,
    errors_page,
    for_programs,
    json_page,
    method_pages,
    notebooks,
    openings,
)
from website.links import broken, from_elsewhere
from website.placed import put, refuse_others
from website.staging import ROOT, Stage
from website.versions import keep

WORK = ROOT / "build"
BUILT = "site"
VERSIONS = "versions"
SHIM = "https://unpkg.com/iframe-worker/shim"  # the generator's; a copy stands beside the pages
CONFIG = ROOT / "website" / "zensical.toml"


def stage(target: Path) -> list[Any]:
    """All pages, copied and generated, in a folder of their own; returns the navigation, in which
    pages without a line of their own stand under "More".
    """
    shutil.rmtree(target, ignore_errors=True)
    pages = Stage(target)
    pages.everything()
    method_pages.complete(target)
    boards.complete(target)
    generated = [
        commands.pages(),
        api_pages.pages(),
        errors_page.page(),
        json_page.page(),
        notebooks.pages(),
    ]
    for some in generated:
        for place, text in some.items():
            pages.write(place, text)
    shutil.copytree(ROOT / "website" / "pages", target, dirs_exist_ok=True)
    shutil.copyfile(json_page.FILE, target / "json-output.json")
    openings.complete(target)
    config = tomllib.loads(CONFIG.read_text(encoding="utf-8"))
    nav = expanded(config["project"]["nav"], target)
    listed = {place for _, place in for_programs.leaves(nav)}
    there = (path.relative_to(target).as_posix() for path in sorted(target.rglob("*.md")))
    rest = [place for place in there if place not in listed and not place.startswith("files/")]
    more = [{_title(target / place): place} for place in rest]
    return [*nav, *([{"More": more}] if more else [])]


def expanded(nav: list[Any], target: Path) -> list[Any]:
    """The navigation with patterns such as ``methods/*.md`` in place of a list filled in. A page
    that stands beside a pattern under a title of its own is not in its list as well.
    """
    named = {page for entry in nav for page in entry.values() if isinstance(page, str)}
    found = []
    for entry in nav:
        ((title, inner),) = entry.items()
        if isinstance(inner, list):
            found.append({title: expanded(inner, target)})
        elif "*" in inner:
            there = {path.relative_to(target).as_posix() for path in target.glob(inner)}
            listed = sorted(there - named)
            found.append({title: [{_title(target / place): place} for place in listed]})
        else:
            found.append({title: inner})
    return found


def _title(page: Path) -> str:
    first = page.read_text(encoding="utf-8").split("\n", 1)[0]
    return first.lstrip("# ").strip()


def build(site: Path) -> None:
    """The whole site in a folder. Raises SystemExit where a link or an anchor leads nowhere."""
    source = WORK / "site-source"
    built = WORK / BUILT
    nav = stage(source)
    config = tomllib.loads(CONFIG.read_text(encoding="utf-8"))
    config["project"] |= {
        "site_name": f"fedkin {fedkin.__version__}",
        "docs_dir": source.name,
        "site_dir": BUILT,
        "nav": nav,
    }
    config["project"]["plugins"]["mkdocstrings"]["handlers"]["python"]["paths"] = [
        str(ROOT / "src")
    ]
    file = WORK / "zensical.toml"
    file.write_text(tomli_w.dumps(config), encoding="utf-8")
    shutil.rmtree(built, ignore_errors=True)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "-f", str(file)]
    if subprocess.run(command, cwd=WORK).returncode:
        raise SystemExit("the site was not built: see above")
    fetch_nothing(built)
    for_programs.write(built, source, nav)
    if found := [*broken(built), *from_elsewhere(built)]:
        raise SystemExit("\n".join(["broken links, or pages that fetch from elsewhere:", *found]))
    if site != built:
        put(built, site)


def fetch_nothing(site: Path) -> None:
    """Puts the site's own copy of a script in the place of the one that pages would fetch."""
    for path in site.rglob("*.html"):
        up = "../" * (len(path.relative_to(site).parts) - 1)
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(SHIM, f"{up}javascripts/iframe-worker.js"), encoding="utf-8")


def main() -> None:
    """The console script."""
    parser = argparse.ArgumentParser("scripts/docs", description="Build the documentation site.")
    parser.add_argument(
        "folder", nargs="?", type=Path, help="of the site; default: build/site in the checkout"
    )
    parser.add_argument(
        "--versions", action="store_true", help="into FOLDER/VERSION, beside earlier versions"
    )
    given = parser.parse_args()
    if not given.versions:
        site = given.folder.resolve() if given.folder else WORK / BUILT
        refuse_others(site)
        build(site)
        print(site / "index.html")
        return
    folder = given.folder.resolve() if given.folder else WORK / VERSIONS
    refuse_others(folder / fedkin.__version__)
    build(WORK / BUILT)
    print(keep(WORK / BUILT, folder, fedkin.__version__))


if __name__ == "__main__":
    main()
