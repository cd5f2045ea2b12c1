"""Gaussian processes for the objective."""
