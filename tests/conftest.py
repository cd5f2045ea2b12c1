"""Shape annotations in the package are checked while the tests run."""

from jaxtyping import install_import_hook

install_import_hook("tunedprior", "beartype.beartype")
