"""Pooled estimates: each run is a lab with an estimate; settings that differ between labs are moderators.

Estimates of several labs as one: a random-effects model, fitted by restricted maximum likelihood. Lab i has the
estimate y_i = x_i b + u_i + e_i, where u_i is what sets labs apart (variance tau^2) and e_i the sampling error of the
lab (variance v_i). Intervals are those of Hartung & Knapp (2001) and Sidik & Jonkman (2002): Student's t with k - p
degrees of freedom, and the variance of the fit times q, the weighted mean square of the residuals. Where tau is
estimated as 0, q may come out near 0 by chance and the interval would be far too short, so q is never less than 1
(Roever, Knapp & Friede 2015). Coverage with few labs is measured in docs/methods.md.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ostrom.analysis.estimate import MODEL, Estimate, Query, key_words
from ostrom.analysis.intervals import mean_of
from ostrom.analysis.population import ALL
from ostrom.analysis.statistics.means import t_quantile
from ostrom.analysis.statistics.samples import BadSample, Floats, Numbers, checked_level, same_length, sample
from ostrom.analysis.units import NoSuchLevel
from ostrom.data.manifests import is_allowed, models_of, settings_of, shown, study_hash, study_keys
from ostrom.data.rundata import RunData, names_of
from ostrom.ground.errors import UsageError

ONE_SIGMA = 0.6826894921370859
"""The level of an interval of one standard error in either direction."""
ANYWHERE = (-math.inf, math.inf)
FEWEST_LABS = 5
"""The fewest labs for a prediction interval."""
GRID, ZOOMS = 64, 8
"""The number of grid points for the variance, and the number of refinements around the best point."""


@dataclass(frozen=True)
class Fit:
    """A random-effects model of labs."""

    coefficients: Floats
    errors: Floats
    """Standard errors of the coefficients (Hartung-Knapp, never smaller than the unadjusted ones)."""
    tau2: float
    df: int
    weights: Floats
    """The share of each lab in the mean; in a regression, its share of the total weight."""

    def interval(self, place: int, level: float) -> tuple[float, float]:
        """The confidence interval of a coefficient."""
        reach = t_quantile(0.5 + level / 2, self.df) * float(self.errors[place])
        return float(self.coefficients[place]) - reach, float(self.coefficients[place]) + reach


@dataclass(frozen=True)
class Pooled:
    """The mean of the distribution of labs, and its heterogeneity."""

    value: float
    low: float
    high: float
    level: float
    labs: int
    tau: float
    """The standard deviation between labs."""
    i2: float
    """The share of the variance of estimates that lies between labs (Higgins & Thompson 2002)."""
    q: float
    """Cochran's Q; under equal means chi-squared with one degree of freedom less than labs."""
    p: float
    prediction: tuple[float, float] | None
    """Where the mean of a further lab would lie (Higgins, Thompson & Spiegelhalter 2009); None under five labs."""
    weights: tuple[float, ...]
    model_free: tuple[float, float] | None
    """Bounds of the plain mean of labs, for labs of any distribution between the bounds; None without bounds. It is
    another mean than that of the model, which weighs labs."""

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        return {
            "value": self.value, "low": self.low, "high": self.high, "level": self.level, "labs": self.labs,
            "tau": self.tau, "i2": self.i2, "q": self.q, "q_df": self.labs - 1, "q_p": self.p,
            "prediction": None if self.prediction is None else list(self.prediction),
            "model_free": None if self.model_free is None else list(self.model_free),
        }  # fmt: skip


