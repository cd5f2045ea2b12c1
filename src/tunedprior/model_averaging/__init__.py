"""Bayesian model averaging over beliefs about old data, weighted by the observations' evidence: the default prior."""
