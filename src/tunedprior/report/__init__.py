"""A campaign as one page that needs no network."""

from tunedprior.report.making import report_html

__all__ = ["report_html"]
