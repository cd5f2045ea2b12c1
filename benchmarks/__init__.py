"""Measurements of tunedprior, outside the package: the same definitions in a quick and a full size, seeds stored."""
