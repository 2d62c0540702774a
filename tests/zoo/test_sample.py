"""The profiles of chat templates of real models, rendered by llama.cpp's own engine."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.zoo.rendering import profile, source
from tests.zoo.sample import SAMPLE
from tests.zoo.traits import traits


@pytest.mark.rules("L10")
@pytest.mark.parametrize("name", SAMPLE)
def test_a_real_models_template_has_the_profile_that_is_known_of_it(name: str) -> None:
    assert traits(profile(source(name))) == SAMPLE[name]


def test_the_sample_has_each_value_of_each_trait_at_least_twice() -> None:
    having = Counter(word for kind in SAMPLE.values() for word in kind.split())

    assert set(having) == {
        "tools", "parallel", "nine-ids", "system", "alternates", "objects", "off-in-tail", "off-in-head",
        "keeps-steps", "keeps-turns",
    }  # fmt: skip
    assert all(2 <= count <= len(SAMPLE) - 2 for count in having.values())
    assert having["off-in-tail"] + having["off-in-head"] <= len(SAMPLE) - 2
