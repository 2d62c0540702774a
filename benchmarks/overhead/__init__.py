"""What a service that streams adds to its upstream: time and CPU per token, per turn, memory per stream."""
