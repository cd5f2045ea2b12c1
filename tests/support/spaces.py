"""A search space with every kind of parameter, and what it allows."""

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

EVERYTHING = {
    "angle": (10.0, 40.0),
    "rate": FloatDistribution(1e-4, 1.0, log=True),
    "dose": FloatDistribution(0.0, 1.0, step=0.1),
    "layers": IntDistribution(2, 20, step=3),
    "width": IntDistribution(1, 512, log=True),
    "speed": [98, 63, 48],
    "gas": CategoricalDistribution(("air", "argon", None)),
    "pump": ["lobe", "gear"],
}


def allowed(name: str, value: object) -> bool:
    """Whether a value is one of EVERYTHING's, decided without the package."""
    return {
        "angle": lambda: 10 <= value <= 40,
        "rate": lambda: 1e-4 <= value <= 1,
        "dose": lambda: value in [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
        "layers": lambda: value in [2, 5, 8, 11, 14, 17, 20] and isinstance(value, int),
        "width": lambda: value in range(1, 513) and isinstance(value, int),
        "speed": lambda: value in [48, 63, 98],
        "gas": lambda: value in ["air", "argon", None],
        "pump": lambda: value in ["lobe", "gear"],
    }[name]()
