"""The command `tunedprior count`: say how many results there are."""

from tunedprior.cli.output import AsJson, Campaign, Name, say
from tunedprior.cli.registry import register_command


@register_command("count", panel="See")
def count_results(campaign: Campaign, name: Name = None, as_json: AsJson = False) -> None:
    """Say how many results there are."""
    from tunedprior.workspace.places import open_campaign

    count = len(open_campaign(campaign, name, read_only=True).trials)
    say({"results": count}, f"{count} results.")
