"""Tells, at the end, how far the methods were from the references."""

from tests.methods.federation import WORST


def pytest_terminal_summary(terminalreporter):
    if WORST:
        gaps = ", ".join(f"{name} {gap:.1e}" for name, gap in sorted(WORST.items()))
        terminalreporter.write_line(f"worst difference from the references: {gaps}")
