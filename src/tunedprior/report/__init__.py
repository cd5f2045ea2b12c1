"""A report of a campaign: one HTML page that needs no network."""

from tunedprior.report.making import report_html

__all__ = ["report_html"]
