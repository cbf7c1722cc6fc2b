"""Handing in a plan: allowed to run means approved."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.permissions.calls import Call, Decision, Policy
from swarm.permissions.pipeline import decide
from tests.support.tools import ToolBench
from worker.tools.plan_mode import PlanMode
from worker.tools.registry import built_in_tools

PLAN = "# Plan\n\n1. Rename it in api/.\n2. Run the tests."


@pytest.fixture
def planner(bench: ToolBench) -> ToolBench:
    bench.tools = built_in_tools(bench.team.settings, plans=True)
    bench.context.plan = PlanMode("acceptEdits")
    bench.take_task()
    return bench


async def deny(tool: object, given: object, call: Call) -> Decision:
    return Decision(behavior="deny", reason="Add tests.", why="rule")


async def test_once_it_may_run_plan_mode_is_over(planner: ToolBench) -> None:
    result = await planner.call("ExitPlanMode", plan=PLAN)

    assert not result["is_error"]
    assert result["content"].startswith("[Plan Approved]")
    assert planner.context.plan is not None
    assert (planner.context.plan.is_open, planner.context.plan.mode) == (False, "acceptEdits")


async def test_a_rejected_plan_leaves_all_as_it_was(planner: ToolBench) -> None:
    planner.gate = deny
    result = await planner.call("ExitPlanMode", plan=PLAN)

    assert result["is_error"]
    assert "Add tests." in result["content"]
    assert planner.context.plan is not None
    assert planner.context.plan.mode == "plan"


@pytest.mark.parametrize("plan", ["", " \n"])
async def test_a_blank_plan_is_no_plan(planner: ToolBench, plan: str) -> None:
    asked: list[Call] = []

    async def gate(tool: object, given: object, call: Call) -> Decision:
        asked.append(call)
        return Decision(behavior="allow", reason="", why="rule")

    planner.gate = gate
    result = await planner.call("ExitPlanMode", plan=plan)

    assert result["is_error"]
    assert asked == []
    assert planner.context.plan is not None
    assert planner.context.plan.is_open


async def test_a_second_plan_has_nothing_to_wait_for(planner: ToolBench) -> None:
    await planner.call("ExitPlanMode", plan=PLAN)
    again = await planner.call("ExitPlanMode", plan=PLAN)

    assert again["is_error"]
    assert "not in plan mode" in again["content"]


async def test_without_a_task_there_is_nothing_to_plan(planner: ToolBench) -> None:
    planner.context.task_id = None
    result = await planner.call("ExitPlanMode", plan=PLAN)

    assert result["is_error"]
    assert planner.context.plan is not None
    assert planner.context.plan.is_open


def test_only_who_plans_has_the_tool(bench: ToolBench) -> None:
    usual = [tool.name for tool in built_in_tools(bench.team.settings)]
    planning = [tool.name for tool in built_in_tools(bench.team.settings, plans=True)]

    assert planning == sorted([*usual, "ExitPlanMode"])


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
def test_a_plan_is_a_question_in_every_mode(mode: str, tmp_path: Path) -> None:
    call = Call(tool="ExitPlanMode", input={"plan": PLAN}, cwd="/", team_tool=True, asks_person=True)
    policy = Policy(mode=mode, rules=(), workspace=str(tmp_path), control_roots=(), home=str(tmp_path))

    assert decide(policy, call).behavior == "ask"
