"""`docs/howto/behind-a-proxy.md` says what the samples and the service do."""

from __future__ import annotations

import re

from service.config.settings import ENV_PREFIX, Settings
from tests.proxy.proxies import SAMPLES, SITE

ROOT = SAMPLES.parents[1]
PAGE = (ROOT / "docs/howto/behind-a-proxy.md").read_text(encoding="utf-8")


def test_each_sample_is_installed_and_gets_its_name() -> None:
    installed = dict(re.findall(r"install --mode=0644 (deploy/proxy/\S+) (\S+)$", PAGE, re.MULTILINE))
    renamed = re.findall(rf"sed -i 's/{re.escape(re.escape(SITE))}/YOUR\.NAME/g' (\S+)$", PAGE, re.MULTILINE)

    assert {ROOT / path for path in installed} == set(SAMPLES.iterdir())
    assert renamed == list(installed.values())


def test_the_directives_that_the_page_speaks_of_are_in_the_samples() -> None:
    samples = "".join(path.read_text(encoding="utf-8") for path in SAMPLES.iterdir())
    named = re.findall(r"`((?:proxy|client|gzip)[a-z_]* (?:off|0))`", PAGE)

    assert len(named) >= 4
    assert [directive for directive in named if f"{directive};" not in samples] == []


def test_what_the_page_quotes_is_said_by_the_service() -> None:
    said = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "service/web").glob("*.py"))
    quoted = set(re.findall(r'4\d\d,? "([^"]+)"', PAGE.replace("\n", " ")))

    assert len(quoted) >= 3
    assert [text for text in quoted if text not in said] == []


def test_the_settings_that_the_page_names_are_settings() -> None:
    named = re.findall(rf"{ENV_PREFIX}([A-Z_]+)", PAGE)

    assert named
    assert {name.lower() for name in named} <= set(Settings.model_fields)
