"""A tool port whose tools are those of MCP servers: `turnkeeper mcp-port --config mcp.json`.

A small process of its own, which shares nothing with the service but the wire format (`port_wire`). From the top down:

    command.py       reads the options, runs the port or checks the file
    app.py           `GET /tools`, `POST /calls`, `GET /healthz`
    keyed_calls.py   an idempotency key runs a tool once, and a caller who leaves cancels it
    catalogue.py     which tools there are, under which names (`tool_names.py`), with which flags (`specs.py`)
    results.py       what a server answered, as a tool port answers
    servers.py       the servers side by side; `supervisor.py` keeps one of them going
    connection.py    a session with one: over `stdio.py`, whose lines `bounded_lines.py` bounds, or over `http.py`
    ending.py        how a session ended, told by whoever sees it; `faults.py`: why something did not work, in a line
    config_file.py   the file, and `variables.py` what stands for what in it
    listed.py        what the upper half knows of the lower: the port of this program

The SDK (`mcp`) is an extra of the package: who needs no MCP need not have it.
"""
