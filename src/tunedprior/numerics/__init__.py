"""Linear algebra, marginal likelihoods, and the isolation of computations from process-wide state."""
