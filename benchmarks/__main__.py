"""python -m benchmarks: every measurement of the project by name, and `merge` for results made elsewhere."""

import argparse
import sys

from benchmarks.studies import (
    as_printed,
    batches,
    beliefs,
    demo,
    diverging,
    dual,
    evidence,
    experiment1,
    flat,
    flipped,
    gallery,
    ideas,
    knowledge,
    lambda_floor,
    libraries,
    merge,
    mistakes,
    models,
    paper,
    pictures,
    pruning,
    readers,
    recovery,
    regret_bounds,
    repeat,
    reweighted,
    sharing,
    size,
    slips,
    trust,
    tuning_tables,
)
from benchmarks.studies.audits import command as audits
from benchmarks.studies.durability import command as durability
from benchmarks.studies.field import command as field
from benchmarks.studies.goals import command as goals
from benchmarks.studies.hostile import command as hostile
from benchmarks.studies.scale import command as scale
from benchmarks.studies.shell import command as shell
from benchmarks.studies.speed import command as speed
from benchmarks.studies.workers import command as workers
from tunedprior.errors import InputError

_BENCHMARKS = {
    "beliefs": beliefs,
    "trust": trust,
    "paper": paper,
    "as-printed": as_printed,
    "experiment1": experiment1,
    "flipped": flipped,
    "lambda-floor": lambda_floor,
    "libraries": libraries,
    "mistakes": mistakes,
    "regret-bounds": regret_bounds,
    "dual": dual,
    "evidence": evidence,
    "reweighted": reweighted,
    "flat": flat,
    "diverging": diverging,
    "slips": slips,
    "hostile": hostile,
    "batches": batches,
    "readers": readers,
    "durability": durability,
    "repeat": repeat,
    "size": size,
    "merge": merge,
    "field": field,
    "sharing": sharing,
    "knowledge": knowledge,
    "recovery": recovery,
    "goals": goals,
    "speed": speed,
    "shell": shell,
    "workers": workers,
    "scale": scale,
    "audit": audits,
    "demo": demo,
    "gallery": gallery,
    "ideas": ideas,
    "models": models,
    "pictures": pictures,
    "pruning": pruning,
    "tuning-tables": tuning_tables,
}


def main(arguments: list[str] | None = None) -> None:
    """Run the one that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = parser.add_subparsers(required=True, metavar="|".join(_BENCHMARKS))
    for name, module in _BENCHMARKS.items():
        described = argparse.RawDescriptionHelpFormatter
        one = names.add_parser(
            name, help=module.__doc__.splitlines()[0], description=module.__doc__, formatter_class=described
        )
        module.add_arguments(one)
        one.set_defaults(run=module.main)
    parsed = parser.parse_args(arguments)
    try:
        parsed.run(parsed)
    except InputError as error:  # the user's to mend, so a message and no traceback
        sys.exit(str(error))


if __name__ == "__main__":
    main()
