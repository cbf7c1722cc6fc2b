"""Labels of accounts."""


def label(owner, cents):
    return f"{owner}: {cents}"
