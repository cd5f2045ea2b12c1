"""Machines that learn α from auxiliary data, and the leave-one-out error that chooses their settings."""

from tunedprior.machines.least_squares import LeastSquares
from tunedprior.machines.leave_one_out import leave_one_out_error
from tunedprior.machines.machine import Machine, TrainedMachine
from tunedprior.machines.selection import Selection, select
from tunedprior.machines.support_vector import SupportVectorClassifier, SupportVectorRegressor

__all__ = [
    "LeastSquares",
    "Machine",
    "Selection",
    "SupportVectorClassifier",
    "SupportVectorRegressor",
    "TrainedMachine",
    "leave_one_out_error",
    "select",
]
