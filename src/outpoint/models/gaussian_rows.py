"""Predictions of rows with any known Gaussian columns, by networks with drawn parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log, pi

import numpy as np

from outpoint.arrays import Booleans, Floats
from outpoint.models.model import NetworkModel
from outpoint.models.network import Coding

BLOCK = 50
"""Networks that are handled together."""


@dataclass(frozen=True, eq=False)
class GaussianNetworks:
    """Means (network, column) and covariance matrices of columns, of networks of equal weight.

    ``given`` variables are only conditioned on.
    """

    coding: Coding
    given: Booleans
    means: Floats
    covariances: Floats
    level_corrections: Mapping[int, Floats]

    @classmethod
    def draw(
        cls, model: NetworkModel, dags: Booleans, rng: np.random.Generator
    ) -> GaussianNetworks:
        """One network for each DAG, with parameters drawn from their posterior."""
        drawn = [model.sample_parameters(dag, rng).gaussian() for dag in dags]
        means, covariances = (np.stack(parts) for parts in zip(*drawn, strict=True))
        return cls(model.coding, model.given, means, covariances, model.level_corrections)

    def predict(
        self, values: Floats, unknown: Booleans, target: int | None
    ) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """The parts of a prediction for rows with the same unknown cells."""
        coding, n_networks = self.coding, len(self.means)
        columns = coding.encode(values)
        inside = np.flatnonzero(~unknown[coding.owner])
        outside = coding.columns_of(target) if target is not None else []
        codes = None if target is None else coding.codes[target]
        n_parts = 1 if codes is None else len(codes)
        logs = np.empty((len(values), n_networks))
        means = np.zeros((len(values), n_networks, n_parts))
        sds = np.zeros((len(values), n_networks))
        for start in range(0, n_networks, BLOCK):
            part = slice(start, start + BLOCK)
            gaps = columns[:, inside] - self.means[part, None, :][:, :, inside]
            square = self.covariances[part][:, inside][:, :, inside]
            root = np.asarray(np.linalg.cholesky(square), dtype=np.float64)
            white: Floats = np.asarray(np.linalg.solve(root, np.swapaxes(gaps, 1, 2)), np.float64)
            logs[:, part] = _log_normal(white, root).T
            if target is None:
                continue
            cross = np.linalg.solve(root, self.covariances[part][:, inside][:, :, outside])
            centre = self.means[part, None, :][:, :, outside] + np.swapaxes(white, 1, 2) @ cross
            rest = self.covariances[part][:, outside][:, :, outside]
            rest = rest - np.swapaxes(cross, 1, 2) @ cross
            if codes is None:
                means[:, part, 0] = centre[:, :, 0].T
                sds[:, part] = np.sqrt(rest[:, 0, 0])[None, :]
            else:
                means[:, part] = _at_codes(codes, centre, np.linalg.cholesky(rest))
        return self._mixture(values, target, logs, means, sds)

    def _mixture(
        self, values: Floats, target: int | None, logs: Floats, means: Floats, sds: Floats
    ) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        coding, n_networks = self.coding, logs.shape[1]
        top = logs.max(axis=1, keepdims=True)
        shares = np.exp(logs - top)
        totals = shares.sum(axis=1, keepdims=True)
        shares /= totals
        known = ~np.isnan(values) & ~self.given
        density = (top + np.log(totals))[:, 0] - log(n_networks) + coding.log_units(known)
        nothing = np.zeros((len(values), 0))
        error = relative_error(shares)
        if target is None:
            return density, error, nothing, nothing, nothing
        if coding.codes[target] is None:
            scale, shift = coding.scales[target], coding.shifts[target]
            return density, error, shares, means[:, :, 0] * scale + shift, sds * scale
        means = means + self.level_corrections[target]
        highest = means.max(axis=(1, 2), keepdims=True)
        weights = np.einsum("rs,rsk->rk", shares, np.exp(means - highest))
        return density, error, weights / weights.sum(axis=1, keepdims=True), nothing, nothing


def _log_normal(white: Floats, root: Floats) -> Floats:
    """Log densities (network, row) from whitened gaps (network, column, row)."""
    size = white.shape[1]
    log_det = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    return np.asarray(-0.5 * ((white**2).sum(axis=1) + size * log(2 * pi)) - log_det[:, None])


def _at_codes(codes: Floats, centre: Floats, root: Floats) -> Floats:
    """Log densities (row, network, level) of the codes of levels; -inf for levels without."""
    out = np.full((centre.shape[1], centre.shape[0], len(codes)), -np.inf)
    for level in np.flatnonzero(~np.isnan(codes).any(axis=1)):
        gaps = np.swapaxes(codes[level] - centre, 1, 2)
        out[:, :, level] = _log_normal(np.linalg.solve(root, gaps), root).T
    return out


def relative_error(shares: Floats) -> Floats:
    """The standard error of the log of a mean of densities, from their shares (row, draw)."""
    n_draws = shares.shape[1]
    variance = np.maximum((shares**2).sum(axis=1) - 1.0 / n_draws, 0.0)
    return np.asarray(np.sqrt(variance * n_draws / (n_draws - 1)))
