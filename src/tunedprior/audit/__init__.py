"""Audit old data before a campaign: its faults, its coverage, its predictive power, and whether it can help."""

from tunedprior.audit.auditing import Audit, run_audit
from tunedprior.source_data.findings import Fault

__all__ = ["Audit", "Fault", "run_audit"]