def fitted(values: Numbers, variances: Numbers, moderator: Numbers | None = None) -> Fit:
    """Fit the model with a mean, or with a mean and the slope over a moderator."""
    y, v = sample(values, "values"), sample(variances, "variances")
    same_length("variances", v.size, "values", y.size)
    centre = float(y.mean())  # centred to keep precision in sums of squares
    y = y - centre
    if v.min() < 0:
        raise BadSample(f"variances must not be negative (found {v.min():g})")
    x = np.column_stack([np.ones(y.size), *([] if moderator is None else [sample(moderator, "moderator")])])
    if y.size <= x.shape[1]:
        raise BadSample(f"needs more than {x.shape[1]} labs (found {y.size})")
    scale = float(np.ptp(y)) ** 2 + float(v.max())
    v = _above_zero(y, v)
    tau2 = _tau2(y, v, x, scale)
    weights = 1 / (v + tau2)
    inverse = np.linalg.inv(x.T @ (weights[:, None] * x))
    coefficients = inverse @ (x.T @ (weights * y))
    df = y.size - x.shape[1]
    errors = np.sqrt(max(float(weights @ (y - x @ coefficients) ** 2) / df, 1.0) * np.diag(inverse))
    coefficients[0] += centre
    return Fit(coefficients, errors, tau2, df, weights / weights.sum())


def _tau2(y: Floats, v: Floats, x: Floats, scale: float) -> float:
    """Return the REML estimate of the variance between labs, by successively finer grids."""

    def likelihood(tau2: Floats) -> Floats:
        weights = 1 / (v + tau2[:, None])
        squares = np.einsum("tk,ki,kj->tij", weights, x, x)
        sums = (weights * y) @ x
        rest: Floats = weights @ y**2 - np.einsum("ti,ti->t", sums, np.linalg.solve(squares, sums[:, :, None])[:, :, 0])
        height: Floats = np.log(weights).sum(axis=1) - np.linalg.slogdet(squares)[1] - rest
        return height

    # Labs are no further apart than their range, so the variance between them is at most its square.
    grid = scale * (np.arange(GRID + 1) / GRID) ** 3
    for _ in range(ZOOMS):
        best = int(np.argmax(likelihood(grid)))
        grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, GRID)], GRID + 1)
    return float(grid[int(np.argmax(likelihood(grid)))])


def random_effects_mean(
    values: Numbers, variances: Numbers, level: float = 0.95, bounds: tuple[float, float] = ANYWHERE
) -> Pooled:
    """The mean of the labs' distribution; no limit lies beyond the ``bounds`` of the values.

    >>> found = random_effects_mean([0.1, 0.5, 0.9], [0.01, 0.01, 0.01])  # equal variances: a t interval
    >>> round(found.value, 6), round(found.low, 3), round(found.high, 3), round(found.tau, 4)
    (0.5, -0.494, 1.494, 0.3873)
    """
    from scipy.special import chdtrc

    checked_level(level)
    y, v = sample(values, "values"), sample(variances, "variances")
    fit = fitted(y, v)
    value, (low, high) = float(fit.coefficients[0]), fit.interval(0, level)
    fixed = 1 / _above_zero(y, v)
    q = float(fixed @ (y - float(fixed @ y) / float(fixed.sum())) ** 2)
    typical = (y.size - 1) * float(fixed.sum()) / (float(fixed.sum()) ** 2 - float(fixed @ fixed))
    prediction = None
    if y.size >= FEWEST_LABS:
        reach = t_quantile(0.5 + level / 2, y.size - 2) * math.hypot(math.sqrt(fit.tau2), float(fit.errors[0]))
        prediction = (_within(value - reach, bounds), _within(value + reach, bounds))
    return Pooled(
        value, _within(low, bounds), _within(high, bounds), level, int(y.size), math.sqrt(fit.tau2),
        fit.tau2 / (fit.tau2 + typical), q, float(chdtrc(y.size - 1, q)), prediction, tuple(map(float, fit.weights)),
        mean_of(y, bounds=bounds).bounds(level) if all(map(math.isfinite, bounds)) else None,
    )  # fmt: skip


def evened(variances: Sequence[float], counts: Sequence[int]) -> list[float]:
    """Return the variances of estimates, assuming the same variance of a match in all labs.

    Of values between bounds the lab that lies nearer to one by chance has the smaller variance: with variances of their
    own, the labs would draw the mean to that bound. Labs without sampling error keep none.

    >>> evened([0.01, 0.03, 0.0], [10, 10, 5])
    [0.02, 0.02, 0.0]
    """
    noisy = [(v, n) for v, n in zip(variances, counts, strict=True) if v > 0]
    one = sum(n * n * v for v, n in noisy) / max(sum(n for _, n in noisy), 1)
    return [one / n if v > 0 else 0.0 for v, n in zip(variances, counts, strict=True)]


