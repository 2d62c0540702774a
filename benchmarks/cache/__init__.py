"""How much of its prompts a real llama-server evaluates again, asked by the service and by simpler clients."""
