"""Sessions, a bounded agent loop and an event log in front of llama.cpp's llama-server."""

__version__ = "0.1.0.dev0"
