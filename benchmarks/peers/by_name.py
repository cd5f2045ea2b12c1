"""Every peer by its name: where it runs, what it is, and how a campaign with it begins."""

from dataclasses import dataclass

#: Settings that all peers without old data share at the beginning: drawn at random by the seed alone.
SHARED_FIRST = 3
#: What a peer with old data is told first where it cannot choose before it has seen a result.
ONE_FIRST = 1
#: Environments, as folders beside the project; the first is the one that the comparison runs in.
HERE, PEERS, HEBO, OPENBOX = "", ".venv-peers", ".venv-hebo", ".venv-openbox"


@dataclass(frozen=True)
class Entry:
    """A peer.

    Attributes:
        module: Of `benchmarks.peers.kinds`, where its class is.
        kind: The class.
        environment: Where it runs.
        uses_old: Whether it learns from old data.
        gaussian: Whether its model is a Gaussian process.
        first: How many of the settings that all peers share come before it chooses itself.
        package: Whose version counts, if it is another's than this project's.
        slow: Whether a suggestion takes seconds.
        control: Whether it is another way to use a peer that takes part, to see what a part of that one does: it runs
            on the measured pairs, and has a place in the table of harm alone.
    """

    module: str
    kind: str
    environment: str = HERE
    uses_old: bool = False
    gaussian: bool = False
    first: int = SHARED_FIRST
    package: str | None = None
    slow: bool = False
    control: bool = False


#: This project's default, and the same without old data.
OURS, OURS_PLAIN = "tunedprior", "tunedprior, no old data"
#: The default again, after the settings that peers without old data begin with, instead of its own first ones.
OURS_SHARED = "tunedprior, shared start"
#: What "plain BoTorch" means: the strong standard.
BOTORCH, RANDOM = "BoTorch", "random search"
#: The rivals that learn from old data by task correlations and by ranking.
FREE_SIGN, RANKING, BOTL = "MultiTaskGP, free sign", "RGPE", "Ax BOTL"
ALL_PEERS = {
    OURS: Entry("ours", "Ours", uses_old=True, gaussian=True, first=0),
    OURS_PLAIN: Entry("ours", "OursPlain", gaussian=True),
    OURS_SHARED: Entry("ours", "OursShared", uses_old=True, gaussian=True, control=True),
    RANDOM: Entry("by_chance", "Random"),
    # Built with BoTorch, here.
    BOTORCH: Entry("gaussian", "BoTorch", gaussian=True, package="botorch"),
    "MultiTaskGP": Entry(
        "several_tasks", "MultiTask", uses_old=True, gaussian=True, first=ONE_FIRST, package="botorch", slow=True
    ),
    FREE_SIGN: Entry(
        "several_tasks", "FreeSign", uses_old=True, gaussian=True, first=ONE_FIRST, package="botorch", slow=True
    ),
    RANKING: Entry("by_ranking", "Ranking", uses_old=True, gaussian=True, first=ONE_FIRST, package="botorch"),
    # Ax and BayBE.
    "Ax": Entry("with_ax", "Default", PEERS, gaussian=True, package="ax-platform", slow=True),
    BOTL: Entry(
        "with_ax", "Transfer", PEERS, uses_old=True, gaussian=True, first=ONE_FIRST, package="ax-platform", slow=True
    ),
    "BayBE": Entry("with_baybe", "Tasks", PEERS, uses_old=True, gaussian=True, first=0, package="baybe", slow=True),
    # Optuna and OptunaHub.
    "Optuna GPSampler": Entry("with_optuna", "Gaussian", PEERS, gaussian=True, package="optuna"),
    "Optuna GPSampler, old trials added": Entry(
        "with_optuna", "GaussianOldTrials", PEERS, uses_old=True, gaussian=True, first=0, package="optuna"
    ),
    "Optuna TPE": Entry("with_optuna", "Parzen", PEERS, package="optuna"),
    "Optuna TPE, old trials added": Entry(
        "with_optuna", "ParzenOldTrials", PEERS, uses_old=True, first=0, package="optuna"
    ),
    "Optuna meta_learn_tpe": Entry(
        "with_optuna", "MetaLearnParzen", PEERS, uses_old=True, first=ONE_FIRST, package="optunahub"
    ),
    # Vizier, SMAC, HEBO, OpenBox and Syne Tune.
    "Vizier": Entry("vizier_bandit", "Vizier", PEERS, gaussian=True, package="google-vizier", slow=True),
    "Vizier, old trials as prior": Entry(
        "vizier_bandit",
        "VizierOnPriors",
        PEERS,
        uses_old=True,
        gaussian=True,
        first=ONE_FIRST,
        package="google-vizier",
        slow=True,
    ),
    "SMAC3": Entry("smac_facade", "Smac", PEERS, gaussian=True, package="smac", slow=True),
    "HEBO": Entry("hebo_design", "Hebo", HEBO, gaussian=True, package="HEBO", slow=True),
    "OpenBox": Entry("open_box", "OpenBox", OPENBOX, gaussian=True, package="openbox", slow=True),
    "OpenBox, transfer": Entry(
        "open_box",
        "OpenBoxTransfer",
        OPENBOX,
        uses_old=True,
        gaussian=True,
        first=ONE_FIRST,
        package="openbox",
        slow=True,
    ),
    "syne-tune, quantiles": Entry(
        "syne_tune_transfer", "Quantiles", PEERS, uses_old=True, first=0, package="syne-tune"
    ),
    "syne-tune, bounding box": Entry(
        "syne_tune_transfer", "InBoundingBox", PEERS, uses_old=True, gaussian=True, first=0, package="syne-tune"
    ),
}
