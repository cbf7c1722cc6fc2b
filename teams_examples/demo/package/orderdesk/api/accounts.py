"""GET /accounts/<id>"""

from orderdesk.users import display_name, fetch_user


def get_account(store, user_id):
    user = fetch_user(store, user_id)
    if user is None:
        return 404, {"error": f"no user {user_id}"}
    return 200, {
        "id": user["id"],
        "name": display_name(user),
        "email": user["email"],
        "plan": user["plan"],
    }
