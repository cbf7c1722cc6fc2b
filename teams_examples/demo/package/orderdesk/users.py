"""Users of the shop."""


def fetch_user(store, user_id):
    """Return the user as a dict, or None if there is no such user."""
    row = store.user_row(user_id)
    if row is None:
        return None
    return {
        "id": row["id"],
        "name": row.get("name", "").strip(),
        "email": row["email"].lower(),
        "plan": row.get("plan", "free"),
        "country": row.get("country", "DE"),
    }


def display_name(user):
    """Return what to call this user: the name, else the address up to the @."""
    return user["name"] or user["email"].split("@")[0]
