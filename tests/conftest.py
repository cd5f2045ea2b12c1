"""Shape annotations are checked while the tests run, and property tests try the same cases every time."""

import torch
from hypothesis import settings
from jaxtyping import install_import_hook

install_import_hook("tunedprior", "typecheck.checker")

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

# Matrices in tests are small: handing them to other threads takes longer than the work itself.
torch.set_num_threads(1)
