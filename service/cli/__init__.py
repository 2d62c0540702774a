"""The command line `turnkeeper`. Above: the console script. Below: web and config."""

from service.cli.app import main

__all__ = ["main"]
