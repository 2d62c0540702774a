"""The family of a template, told from its name: people look for their model by it."""

from __future__ import annotations

import re

_PATTERNS: dict[str, str] = {
    "Qwen3-Coder": r"qwen3-?coder",
    "Qwen3.5 and later": r"qwen3\.[5-9]|qwen-?3\.[5-9]",
    "Qwen3": r"qwen_?-?3",
    "Qwen2.5 and QwQ": r"qwen_?-?2|qwq",
    "gpt-oss": r"gpt-?oss",
    "GLM-5": r"glm-?5",
    "GLM-4": r"glm-?4",
    "MiniMax": r"minimax",
    "Kimi": r"kimi",
    "DeepSeek": r"deepseek",
    "Nemotron": r"nemotron",
    "EXAONE": r"exaone",
    "Apriel": r"apriel",
    "Command and Cohere": r"command|cohere|c4ai|aya",
    "Granite": r"granite",
    "Hermes": r"hermes",
    "Mistral and kin": r"mistral|ministral|magistral|devstral|mixtral|codestral|pixtral",
    "Gemma": r"gemma",
    "Phi": r"\bphi",
    "Llama 3 and 4": r"llama-?[34]|llama_?3",
    "SmolLM": r"smollm",
    "OLMo": r"olmo",
    "Jamba": r"jamba",
    "Seed": r"\bseed|-seed-",
    "Hunyuan": r"hunyuan|\bhy-|tencent",
    "LFM": r"lfm",
    "ERNIE": r"ernie",
    "InternLM and InternVL": r"intern",
    "Falcon": r"falcon",
    "Apertus": r"apertus",
}


def family(name: str) -> str:
    """Give the first family whose sign is in the name, else `others`."""
    return next((known for known, sign in _PATTERNS.items() if re.search(sign, name.lower())), "others")
