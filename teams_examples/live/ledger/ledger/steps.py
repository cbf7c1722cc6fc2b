"""Steps that bring one account up to date, in order."""


def amount_in_cents(account):
    return {"owner": account["owner"], "cents": int(account["amount"])}


def with_currency(account):
    return account | {"currency": "EUR"}


STEPS = (amount_in_cents, with_currency)
