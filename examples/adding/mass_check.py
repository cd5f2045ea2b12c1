"""Masses below zero."""

from tunedprior.source_data.findings import Fault, join_places, register_check


@register_check
def find_negative_masses(sheet):
    """Faults for masses below zero."""
    faults = []
    for one in sheet.numeric:
        rows = sheet.get_values(one.name) < 0
        if one.name.endswith("mass") and rows.any():
            where = sheet.format_places(rows)
            text = f"{one.name!r} is below zero in {join_places(where)}."
            faults.append(Fault("negative mass", (one.name,), where, text, "Correct these rows."))
    return faults
