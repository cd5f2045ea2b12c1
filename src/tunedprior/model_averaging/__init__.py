"""The default prior: an average over beliefs about old data, weighed by the evidence of the observations."""
