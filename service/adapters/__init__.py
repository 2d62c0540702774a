"""The outside world behind the protocols of `service.ports`: one module or package per outside thing."""
