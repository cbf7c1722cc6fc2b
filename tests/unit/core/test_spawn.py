from __future__ import annotations

import pickle

from swarm.core.spawn import RuleSet, TeammateSpec


def test_a_spec_travels_to_another_process() -> None:
    spec = TeammateSpec(
        root="/home/me/.claude",
        team="demo",
        name="w1",
        run_id="k3v9qd7m.w1.1",
        workspace="/srv/app",
        model="scripted",
        backend="process",
        rules=(RuleSet(source="team file", allow=("Bash(ls:*)",)),),
        environ={"PATH": "/usr/bin"},
    )

    assert pickle.loads(pickle.dumps(spec)) == spec
    assert (spec.permission_mode, spec.role, spec.leader_run_id) == ("default", None, None)