def _above_zero(y: Floats, v: Floats) -> Floats:
    """Return the variances with a small positive floor, so that a lab without sampling error has a finite weight."""
    least: Floats = np.maximum(v, max(1e-12 * (float(np.ptp(y)) ** 2 + float(v.max())), 1e-24))
    return least


def _within(value: float, bounds: tuple[float, float]) -> float:
    return min(max(value, bounds[0]), bounds[1])


def without_each(
    values: Sequence[float], variances: Sequence[float], level: float = 0.95, bounds: tuple[float, float] = ANYWHERE
) -> list[Pooled]:
    """Return the pooled mean without each lab in turn; empty for two labs."""
    return [
        random_effects_mean([*values[:i], *values[i + 1 :]], [*variances[:i], *variances[i + 1 :]], level, bounds)
        for i in range(len(values) if len(values) > 2 else 0)
    ]


ENOUGH = 4
"""The fewest labs with each value of a moderator for a comparison."""
MOST_KEYS = 8
"""The most differing settings that an error message lists."""


@dataclass(frozen=True)
class Lab:
    """The estimate of one run."""

    name: str
    estimate: Estimate
    variance: float
    """The variance of the estimate that the pooled mean uses."""
    weight: float
    """The lab's share in the pooled mean."""


@dataclass(frozen=True)
class Moderator:
    """A setting in which the runs differ, and the difference between its values if there are enough labs."""

    keys: tuple[str, ...]
    """Settings that differ between the same runs, so that their effects cannot be separated."""
    values: Mapping[str, str]
    """The value of the first setting, by lab."""
    difference: tuple[str, str, float, float, float] | None = None
    """Value A, value B, the mean of A minus that of B, and its interval."""

    def as_dict(self) -> dict[str, Any]:
        """The pooled mean, its labs and what differs between them, as JSON data."""
        names = ("first", "second", "difference", "low", "high")
        contrast = None if self.difference is None else dict(zip(names, self.difference, strict=True))
        return {"keys": list(self.keys), "values": dict(self.values), "contrast": contrast}


@dataclass(frozen=True)
class LabPool:
    """One pooled estimate with its labs."""

    key: Mapping[str, Any]
    labs: tuple[Lab, ...]
    left_out: Mapping[str, str]
    """Runs without an estimate or interval, with the reason."""
    pooled: Pooled
    without: tuple[Pooled, ...]
    """The pooled mean without each lab in turn."""
    moderators: tuple[Moderator, ...]

    @property
    def title(self) -> str:
        """Return the group of the estimate in words; empty for all matches."""
        return key_words(self.key)

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        rest = self.without or (None,) * len(self.labs)
        return {
            "group": dict(self.key),
            "pooled": self.pooled.as_dict(),
            "labs": [
                {
                    "lab": lab.name, "value": lab.estimate.value, "low": lab.estimate.low, "high": lab.estimate.high,
                    "n": lab.estimate.n, "se": lab.variance**0.5, "weight": lab.weight,
                    "without": None if one is None else {"value": one.value, "low": one.low, "high": one.high},
                }
                for lab, one in zip(self.labs, rest, strict=True)
            ],
            "left_out": dict(self.left_out),
            "moderators": [one.as_dict() for one in self.moderators],
        }  # fmt: skip


class TooFewLabs(UsageError):
    """Raised for a group in which fewer than two runs have an estimate."""


