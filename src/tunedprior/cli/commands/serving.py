"""The command `tunedprior serve`: show a campaign as a web page."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from tunedprior.cli.output import AsJson, Campaign, Name, say
from tunedprior.cli.registry import register_command
from tunedprior.workspace.shell_words import format_campaign_place

_ANY = 65_535


@register_command("serve", panel="Day by day")
def serve(
    campaign: Campaign,
    name: Name = None,
    port: Annotated[int, typer.Option(min=0, max=_ANY, help="The port to listen on; 0 for any free one.")] = 8000,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The address to listen on; 0.0.0.0 lets other computers in.")
    ] = "127.0.0.1",
    token_file: Annotated[
        Path | None,
        typer.Option(help="A file with your own token, readable by you alone (chmod 600). Default: a new token."),
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="No token: anybody who uses this computer may enter.")
    ] = False,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    as_json: AsJson = False,
) -> None:
    """Serve the campaign as a local web page with suggestions and forms for results. Ctrl-C ends it."""
    from tunedprior.checks import import_optional

    for module in ("fastapi", "uvicorn", "jinja2", "python_multipart"):
        import_optional(module, "lab")
    import optuna

    from tunedprior.web.server import (
        Address,
        build_application,
        make_access_policy,
        open_socket,
        read_token,
        run_server,
    )
    from tunedprior.workspace.places import open_campaign

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    about = f"{campaign if '://' in campaign else Path(campaign).resolve()} {name or ''}"
    policy = make_access_policy(host, read_token(token_file), about, needs_token=not no_token)
    with open_socket(host, port) as at:
        address = Address(host, at.getsockname()[1], policy.token)
        application = build_application(lambda: open_campaign(campaign, name), policy, format_campaign_place(campaign))

        def announce_address() -> None:
            said = {"url": address.url, "host": host, "port": address.port, "token": policy.token}
            reached_by = "whoever has this address" if policy.token else "everybody who uses this computer"
            say(said, Text(address.url, style="bold"), wrap=False)
            if not as_json:
                say({}, f"For {reached_by}. Leave this window open; Ctrl-C ends the page, and nothing is lost by that.")
            sys.stdout.flush()  # programs read it while the page is served

        run_server(application, at, address if open_browser and not as_json else None, announce_address)
    if not as_json:
        say({}, "The page has ended. Everything that was recorded is in the campaign.")
