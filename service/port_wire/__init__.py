"""The wire format that tool ports share: what comes in, who signed it, what goes out, and how a port listens (X5).

Both ports of this repository stand on it, and on nothing else of `service`: a port needs no more than this to be one.
"""
