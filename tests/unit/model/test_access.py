"""What is refused before anything is made: no key, and addresses and keys that cannot be."""

from __future__ import annotations

import pytest

from swarm.errors import ConfigError
from worker.model.access import DEFAULT_BASE_URL, base_url, check_access


@pytest.mark.parametrize(
    "environ", [{}, {"ANTHROPIC_API_KEY": ""}, {"ANTHROPIC_API_KEY": " \n", "ANTHROPIC_AUTH_TOKEN": "\t"}]
)
def test_without_a_key(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as caught:
        check_access(environ)

    assert caught.value.code == "no_key"


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
def test_either_key_will_do(name: str) -> None:
    check_access({name: " sk-1 \n"})


@pytest.mark.parametrize("key", ["sk\n1", "schlüssel", "a\x00b"])
def test_a_key_that_cannot_be_sent(key: str) -> None:
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY") as caught:
        check_access({"ANTHROPIC_API_KEY": key})

    assert caught.value.code == "bad_value"
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "given", ["nonsense", "ftp://x", "http://", "http://127.0.0.1:99999", "http://[::1", "localhost:8080"]
)
def test_an_address_that_cannot_be(given: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_access({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": given})

    assert (caught.value.code, caught.value.exit_code) == ("bad_value", 2)
    assert repr(given) in str(caught.value)


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("", DEFAULT_BASE_URL),
        ("  ", DEFAULT_BASE_URL),
        (" http://127.0.0.1:8080/v ", "http://127.0.0.1:8080/v"),
        ("https://[::1]:1", "https://[::1]:1"),
    ],
)
def test_an_address_that_can_be(given: str, used: str) -> None:
    assert base_url({"ANTHROPIC_BASE_URL": given}) == used
