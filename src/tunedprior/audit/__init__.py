"""What is worth knowing of old data before anything is spent: faults, coverage, what it knows, whether it can help."""

from tunedprior.audit.auditing import run_audit
from tunedprior.audit.findings import Audit
from tunedprior.source_data.findings import Fault

__all__ = ["Audit", "Fault", "run_audit"]
