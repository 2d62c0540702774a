"""HTTP in, JSON and server-sent events out; no rules. Above: the command line. Below: bootstrap and codec."""
