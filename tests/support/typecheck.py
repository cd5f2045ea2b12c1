"""The run-time type checker that `conftest.py` installs: an int will do for a float, as in PEP 484."""

from beartype import BeartypeConf, beartype

checker = beartype(conf=BeartypeConf(is_pep484_tower=True))
