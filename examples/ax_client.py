"""Old data in an Ax client: its modular BoTorch generator with the learnt kernel, interrupted and taken up from a file.

It needs Ax: pip install "tunedprior[ax]". Run it with: python examples/ax_client.py
"""

import logging
import tempfile
from math import log10, sin
from pathlib import Path

import numpy as np
import pandas as pd
from ax.api.client import Client
from ax.api.configs import RangeParameterConfig
from ax.utils.common.logger import set_stderr_log_level

from tunedprior.integrations.ax import generation_strategy

set_stderr_log_level(logging.WARNING)  # Ax says a lot


def loss(dropout, rate, best_dropout=0.3):
    """What is measured today: a loss after training."""
    return (dropout - best_dropout) ** 2 + 0.3 * sin(2 * log10(rate))


rng = np.random.default_rng(0)
old = pd.DataFrame({"dropout": rng.uniform(0, 0.8, 40), "rate": 10 ** rng.uniform(-4, 0, 40)})
old["accuracy"] = [0.7 - loss(dropout, rate, best_dropout=0.35) / 2 for dropout, rate in old.to_numpy()]

parameters = [
    RangeParameterConfig(name="dropout", bounds=(0.0, 0.8), parameter_type="float"),
    RangeParameterConfig(name="rate", bounds=(1e-4, 1.0), parameter_type="float", scaling="log"),
]
client = Client(random_seed=0)
client.configure_experiment(parameters=parameters)
client.configure_optimization(objective="-loss")
client.set_generation_strategy(generation_strategy(old, parameters, target="accuracy", initial=2, seed=0))

for step in range(6):
    for number, setting in client.get_next_trials(max_trials=1).items():
        client.complete_trial(number, {"loss": loss(**setting)})
    if step == 3:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "client.json")
            client.save_to_json_file(path)
            client = Client.load_from_json_file(path)

best, *_ = client.get_best_parameterization(use_model_predictions=False)
print(f"least loss of 6 runs: {loss(**best):.3f}, of -0.300, at {best['dropout']:.2f} and {best['rate']:.1e}")
