"""Many workers on one Optuna study: time for each trial, asking at once, more workers, faults, and a large study."""
