"""The ways to answer that are compared, one a module."""
