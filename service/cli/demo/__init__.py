"""`turnkeeper demo`: llama-server with a small model, the example tool port and the service, in one command.

`command` reads the options, `plan` says what to start, `children` starts and ends processes, `readiness`
waits, `supervise` keeps them together. `llama_server` and `tether` run inside the children.
"""
