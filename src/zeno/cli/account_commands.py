"""`zeno users` and `zeno keys`: the commands and their options; what they do is in `accounts`."""

from typing import Annotated

import typer

from zeno.cli.options import Language, Say


def add_users(app: typer.Typer, requested: str | None, say: Say) -> None:
    """`zeno users`."""
    users = typer.Typer(help=say("users"), no_args_is_help=True, rich_markup_mode=None)
    app.add_typer(users, name="users")

    @users.command(name="add", help=say("users_add"))
    def add(
        name: Annotated[str, typer.Argument(help=say("user_name"), show_default=False)],
        admin: Annotated[bool, typer.Option("--admin", help=say("user_admin"))] = False,
        team: Annotated[str | None, typer.Option("--team", help=say("user_team"))] = None,
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.accounts import add_user

        raise typer.Exit(add_user(requested, name, admin=admin, team=team))

    @users.command(name="list", help=say("users_list"))
    def list_(
        json: Annotated[bool, typer.Option("--json", help=say("json_list"))] = False,
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.accounts import list_users

        raise typer.Exit(list_users(requested, as_json=json))

    @users.command(name="disable", help=say("users_disable"))
    def disable(
        name: Annotated[str, typer.Argument(help=say("user_name"), show_default=False)],
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.accounts import disable_user

        raise typer.Exit(disable_user(requested, name))

    _add_return(users, requested, say)


def _add_return(users: typer.Typer, requested: str | None, say: Say) -> None:
    @users.command(name="enable", help=say("users_enable"))
    def enable(
        name: Annotated[str, typer.Argument(help=say("user_name"), show_default=False)],
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.accounts import disable_user

        raise typer.Exit(disable_user(requested, name, enable=True))

    @users.command(name="password", help=say("users_password"))
    def password(
        name: Annotated[str, typer.Argument(help=say("user_name"), show_default=False)],
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.accounts import set_password

        raise typer.Exit(set_password(requested, name))


def add_keys(app: typer.Typer, requested: str | None, say: Say) -> None:
    """`zeno keys`."""
    keys = typer.Typer(help=say("keys"), no_args_is_help=True, rich_markup_mode=None)
    app.add_typer(keys, name="keys")

    @keys.command(name="add", help=say("keys_add"))
    def add(
        name: Annotated[str, typer.Argument(help=say("key_name"), show_default=False)],
        user: Annotated[str, typer.Option("--user", help=say("key_user"))],
        rights: Annotated[str, typer.Option("--rights", help=say("key_rights"))] = "read,run",
        days: Annotated[int | None, typer.Option("--days", min=1, max=3650, help=say("key_days"))] = None,
        team: Annotated[str | None, typer.Option("--team", help=say("key_team"))] = None,
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.accounts import add_key

        raise typer.Exit(add_key(requested, name, user, rights=rights, days=days, team=team))

    @keys.command(name="list", help=say("keys_list"))
    def list_(
        json: Annotated[bool, typer.Option("--json", help=say("json_list"))] = False,
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.accounts import list_keys

        raise typer.Exit(list_keys(requested, as_json=json))

    @keys.command(name="revoke", help=say("keys_revoke"))
    def revoke(
        key: Annotated[str, typer.Argument(help=say("key_id"), metavar="KEY", show_default=False)],
        lang: Annotated[Language | None, typer.Option("--lang", help=say("lang"))] = None,
    ) -> None:
        from zeno.cli.accounts import revoke_key

        raise typer.Exit(revoke_key(requested, key))
