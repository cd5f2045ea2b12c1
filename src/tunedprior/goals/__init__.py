"""Objectives, requirements and limits of a campaign, and the conversion of results into training data."""
