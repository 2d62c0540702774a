"""The JSON of requests and answers as pydantic models: requests are strict, answers show every field."""
