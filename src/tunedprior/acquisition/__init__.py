"""Acquisition functions, their optimisation over the search space, and pending settings."""
