"""How long the service takes to start, what it costs, and what it holds then."""
