"""Read files of earlier versions: their plain values converted to those of the present version.

Versions 1 to 3 had the arguments of an optimiser in one list. Version 1 had no journal, and 1 and 2 no checksum.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from tunedprior.storage.identifiers import derive_id

# The last version whose files have no checksum of what defines the campaign.
_WITHOUT_CHECKSUM = 2
# Arguments that files had from the beginning, and what those of before the others were there meant.
_DEFAULTS: dict[str, Any] = {
    "design": "sobol",
    "relations": {},
    "aims": None,
    "failures": "worst",
    "constraints": [],
}
_ARGUMENTS = (
    *("space", "direction", "acquisition", "seed", "target", "beta", "noise_std", "initial", "prior", "ard", "objects"),
    *_DEFAULTS,
)
# Fields of a trial, and what those of before they were there meant.
_TRIAL: dict[str, Any] = {
    **dict.fromkeys(("id", "state", "value", "setting", "suggested", "note", "extra")),
    **{"more": {}, "noise": {}, "cost": None, "substitute": False},
}
_FIELDS = ("format", "version", "versions", "arguments", "old_data", "trials", "journal", "id", "entries", "checksum")


def is_intact(plain: Mapping[str, Any]) -> bool:
    """Whether the arguments are those that were written, as far as the file has a checksum."""
    checksum = plain.get("checksum", "")
    if not checksum and plain["version"] <= _WITHOUT_CHECKSUM:
        return True
    old = [(one["name"], one["fingerprint"]) for one in plain["old_data"]]
    journal = plain.get("journal", [])
    last = journal[-1]["checksum"] if journal else ""
    parts = [plain["version"], plain.get("id", ""), plain["arguments"], old, plain.get("entries"), last]
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return bool(checksum == hashlib.sha256(text.encode()).hexdigest()[:16])


def convert(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a file of version 1 to 3 as version 4 has them; a `ValueError` or the like if they are damaged."""
    own = plain["arguments"]
    unknown = [*(set(own) - set(_ARGUMENTS)), *(set(plain) - set(_FIELDS))]
    if unknown:
        raise ValueError(f"it has unknown fields: {', '.join(map(str, unknown))[:200]}")
    own = _DEFAULTS | own
    functions = [one["name"] for one in own["constraints"] if one["type"] == "function"]
    constraints = [_convert_constraint(one) for one in own["constraints"] if one["type"] != "function"]
    config = {
        "space": {"parameters": own["space"], "constraints": constraints},
        "goals": _convert_goals(own),
        "transfer": {
            "prior": own["prior"],
            "ard": own["ard"],
            "relations": own["relations"],
            "sources": plain["old_data"],
        },
        "search": {name: own[name] for name in ("acquisition", "beta", "initial", "design", "failures")},
        "seed": own["seed"],
        "id": plain.get("id") or _derive_id(plain, own),
    }
    kept = {name: plain[name] for name in ("format", "version", "versions", "trials")}
    later = {name: plain[name] for name in ("journal", "entries", "checksum") if name in plain}
    return kept | later | {"config": config, "objects": own["objects"], "functions": functions}


def _derive_id(plain: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    """The id of a campaign of before there were any; sheets were printed with it, so it is what it always was."""
    content = {
        **{name: plain[name] for name in ("format", "version", "versions")},
        "arguments": {name: own[name] for name in _ARGUMENTS},
        "old_data": plain["old_data"],
        "trials": [{name: one.get(name, usual) for name, usual in _TRIAL.items()} for one in plain["trials"]],
        "journal": plain.get("journal", []),
        "id": "",
    }
    return derive_id(msgspec.json.encode(content))


def _convert_goals(own: Mapping[str, Any]) -> dict[str, Any]:
    if own["aims"] is None:
        one = {"name": own["target"], "direction": own["direction"], "noise_std": own["noise_std"]}
        return {"objectives": [one]}
    goals = own["aims"]
    return {
        "objectives": [
            {
                "name": one["name"],
                "direction": _convert_goal(one["goal"]),
                "noise_std": one["noise_std"],
                "log": one["log"],
                "is_main": place == 0,
                "limits": ["-inf", "inf"] if one.get("limits") is None else _convert_ends(*one["limits"]),
            }
            for place, one in enumerate(goals["objectives"])
        ],
        "requirements": [
            {"response": one["name"], **_name_ends(one), "labels": one["labels"]} for one in goals["requirements"]
        ],
        "weights": goals["weights"],
        "bounds": goals["bounds"],
    }


def _convert_goal(goal: Any) -> Any:
    return goal if isinstance(goal, str) else {"low": goal["low"], "high": goal["high"]}


def _convert_constraint(one: Mapping[str, Any]) -> dict[str, Any]:
    return {**one, **_name_ends(one)} if one["type"] == "linear" else dict(one)


def _name_ends(one: Mapping[str, Any]) -> dict[str, Any]:
    return dict(zip(("low", "high"), _convert_ends(one["low"], one["high"]), strict=True))


def _convert_ends(low: Any, high: Any) -> list[Any]:
    """The ends of a range, of which those that are open were null."""
    return ["-inf" if low is None else low, "inf" if high is None else high]
