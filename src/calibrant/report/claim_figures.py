"""The paper's claims as figures: one panel a rate, one line a forecaster that is to keep it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrant.report.claims import Claim
from calibrant.report.figures import ErrorGrowth, GrowthCurve, Slope

#: Parameters that tell a forecaster what the claim assumes; every one of them is told.
TOLD = ("deviation", "horizon")


def claim_panels(claims: Sequence[Claim], axis: str) -> dict[str, ErrorGrowth]:
    """Return the figure of each rate that is claimed in T, C or K, by its title.

    Forecasters with the printed constants are left out where there are others: their errors are
    so much larger that they would hide the rest.

    Examples
    --------
    >>> row = Claim("Cal2", "i.i.d. (mean 0.5)", "log T", "stationary", "epoch", "T", 0.0, 1.0,
    ...             0.03, -0.02, 0.06, (1e3, 1e4), (3.1, 4.2), (0.5, 0.5), "passes", "...")
    >>> list(claim_panels([row], "T"))
    ['Cal2, i.i.d.']
    """
    chosen = [claim for claim in claims if claim.axis == axis]
    chosen = [claim for claim in chosen if "constants=paper" not in claim.forecaster] or chosen
    names = list(dict.fromkeys(claim_name(claim) for claim in chosen))
    groups: dict[str, list[Claim]] = {}
    for claim in chosen:
        groups.setdefault(f"{claim.error}, {situation(claim)}", []).append(claim)
    return {title: _panel(group, names) for title, group in groups.items()}


def claim_name(claim: Claim) -> str:
    """Return what a line of a claim's figure is called, where the error is known.

    Examples
    --------
    >>> row = Claim("Cal2", "", "", "", "refined:measure=pseudo_l2,deviation=C", "T", 0, 0, 0, 0,
    ...             0, (1.0,), (1.0,), (0.0,), "passes", "")
    >>> claim_name(row)
    'refined, pseudo_l2'
    """
    name, _, rest = claim.forecaster.partition(":")
    own = {"Cal1": "l1", "Cal2": "l2", "PCal2": "pseudo_l2", "PKLCal": "pseudo_kl"}
    pairs = [piece.partition("=")[::2] for piece in rest.split(",") if piece]
    words = [
        "as printed" if value == "paper" else value
        for key, value in pairs
        if key not in TOLD and value != own.get(claim.error)
    ]
    return ", ".join([name, *words])


def situation(claim: Claim) -> str:
    """Return the world of a claim without the list of streams that stand for it."""
    return claim.world.partition(" (")[0]


def _panel(claims: Sequence[Claim], names: Sequence[str]) -> ErrorGrowth:
    """Return one panel; every name has its place in it, so that looks agree between panels."""
    nothing = np.array([])
    curves = dict.fromkeys(names, GrowthCurve(nothing, nothing, nothing))
    for claim in claims:
        curves[claim_name(claim)] = GrowthCurve(
            np.array(claim.x), np.array(claim.mean), np.array(claim.spread)
        )
    first = claims[0]
    slopes = {
        (claim.claimed_exponent, claim.log_power): Slope(
            "claimed", claim.claimed_exponent, claim.log_power
        )
        for claim in claims
    }
    # Rates that differ in a logarithm only are one guide: the eye could not tell them apart.
    return ErrorGrowth(curves, first.axis, first.error, (slopes[max(slopes)],))
