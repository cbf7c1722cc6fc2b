"""A worker lives in the environment that it was told of, whatever the one that started it has added."""

from __future__ import annotations

import os

import pytest

from swarm.core.spawn import TeammateSpec
from worker.__main__ import _see_only_what_was_told


def test_a_worker_sees_nothing_of_the_environment_that_it_was_started_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = TeammateSpec(
        root="/r",
        team="demo",
        name="w1",
        run_id="k3v9qd7m.w1.1",
        workspace="/w",
        model="scripted",
        backend="tmux",
        environ={"HOME": "/home/told", "PATH": "/bin"},
    )
    monkeypatch.setattr(
        os, "environ", {"HOME": "/home/other", "HTTPS_PROXY": "http://server", "TMUX_PANE": "%1"}
    )

    _see_only_what_was_told(spec)

    assert os.environ["HOME"] == "/home/told"
    assert os.environ["SWARM_RUN_ID"] == spec.run_id
    assert not {"HTTPS_PROXY", "TMUX_PANE"} & os.environ.keys()
