"""Bayesian model averaging over beliefs about old data, weighted by the observations' evidence: the default prior."""

from tunedprior.model_averaging import average_archive as average_archive  # registers how averages are stored
