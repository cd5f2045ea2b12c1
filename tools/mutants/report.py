"""What came of a run: a table by package, and the mistakes that no test noticed."""

import tomllib
from pathlib import Path
from typing import Any

STATES = ("killed", "timeout", "survived", "accepted")


def accepted(file: Path) -> list[dict[str, str]]:
    """Survivors that are allowed, each with its reason: `path`, `before`, and `after` unless any change will do."""
    return tomllib.loads(file.read_text(encoding="utf-8")).get("accepted", []) if file.exists() else []


def reason(line: dict[str, Any], allowed: list[dict[str, str]]) -> str | None:
    """Why this survivor is allowed; None if it is not."""
    where, _, change = line["name"].partition(": ")
    before, _, after = change.partition(" -> ")
    for one in allowed:
        same = (
            one["path"] == line["path"] and one["before"] == before and one.get("where", where.split("::")[1]) in where
        )
        if same and one.get("after", after) == after:
            return one["reason"]
    return None


def report(lines: list[dict[str, Any]], allowed: list[dict[str, str]]) -> str:
    """The table and the list of survivors."""
    counts: dict[str, dict[str, int]] = {}
    open_, known = [], []
    for line in lines:
        state = {"uncovered": "survived"}.get(line["state"], line["state"])
        if state == "survived":
            why = reason(line, allowed)
            (known if why else open_).append(line)
            state = "accepted" if why else state
        package = "/".join(Path(line["path"]).parts[2:-1])
        counts.setdefault(package, dict.fromkeys(STATES, 0))[state] += 1
    rows = [f"{'package':<20}" + "".join(f"{state:>10}" for state in STATES) + f"{'noticed':>10}"]
    total = {state: sum(one[state] for one in counts.values()) for state in STATES}
    for package, one in [*sorted(counts.items()), ("all", total)]:
        noticed = (one["killed"] + one["timeout"]) / max(1, sum(one.values()))
        rows.append(f"{package:<20}" + "".join(f"{one[state]:>10}" for state in STATES) + f"{noticed:>10.1%}")
    survivors = [
        f"{line['path']}:{line['line']} ({line['state']}) {line['name'].split('::', 1)[1]}"
        for line in sorted(open_, key=lambda line: (line["path"], line["line"]))
    ]
    return "\n".join([*rows, "", *survivors])
