"""From the evidence of a session (tests/evidence.py) to certificates.json and the pages made from
it.

    python -m tests.certify EVIDENCE.json [NAME …]

With names, only these certificates are renewed; the others stay, but for those of what is gone.
Names are of methods, and of transforms (fedkin.certificates.transforms).
"""

import json
import math
import sys
import tomllib
from pathlib import Path
from typing import Any

from fedkin.certificates import transforms
from fedkin.certificates.registry import (
    FILE,
    GOLDEN,
    HELD_AGAINST,
    SECTIONS,
    digest,
    lacking,
    packaged,
    readings,
    sources,
)
from fedkin.cli.listing.certificates import HEADINGS, markdown
from fedkin.cli.listing.choosing import answers, table
from fedkin.methods import METHODS
from fedkin.report import formatting
from tests.laws.small import PUBLIC, SIZES
from tests.methods.federation import CLASSES, WIDTH

ROOT = Path(__file__).parent.parent
CERTIFICATES = ROOT / "src" / "fedkin" / "certificates" / FILE
PAGE = ROOT / "docs" / "fidelity.md"
PRIVACY = ROOT / "docs" / "privacy.md"
NEEDS = ROOT / "docs" / "needs.md"
REASONS = ROOT / "tests" / "laws" / "no_closed_form.toml"
WRITTEN_FROM = ROOT / "tests" / "reference" / "sources.toml"
ABOUT = {
    "messages": "Sizes of messages are those of a linear softmax of "
    f"{WIDTH * CLASSES + CLASSES} parameters "
    f"({WIDTH} features, {CLASSES} classes) with {PUBLIC} public samples and {len(SIZES)} clients."
}


def certificate(name: str, evidence: dict[str, Any]) -> dict[str, Any]:
    """One method's certificate."""
    recipe = METHODS[name]
    found: dict[str, Any] = {kind: {"tests": grouped(evidence.get(kind, []))} for kind in SECTIONS}
    staged = [one for test in evidence.get("reference", []) for one in test["staged"]]
    for key in ("rounds", "clients", "participation"):
        found["reference"][key] = sorted({one[key] for one in staged})
    found["reference"]["gap"] = rounded_up(evidence.get("gap"))
    reason = tomllib.loads(REASONS.read_text(encoding="utf-8")).get(name)
    if reason and not found["closed form"]["tests"]:
        found["closed form"]["does not apply"] = reason
    facts = [test["facts"] for test in evidence.get("messages", [])]
    found["messages"]["sent"] = [fact["sent"] for fact in facts if "sent" in fact]
    found["messages"]["personal"] = sorted(
        {fact["personal"] for fact in facts if "personal" in fact}
    )
    found[GOLDEN] = golden(name, evidence.get(GOLDEN, []))
    used = [module.replace(".", "/") + ".py" for module in sources(recipe)]
    return {**found, **readings(recipe), "sources": used, "sha256": digest(recipe)}


def of_transform(name: str, evidence: dict[str, Any]) -> dict[str, Any]:
    """One transform's certificate."""
    tests = {kind: {"tests": grouped(evidence.get(kind, []))} for kind in transforms.KINDS}
    used = [module.replace(".", "/") + ".py" for module in transforms.sources_of(name)]
    return {**tests, "sources": used, "sha256": transforms.digest(name)}


def golden(name: str, tests: list[dict[str, Any]]) -> dict[str, Any]:
    """What the golden traces say; where they are not at hand, what they said of the same source
    before.
    """
    before = packaged()["methods"].get(name, {}) if CERTIFICATES.is_file() else {}
    if not tests and before.get("sha256") == digest(METHODS[name]):
        kept: dict[str, Any] = before.get(GOLDEN, {"tests": [], "traces": []})
        return kept
    traces = [dict(test["facts"]["golden"]) for test in tests]
    for trace in traces:
        trace["errors"] = {what: rounded_up(error) for what, error in trace["errors"].items()}
        trace["deviations"] = {
            what: [float(f"{gap:.1e}"), why] for what, (gap, why) in trace["deviations"].items()
        }
    return {
        "tests": grouped(tests),
        "traces": sorted(traces, key=lambda trace: (trace["file"], trace["how"])),
    }


