"""Figures as a table, as a page and as pictures."""
