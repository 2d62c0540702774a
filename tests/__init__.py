"""The tests; a package by its own name, so that no other package called `tests` is taken for it."""
