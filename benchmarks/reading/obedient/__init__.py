"""What the update gate saves with a model that does as it is told: replies are dictated, all other work is real."""
