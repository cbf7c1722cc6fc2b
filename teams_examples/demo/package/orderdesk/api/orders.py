"""GET /accounts/<id>/orders"""

from orderdesk.users import display_name, fetch_user


def list_orders(store, user_id):
    user = fetch_user(store, user_id)
    if user is None:
        return 404, {"error": f"no user {user_id}"}
    orders = [{"item": row["item"], "cents": row["cents"]} for row in store.orders_of(user["id"])]
    return 200, {"user": display_name(user), "orders": orders}