def pool_runs(
    runs: Sequence[RunData], query: Query, level: float = 0.95, allowed: Sequence[str] = ()
) -> tuple[list[LabPool], list[str]]:
    """Pool the estimates of a query over runs of one study, for every combination of the columns ``by``.

    Behind it the groups that cannot be pooled, such as an agent that one lab alone has, each with the reason.
    """
    names = _names(runs)
    refuse_other_studies(runs, list(names), allowed)
    if query.whose is None and any(run.manifest.get("registered") for run in runs):
        query = query.model_copy(update={"agents": (ALL,), "mean_over_agents": True})  # one population for all labs
    single = all(len(models_of(run.manifest)) == 1 for run in runs)
    answers = {name: _estimates(run, query, level, single) for name, run in zip(names, runs, strict=True)}
    refuse_copies(dict(zip(names, runs, strict=True)), {name: estimates for name, (estimates, _) in answers.items()})
    if "agent" not in query.by and all(len({one.key.get("agent") for one in of}) < 2 for of, _ in answers.values()):
        # Labs may name their only agent differently.
        answers = {
            name: ([replace(one, key={k: v for k, v in one.key.items() if k != "agent"}) for one in of], why)
            for name, (of, why) in answers.items()
        }
    keys = dict.fromkeys(tuple(one.key.items()) for estimates, _ in answers.values() for one in estimates)
    if not keys:
        raise UsageError(
            f"{query.words}: no run has a value ({'; '.join(dict.fromkeys(w for _, w in answers.values()))})"
        )
    differing = _differing(dict(zip(names, runs, strict=True)))
    pools, alone = [], []
    for key in keys:
        try:
            pools.append(_pool(dict(key), answers, differing, level))
        except TooFewLabs as error:
            alone.append(str(error))
    if not pools:
        raise UsageError("; ".join(alone))
    return pools, alone


def _names(runs: Sequence[RunData]) -> list[str]:
    folders = [run.folder for run in runs]
    places = [folder.resolve() for folder in folders]
    if twice := [folder for at, folder in enumerate(folders) if places[at] in places[:at]]:
        raise UsageError(f"{twice[0]}: is named twice; a run counts once")
    if len(folders) < 2:
        raise UsageError("pooling needs two runs or more")
    return list(names_of(folders).values())


def refuse_other_studies(runs: Sequence[RunData], names: Sequence[str], allowed: Sequence[str]) -> None:
    """Refuse runs of different studies, with the keys that differ."""
    first = runs[0]
    for name, run in zip(names[1:], runs[1:], strict=True):
        if study_hash(first.manifest, allowed) == study_hash(run.manifest, allowed):
            continue
        one, two = study_keys(first.manifest), study_keys(run.manifest)
        keys = [key for key in sorted({*one, *two}) if one.get(key) != two.get(key) and not is_allowed(key, allowed)]
        listed = "; ".join(
            f"{key}: {shown(one.get(key, 'none'))} and {shown(two.get(key, 'none'))}" for key in keys[:MOST_KEYS]
        )
        roots = dict.fromkeys(key.split(".")[0] for key in keys)
        more = f"; and {len(keys) - MOST_KEYS} more" if len(keys) > MOST_KEYS else ""
        raise UsageError(
            f"{names[0]} and {name} hold different studies: {listed}{more} "
            f"(pool them in spite of it: {' '.join(f'--allow {root}' for root in roots)})"
        )


def refuse_copies(runs: Mapping[str, RunData], answers: Mapping[str, Sequence[Estimate]]) -> None:
    """Refuse a run together with its own copy (a shared run, or an earlier state): it would count twice.

    The moment of its first call, to the millisecond as shared runs give it, tells a run from others that began in the
    same second; where no model was asked, its figures do.
    """
    met: dict[str, str] = {}
    for name, run in runs.items():
        (call,) = run.records('SELECT min("at") AS first FROM calls')
        figures = [(one.value, one.low, one.high, one.n) for one in answers[name]]
        first = round(call["first"], 3) if call["first"] else figures
        mark = repr([run.manifest.get("created"), models_of(run.manifest), first])
        if answers[name] and mark in met:
            raise UsageError(f"{met[mark]} and {name} are copies of one run; a run counts once")
        met[mark] = name


def _estimates(run: RunData, query: Query, level: float, single: bool) -> tuple[list[Estimate], str]:
    """Return the estimates of a run, or the reason for none; ``{model}`` stands for its only model.

    Where every lab has a single model, groups by the model are the same group in each.
    """
    models = models_of(run.manifest)
    question = query.for_model(models[0]) if len(models) == 1 else query
    try:
        estimates = question.ask(run, level)
    except NoSuchLevel as error:
        return [], str(error)
    if single:
        estimates = [replace(one, key=_unnamed(one.key, models[0])) for one in estimates]
    return estimates, "no finished match that is asked for has a value"


