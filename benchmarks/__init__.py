"""Measurements of the service against other ways to do the same, run by hand."""
