"""The example tool port: a small HTTP service that lists and runs tools (X5).

It ships with the demo and is the reference for writers of ports, so it stands alone: nothing here imports
another part of `service` than `port_wire`, the wire format. Read `tools.py` (what a tool is), one tool family, then
`app.py`.
"""
