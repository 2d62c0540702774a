"""How a schema of the OpenAPI document is referred to."""

REF = "#/components/schemas/{}"
"""To be formatted with its name."""
