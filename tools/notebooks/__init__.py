"""Outputs of the example notebooks."""
