"""What `turnkeeper doctor` makes of what it saw: facts in, findings out, and nothing else (D2, L10).

Each part has its facts and a table of rules over them. Above: `bootstrap`, which gathers the facts.
"""
