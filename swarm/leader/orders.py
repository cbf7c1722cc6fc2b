"""Orders to teammates, given in the leader's name; a teammate obeys them without its model."""

from __future__ import annotations

from swarm.core.identity import LEADER
from swarm.core.message import ORDERS, may_send, parse_control, pause_order, shutdown_request
from swarm.core.times import format_time
from swarm.storage.mail import send
from swarm.storage.team import Team


def order_pause(team: Team, name: str) -> None:
    """Order a teammate to take no task and to ask no model; what it runs goes on to its end."""
    _order(team, name, pause_order(_now(team)), "pause")


def order_to_go_on(team: Team, name: str) -> None:
    _order(team, name, pause_order(_now(team), go_on=True), "continue")


def order_stop(team: Team, name: str, reason: str) -> None:
    """Order a teammate to end: it ends its command, frees its task, answers and goes."""
    _order(team, name, shutdown_request(LEADER, name, _now(team), reason), "please stop")


def waiting_orders(team: Team, name: str) -> tuple[str, ...]:
    """Return the ids of the orders that this teammate has not taken yet."""
    return tuple(mail.msg_id for mail in team.inbox(name).peek() if _is_order(mail.sender, mail.text, name))


def drop_orders(team: Team, name: str) -> None:
    """Remove the orders that were meant for a life that is over; the next one begins without them."""
    left = waiting_orders(team, name)
    if left:
        team.inbox(name).acknowledge(left)


def _is_order(sender: str, text: str, name: str) -> bool:
    control = parse_control(text)
    return control is not None and control["type"] in ORDERS and may_send(control["type"], sender, name)


def _order(team: Team, name: str, text: str, summary: str) -> None:
    send(team, LEADER, name, text, summary=summary)


def _now(team: Team) -> str:
    return format_time(team.clock.now())