def _unnamed(key: Mapping[str, Any], model: str) -> dict[str, Any]:
    return {k: v.replace(model, MODEL) if isinstance(v, str) else v for k, v in key.items()}


def _pool(
    key: Mapping[str, Any],
    answers: Mapping[str, tuple[list[Estimate], str]],
    differing: Sequence[tuple[tuple[str, ...], Mapping[str, str]]],
    level: float,
) -> LabPool:
    estimates: dict[str, Estimate] = {}
    left_out: dict[str, str] = {}
    for name, (answered, why) in answers.items():
        one = next((one for one in answered if one.key == key), None)
        if one is None:
            left_out[name] = why
        elif one.low is None and not (one.inference is not None and one.inference.alike and one.inference.bets):
            left_out[name] = one.note or "there is no interval"
        else:
            estimates[name] = one
    if len(estimates) < 2:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out.items())
        raise TooFewLabs(f"{key_words(key) or 'all matches'}: fewer than two runs have an estimate ({reasons})")
    values = [one.value for one in estimates.values()]
    variances = [variance_of(one) for one in estimates.values()]
    bounds = _bounds(estimates.values())
    if all(map(math.isfinite, bounds)):
        variances = evened(variances, [one.n for one in estimates.values()])
    overall = random_effects_mean(values, variances, level, bounds)
    labs = tuple(
        Lab(name, one, v, weight)
        for (name, one), v, weight in zip(estimates.items(), variances, overall.weights, strict=True)
    )
    return LabPool(
        key,
        labs,
        left_out,
        overall,
        tuple(without_each(values, variances, level, bounds)),
        tuple(filter(None, [_moderated(keys, of, labs, level) for keys, of in differing])),
    )


def variance_of(one: Estimate) -> float:
    """The square of the standard error; where all units are alike, that of the bounds, so that no lab weighs without
    end because it saw no difference."""
    if one.method == "exact" or one.inference is None:
        return 0.0
    if (spread := one.inference.spread()) is not None:
        return spread[0] ** 2
    ends = one.inference.reach(ONE_SIGMA) or one.inference.bounds(ONE_SIGMA) or (one.value, one.value)
    return ((ends[1] - ends[0]) / 2) ** 2


def _bounds(estimates: Any) -> tuple[float, float]:
    ends = [(i.least, i.most) for one in estimates if (i := one.inference) is not None and not i.exact]
    return (min(low for low, _ in ends), max(high for _, high in ends)) if ends else ANYWHERE


def _differing(runs: Mapping[str, RunData]) -> list[tuple[tuple[str, ...], Mapping[str, str]]]:
    """Return the settings that differ between runs; settings that split the runs equally are grouped."""
    every = {name: {**settings_of(run.manifest), **study_keys(run.manifest)} for name, run in runs.items()}
    keys = dict.fromkeys(key for of in every.values() for key in of)
    groups: dict[tuple[int, ...], tuple[list[str], dict[str, str]]] = {}
    for key in keys:
        values = {name: shown(of.get(key, "none")) for name, of in every.items()}
        order = list(dict.fromkeys(values.values()))
        if len(order) > 1:
            groups.setdefault(tuple(order.index(value) for value in values.values()), ([], values))[0].append(key)
    return [(tuple(keys), values) for keys, values in groups.values()]


def _moderated(keys: tuple[str, ...], values: Mapping[str, str], labs: Sequence[Lab], level: float) -> Moderator | None:
    """Return a moderator of these labs; its two values are compared if each has enough labs."""
    own = {lab.name: values[lab.name] for lab in labs}
    levels = list(dict.fromkeys(own.values()))
    if len(levels) < 2:
        return None
    counts = [list(own.values()).count(value) for value in levels]
    if len(levels) > 2 or min(counts) < ENOUGH:
        return Moderator(keys, own)
    fit = fitted(
        [lab.estimate.value for lab in labs],
        [lab.variance for lab in labs],
        [float(own[lab.name] == levels[0]) for lab in labs],
    )
    return Moderator(keys, own, (levels[0], levels[1], float(fit.coefficients[1]), *fit.interval(1, level)))
