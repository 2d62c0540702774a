"""What the store does alone, without the service before it."""
