"""private-ols: its formulas compared with exact ones, integrals and simulation, on small data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.special import erf, erfi

import tellall as ta
from tellall.papers.claims import Array, NamedCase

__all__ = [
    "LEMMAS",
]

Rng = np.random.Generator


def _small(rng: Rng, n: int = 12, width: int = 3) -> tuple[Array, Array]:
    return rng.normal(size=(n, width)), rng.normal(size=n)


def _apart(left: Any, right: Any) -> float:
    a, b = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    return float(np.abs(a - b).max() / max(1.0, float(np.abs(b).max())))


def _log_density(points: Array, mean: Array, covariance: Array) -> Array:
    """The log-density of the normal law at each point."""
    root = np.linalg.cholesky(covariance)
    off = np.linalg.solve(root, (points - mean).T)
    scale = np.log(np.diag(root)).sum() + 0.5 * mean.size * np.log(2 * np.pi)
    return np.asarray(-0.5 * (off**2).sum(axis=0) - scale)


def _fitted(b: Array, y: Array) -> tuple[Array, Array, Array]:
    """x, w and M = BᵀB."""
    gram = b.T @ b
    x = np.linalg.solve(gram, b.T @ y)
    return x, y - b @ x, gram


def _algebra(rng: Rng) -> Iterator[NamedCase]:
    b, y = _small(rng)
    n, width = b.shape
    x, w, gram = _fitted(b, y)
    inverse = np.linalg.inv(gram)
    leverage = np.einsum("ij,jk,ik->i", b, inverse, b)
    off = noise = pair = printed = 0.0
    rows, total = 40, float(w @ w)
    root = np.linalg.cholesky(inverse)  # any root of (BᵀB)⁻¹ serves where a symmetric one is printed
    for i in range(n):
        v, p = b[i], leverage[i]
        fewer, without = np.delete(b, i, axis=0), np.delete(y, i)
        x1, w1, gram1 = _fitted(fewer, without)
        off = max(off, _apart(fewer.T @ without, b.T @ y - y[i] * v))
        off = max(off, _apart(x1, x - w[i] * inverse @ v / (1 - p)))
        off = max(off, _apart(w1 @ w1, total - w[i] ** 2 / (1 - p)))
        covariances = total * inverse / rows, float(w1 @ w1) * np.linalg.inv(gram1) / rows
        ratio = math.sqrt(np.linalg.det(covariances[1]) / np.linalg.det(covariances[0]))
        shrunk = 1 - w[i] ** 2 / ((1 - p) * total)
        off = max(off, _apart(ratio, math.sqrt(shrunk**width / (1 - p))))
        off = max(off, float(np.linalg.matrix_rank(covariances[1]) != width))
        far = float(np.linalg.norm(x1 - x))
        c = abs(w[i]) * float(np.linalg.norm(inverse @ v)) / (1 - p) / 0.5
        noise = max(noise, _apart(_erf_form(0.4, c), ta.privacy.gaussian_delta(0.4, far, 0.5)))
        direct = ta.privacy.normal_delta(0.3, x, covariances[0], x1, covariances[1])
        share = w[i] ** 2 / total
        closed = ta.privacy.sketch_delta(0.3, p, share, width, rows, "asymptotic")
        pair = max(pair, _apart(closed, direct))
        # Lemma 8: UAUᵀ, Ub and c of both directions, in the frame of the roots that are used here
        for first, second, sign in ((0, 1, 1), (1, 0, -1)):
            means, laws = (x, x1), covariances
            a, g = np.linalg.inv(laws[second]), np.linalg.cholesky(laws[first])
            square, arm2 = np.eye(width) - g.T @ a @ g, -g.T @ a @ (means[first] - means[second])
            move = means[first] - means[second]
            offset = sign * -math.log(ratio) - 0.5 * float(move @ a @ move)
            if sign == 1:
                scale = (1 - p) * total / ((1 - p) * total - w[i] ** 2)
                lemma = np.eye(width) - scale * root.T @ (gram - np.outer(v, v)) @ root
                arm = math.sqrt(rows) * w[i] * math.sqrt(total) / ((1 - p) * total - w[i] ** 2)
                arm8 = -arm * root.T @ (gram - np.outer(v, v)) @ inverse @ v
                offset8 = -math.log(ratio) - 0.5 * rows * p * w[i] ** 2 / ((1 - p) * total - w[i] ** 2)
            else:
                smaller = np.linalg.cholesky(np.linalg.inv(gram1))
                lemma = np.eye(width) - shrunk * smaller.T @ gram @ smaller
                arm = math.sqrt(rows) * w[i] * math.sqrt(total - w[i] ** 2 / (1 - p)) / (total * (1 - p))
                arm8 = arm * smaller.T @ v
                offset8 = math.log(ratio) - 0.5 * rows * w[i] ** 2 * p / (total * (1 - p) ** 2)
            printed = max(printed, _apart(lemma, square), _apart(arm8, arm2), _apart(offset8, offset))
    words = {"n": n, "d": width}
    yield "without a row", {"value": off, **words}
    yield "gaussian", {"value": noise, **words}
    yield "sketch profile", {"value": pair, **words}
    yield "from leverage", {"value": printed, **words}
    q = 2 * np.outer(w, w) + total * np.eye(n)
    off = max(_apart(b.T @ q @ b, total * gram), _apart(b.T @ w, 0.0))
    yield "covariance", {"value": off, **words}
    off, tried = 0.0, 50
    for _ in range(tried):
        v, c = rng.normal(size=width), float(rng.normal() * 10)
        more = _fitted(np.vstack([b, v]), np.append(y, c))[0]
        printed_move = (c * inverse @ v - inverse @ v * float(v @ x)) / (1 + v @ inverse @ v)
        off = max(off, _apart(more - x, printed_move))
    yield "with a row", {"value": off, "tried": tried}


def _erf_form(epsilon: float, c: float, root: Callable[[float], Any] = erf) -> float:
    """Propositions 1 and 2."""
    first, second = (-epsilon / (math.sqrt(2) * c) + sign * c / math.sqrt(8) for sign in (1, -1))
    return (1 - math.exp(epsilon)) / 2 + float(root(first) - math.exp(epsilon) * root(second)) / 2


def _laws(rng: Rng) -> Iterator[NamedCase]:
    b, y = _small(rng)
    n, width = b.shape
    x, w, gram = _fitted(b, y)
    draws, rows = 4000, 60
    found = np.empty((draws, width))
    sketched = np.empty(draws)
    for k in range(draws):
        sketch = rng.normal(size=(rows, n))
        found[k] = np.linalg.lstsq(sketch @ b, sketch @ y, rcond=None)[0]
        sketched[k] = sketch[0] @ w
    law = float(w @ w) * np.linalg.inv(gram) / rows
    exact = rows / (rows - width - 1)
    spread = np.sqrt(np.diag(law) * exact / draws)
    far = float((np.abs(found.mean(axis=0) - x) / spread).max())
    ratio = float(np.trace(np.cov(found.T)) / np.trace(law))
    far = max(far, abs(ratio / exact - 1) / math.sqrt(2 / draws))
    words = {"draws": draws, "rows": rows, "n": n}
    yield "sketch mean", {"value": far, "ratio": ratio, "exact": exact, **words}
    off = abs(float(sketched.var()) / float(w @ w) - 1) / math.sqrt(2 / draws)
    identity = float(np.abs(sketch @ y - sketch @ (b @ x) - sketch @ w).max())
    yield "residuals", {"value": off, "draws": draws, "identity": identity}
    moments = [quad(_moment, -9, 9, args=(k,))[0] for k in (2, 4)]
    yield "moments", {"value": max(abs(moments[0] - 0.49), abs(moments[1] - 3 * 0.49**2))}
    tried, draws, far, exponent = 0, 200_000, 0.0, 0.0
    for size in (1, 2, 3):
        z = rng.normal(size=(draws, size))
        for _ in range(2):
            tried += 1
            one, two = (np.cov(rng.normal(size=(size, 20))).reshape(size, size) for _ in range(2))
            move = rng.normal(0, 0.5, size)
            values, vectors = np.linalg.eigh(one)
            half = vectors @ np.diag(np.sqrt(values)) @ vectors.T
            a, inner = np.linalg.eigh(np.eye(size) - half @ np.linalg.inv(two) @ half)
            arm = -inner.T @ half @ np.linalg.inv(two) @ move
            determinants = math.log(np.linalg.det(one) / np.linalg.det(two)) / 2
            offset = 0.2 + determinants - 0.5 * float(move @ np.linalg.inv(two) @ move)
            inside = 0.5 * z**2 @ a + z @ arm + offset
            drawn = move + z[:100] @ (half @ inner).T  # X at these Z
            by_density = 0.2 + _log_density(drawn, 0.0 * move, two) - _log_density(drawn, move, one)
            exponent = max(exponent, _apart(inside[:100], by_density))
            loss = np.maximum(0, 1 - np.exp(np.minimum(700, inside)))
            closed = float(ta.privacy.normal_delta(0.2, move, one, np.zeros(size), two, direction="forward"))
            far = max(far, abs(loss.mean() - closed) / (loss.std() / math.sqrt(draws) + 1e-12))
    yield "normal pair", {"value": float(far), "tried": tried, "draws": draws}
    yield "exponent", {"value": exponent}
    offset = 0.1 + math.log(2) / 2
    right, printed = (_integral(_square(half, offset)) for half in (-0.5, 0.5))
    closed = float(ta.privacy.normal_delta(0.1, 0.0, 2.0, 0.0, 1.0, direction="forward"))
    fine = abs(closed - right) < 1e-8 < abs(closed - printed)
    yield "eigen", {"value": closed, "exact": right, "copied": printed, "mended": fine}


def _moment(t: float, power: int) -> float:
    """The integrand of a moment: t^power times the density of N(0, 0.49)."""
    return float(t**power * math.exp(-(t**2) / 0.98) / math.sqrt(0.98 * math.pi))


def _square(factor: float, offset: float) -> Callable[[float], float]:
    return lambda t: factor * t * t + offset


def _line(slope: float, offset: float) -> Callable[[float], float]:
    return lambda t: slope * t + offset


def _integral(loss: Callable[[float], float]) -> float:
    """E max(0, 1 − exp(loss(X))) for X standard normal."""

    def inside(t: float) -> float:
        here = loss(t)
        return max(0.0, -math.expm1(min(here, 0.0))) * math.exp(-t * t / 2) / math.sqrt(2 * math.pi)

    points = np.linspace(-9, 9, 37)
    return float(sum(quad(inside, low, high, epsabs=1e-12)[0] for low, high in pairwise(points)))


def _printed_11(b: float, c: float, root: Callable[[float], Any] = erf) -> float:
    first, second = -c / (b * math.sqrt(2)), -c / (b * math.sqrt(2)) - b / math.sqrt(2)
    return 0.5 + float(root(first)) / 2 - math.exp(c + b * b / 2) * (0.5 + float(root(second)) / 2)


def _printed_12(a: float, c: float) -> float:
    front = math.exp(c) / math.sqrt(2 * a * a + 1)
    first, second = math.sqrt(c * (2 * a * a + 1) / 2) / a, math.sqrt(c / 2) / a
    return 1 - front + front * float(erf(first)) - float(erf(second))


def _printed_13(a: float, c: float, root: Callable[[float], Any] = erf) -> float:
    second = math.exp(c) / math.sqrt(2 * a * a - 1) * float(erfi(math.sqrt((0.5 - a * a) * c) / a))
    return float(root(math.sqrt(-c / 2) / a)) - second


def _printed_14(a: float, c: float, root: Callable[[float], Any] = erf) -> float:
    second = math.exp(c) / math.sqrt(1 - 2 * a * a) * float(root(math.sqrt((2 * a * a - 1) * c / 2) / a))
    return float(root(math.sqrt(-c / 2) / a)) - second


def _expectations(rng: Rng) -> Iterator[NamedCase]:
    forms: tuple[tuple[int, str, Callable[[float, float], float], float, Any], ...] = (
        (12, "c ≥ 0", _printed_12, -1.0, [(0.4, 0.2), (1.0, 0.1), (2.0, 1.5)]),
        (13, "c < 0, ‖a‖² > 1/2", _printed_13, 1.0, [(0.9, -0.3), (1.5, -1.0)]),
        (14, "c < 0, ‖a‖² < 1/2", _printed_14, 1.0, [(0.3, -0.1), (0.6, -0.5)]),
    )
    for number, name, printed, sign, pairs in forms:
        off = max(abs(printed(a, c) - _integral(_square(sign * a * a, c))) for a, c in pairs)
        yield f"expectation {number}", {"value": off, "name": name, "tried": len(pairs)}
    for number, right, literal, exact, name in (
        (
            11,
            _printed_11(0.7, 0.3),
            _printed_11(0.7, 0.3, math.exp),
            _integral(_line(0.7, 0.3)),
            "‖b‖ = 0.7, c = 0.3",
        ),
        (
            13,
            _printed_13(0.9, -0.3),
            _printed_13(0.9, -0.3, math.exp),
            _integral(_square(0.81, -0.3)),
            "‖a‖ = 0.9, c = −0.3",
        ),
        (
            14,
            _printed_14(0.3, -0.1),
            _printed_14(0.3, -0.1, math.exp),
            _integral(_square(0.09, -0.1)),
            "‖a‖ = 0.3, c = −0.1",
        ),
    ):
        fine = abs(right - exact) < 1e-7 and abs(literal - exact) > 0.05
        yield f"expectation {number}, exp", {"value": right, "bound": literal, "mended": fine, "name": name}
    a, c = 0.4, -0.2
    closed, exact = 1 - math.exp(c) / math.sqrt(1 + 2 * a * a), _integral(_square(-a * a, c))
    numbers = {"value": closed, "bound": exact, "root": c / 2, "mended": abs(closed - exact) < 1e-7}
    yield "expectation, c below 0", numbers
    c = 1 / math.sqrt(2 * math.log(1.25 / 1e-5))
    literal, right = _erf_form(1.0, c, math.exp), _erf_form(1.0, c)
    exact = float(ta.privacy.gaussian_delta(1.0, c, 1.0))
    fine = abs(right - exact) < 1e-12 and literal < 0
    yield "classical", {"value": exact, "bound": literal, "mended": fine}


def _lemma_11(p: float, r: int, epsilon: float) -> float:
    """The closed form D → D′ as printed."""
    c = epsilon - r / 2 * math.log(1 - p)
    front = math.exp(c) * math.sqrt((1 - p) / (r * p + 1 - p))
    one = front * float(erf(math.sqrt(c * (r * p + 1 - p) / (r * p))))
    return 0.5 - front + one - float(erf(math.sqrt(c * (1 - p) / (r * p)))) / 2


def _projections(rng: Rng) -> Iterator[NamedCase]:
    b, y = _small(rng, 8, 2)
    joint = np.column_stack([b, y])
    off, width = 0.0, joint.shape[1]
    for i in range(len(joint)):
        fewer = np.delete(joint, i, axis=0)
        p = float(joint[i] @ np.linalg.inv(joint.T @ joint) @ joint[i])
        for r in (1, 3):
            blocks = (np.kron(np.eye(r), one.T @ one) for one in (joint, fewer))
            zero = np.zeros(r * width)
            one, two = blocks
            direct = ta.privacy.normal_delta(0.3, zero, one, zero, two)
            off = max(off, _apart(ta.privacy.projection_delta(0.3, p, r), direct))
    yield "combination", {"value": off, "n": len(joint), "d": width}
    off, tried, wrong = 0.0, 0, 0
    for p in (0.05, 0.3, 0.5, 0.9):
        for epsilon in (0.01, 0.1, 0.3, 1.0):
            tried += 1
            c = epsilon - math.log(1 - p) / 2
            both = (math.sqrt(c / p), math.sqrt(c * (1 - p) / p))
            forward = 1 - math.exp(epsilon) + math.exp(epsilon) * float(erf(both[0])) - float(erf(both[1]))
            off = max(
                off, abs(forward - float(ta.privacy.projection_delta(epsilon, p, 1, direction="forward")))
            )
            back = -epsilon - math.log(1 - p) / 2
            reverse = 0.0
            if back > 0:
                ends = (math.sqrt(back / p), math.sqrt(back * (1 - p) / p))
                reverse = float(erf(ends[0])) - math.exp(epsilon) * float(erf(ends[1]))
            exact = float(ta.privacy.projection_delta(epsilon, p, 1, direction="backward"))
            off = max(off, abs(reverse - exact))
            wrong += int(reverse > forward)
    yield "one combination", {"value": off, "tried": tried}
    forward, backward = (
        float(ta.privacy.projection_delta(0.312, 0.5, 1, direction=way)) for way in ("forward", "backward")
    )
    fine = backward < forward and -math.log(0.5) / 2 > 0.312 and not wrong
    yield "direction", {"value": forward, "bound": backward, "mended": fine}
    draws = 400_000
    for p, r, epsilon in ((0.1, 5, 0.5), (0.5, 50, 1.0), (0.1, 50, 0.1)):
        exact, printed = float(ta.privacy.projection_delta(epsilon, p, r)), _lemma_11(p, r, epsilon)
        loss = r / 2 * math.log(1 - p) + p / (2 * (1 - p)) * rng.chisquare(r, draws)
        gain = np.maximum(0, -np.expm1(np.minimum(0, epsilon - loss)))
        seen, error = float(gain.mean()), float(gain.std() / math.sqrt(draws))
        fine = abs(seen - exact) < 5 * error and abs(seen - printed) > 20 * error
        words = {"p": p, "r": r, "epsilon": epsilon, "draws": draws, "seen": seen, "error": error}
        yield "projection form", {"value": exact, "bound": printed, "mended": fine, **words}
    least = ta.privacy.padding(1.0, 1e-5, 50) ** 2
    root = ta.privacy.padding(1.0, 1e-5, 50, c2="sqrt") ** 2
    printed = ta.privacy.padding(1.0, 1e-5, 50, c2="printed") ** 2
    yield "padding", {"value": least, "root": root, "copied": printed, "mended": least < root < printed}


def _impossible(rng: Rng) -> Iterator[NamedCase]:
    """Section 4."""
    far = np.geomspace(1, 1e6, 7)
    least = ta.privacy.least_error(1.0, 1e-5, far)
    errors = np.array([ta.privacy.gaussian_std(1.0, 1e-5, sensitivity=one) ** 2 for one in far])
    yield "impossible", {"value": float((errors / least).min()), "bound": float(least[-1])}
    ratio, tried = math.inf, 0
    for _ in range(5):
        b, y = _small(rng)
        x = _fitted(b, y)[0]
        for shift in (1.0, 1e3, 1e6):
            tried += 1
            ratio = min(ratio, ta.privacy.unbounded_neighbour(b, y, shift).moved / shift)
    yield "moved", {"value": ratio, "tried": tried}
    answers = np.zeros(1000)  # of the mechanism that always answers 0, on data whose fit is x
    away = np.abs(answers - float(x[0]) * 1e6)
    spread, squared = float(np.var(away - away[0])), float(np.mean(away**2))
    yield "constant answer", {"value": spread, "bound": squared, "mended": spread == 0 < squared}
    b, y = _small(rng, 12)
    x = _fitted(b, y)[0]
    moves = [
        float(np.abs(_fitted(np.delete(b, i, axis=0), np.delete(y, i))[0] - x).max()) for i in range(len(y))
    ]
    yield "zero row", {"value": max(moves), "n": len(y), "mended": max(moves) < 100}
    largest, tried = 0.0, 100
    for _ in range(tried):
        points, weights = rng.normal(size=6), rng.dirichlet(np.full(6, 0.4))
        root = math.sqrt(float(weights @ points**2))
        for k in (0.5, 1.0, 2.0, 5.0):
            beyond = float(weights[np.abs(points) >= (k + 1) * root].sum())
            largest = max(largest, beyond * k * k)
    yield "concentrates", {"value": largest, "tried": tried}


LEMMAS = (_algebra, _laws, _expectations, _projections, _impossible)