def grouped(tests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry a test function, with the number of its cases that passed."""
    found: dict[str, dict[str, Any]] = {}
    for test in sorted(tests, key=lambda test: str(test["id"])):
        name = test["id"].partition("[")[0]
        found.setdefault(name, {"id": name, "title": test["title"], "cases": 0})["cases"] += 1
    return list(found.values())


def rounded_up(gap: float | None) -> float | None:
    """To one digit: what another machine's last bits would change is not said."""
    if not gap:
        return gap
    exponent = math.floor(math.log10(gap))
    return float(f"{math.ceil(gap / 10.0**exponent)}e{exponent}")


def filled(page: str, blocks: dict[str, str]) -> str:
    """A page with other text between ``<!-- name: … -->`` and the next ``<!-- end -->``."""
    for name, block in blocks.items():
        before, mark, rest = page.partition(f"<!-- {name}: written by scripts/certify -->\n")
        if not mark:
            raise ValueError(f"the page has no place for {name}")
        page = before + mark + "\n" + block + "\n<!-- end -->" + rest.partition("<!-- end -->")[2]
    return page


def of_transforms(certificates: dict[str, Any]) -> str:
    """The table of transforms in docs/privacy.md: how many tests of each kind, cases counted."""
    kinds = transforms.KINDS
    head = ["transform", *(HEADINGS[kind].lower() for kind in kinds)]
    lines = [f"| {' | '.join(head)} |", "|---" + "|---:" * len(kinds) + "|"]
    for name, one in certificates.items():
        counts = [sum(test["cases"] for test in one[kind]["tests"]) for kind in kinds]
        cells = [str(count) if count else formatting.NONE for count in counts]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def text(packaged: dict[str, Any]) -> str:
    return json.dumps(packaged, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main(evidence: Path, names: list[str]) -> int:
    found = json.loads(evidence.read_text(encoding="utf-8"))
    if stray := sorted(set(found) - set(METHODS) - set(transforms.CERTIFIED)):
        print(f"tests certify what is no method, and no transform: {', '.join(stray)}")
    before = packaged() if names and CERTIFICATES.is_file() else {}
    kinds = {
        "methods": (METHODS, certificate),
        "transforms": (transforms.CERTIFIED, of_transform),
    }
    made: dict[str, dict[str, Any]] = {}
    for kind, (known, certified) in kinds.items():
        chosen = [name for name in names or known if name in known]
        renewed = {name: certified(name, found.get(name, {})) for name in chosen}
        every = sorted({**before.get(kind, {}), **renewed}.items())
        made[kind] = {name: one for name, one in every if name in known}
    methods = made["methods"]
    declared = tomllib.loads(WRITTEN_FROM.read_text(encoding="utf-8"))
    for name, one in methods.items():
        one["reference"]["written from"] = declared[name]
        one["reference"][HELD_AGAINST] = declared[HELD_AGAINST].get(name, [])
    CERTIFICATES.write_text(text({"about": ABOUT, **made}), encoding="utf-8")
    written = json.loads(CERTIFICATES.read_text(encoding="utf-8"))
    PAGE.write_text(markdown(written), encoding="utf-8")
    packaged.cache_clear()
    blocks = {"answers": answers(list(METHODS)), "table": table(list(METHODS))}
    NEEDS.write_text(filled(NEEDS.read_text(encoding="utf-8"), blocks), encoding="utf-8")
    counted = {"certificates": of_transforms(made["transforms"])}
    PRIVACY.write_text(filled(PRIVACY.read_text(encoding="utf-8"), counted), encoding="utf-8")
    incomplete = {name: missing for name, one in methods.items() if (missing := lacking(one))}
    partly = made["transforms"].items()
    incomplete |= {name: missing for name, one in partly if (missing := transforms.lacking(one))}
    for name, missing in incomplete.items():
        print(f"{name} lacks {', '.join(missing)}")
    every = sum(len(certificates) for certificates in made.values())
    print(f"{every} certificates, {every - len(incomplete)} of them whole")
    return 1 if incomplete else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
