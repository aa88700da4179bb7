"""The environment: values, odd values, defaults."""

import logging

import pytest

from assay.server.settings import LEASE, log_level, read_settings


@pytest.mark.parametrize(
    ("text", "lease"),
    [("2.5", 2_500_000), (" 1 ", 1_000_000), ("", 30_000_000), ("1e99", 10**16)],
)
def test_the_lease(text: str, lease: int, caplog: pytest.LogCaptureFixture) -> None:
    assert read_settings({LEASE: text}).lease == lease
    assert not caplog.records


@pytest.mark.parametrize("text", ["soon", "0", "-3", "nan"])
def test_an_odd_lease_is_the_default_with_a_warning(
    text: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert read_settings({LEASE: text}).lease == 30_000_000
    assert LEASE in caplog.text


def test_log_levels() -> None:
    assert log_level({}) == logging.INFO
    assert log_level({"RUST_LOG": "debug"}) == logging.DEBUG
    assert log_level({"ASSAY_LOG": "Error", "RUST_LOG": "debug"}) == logging.ERROR
    assert log_level({"ASSAY_LOG": "", "RUST_LOG": "warning"}) == logging.WARNING
    assert log_level({"ASSAY_LOG": "loud"}) == logging.INFO
