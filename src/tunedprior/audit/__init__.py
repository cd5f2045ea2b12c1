"""What is worth knowing of old data before anything is spent: faults, coverage, what it knows, whether it can help."""

from tunedprior.audit.auditing import audit_of
from tunedprior.audit.faults import Fault
from tunedprior.audit.findings import Audit

__all__ = ["Audit", "Fault", "audit_of"]
