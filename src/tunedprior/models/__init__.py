"""Surrogate models of the objective: the protocol, and Gaussian processes with their fitting."""
