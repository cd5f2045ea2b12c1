"""Mutation run: small mistakes are put into the source one at a time, and the tests must notice each.

`python -m tools.mutants --help` says how to run it; docs/reliability.md says what came of it.
"""
