"""What a plan takes off the price."""

PERCENT_BY_PLAN = {"free": 0, "team": 5, "pro": 10}


def discount_percent(user):
    return PERCENT_BY_PLAN.get(user["plan"], 0)
