"""The audit, measured: clean tables of which nothing must be said, and spoiled ones of which the fault must be."""
