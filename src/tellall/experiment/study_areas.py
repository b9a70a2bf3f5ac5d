"""sweep_blocks and calibrate_blocks: studies of many independent blocks, each alone and all together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tellall.core.errors import NoAnswer, TooLittlePower
from tellall.core.jobs import Progress, Workers
from tellall.experiment.calibrate import calibrate
from tellall.experiment.each_area import Study, blocks_of, each_block
from tellall.experiment.families import Family, as_family
from tellall.experiment.prepared import seed_of, suggest_scales
from tellall.experiment.studied_areas import (
    Lack,
    few_people,
    nothing_found,
    same_secret,
    sweep_of_all,
    worst_block_first,
)
from tellall.experiment.sweep import sweep
from tellall.experiment.sweep_table import Sweep
from tellall.experiment.swept import (
    BlockCalibration,
    BlockSweep,
    CalibratedBlock,
    SweptBlock,
    sweep_from_json,
)
from tellall.people.areas import split
from tellall.people.dataset import Dataset
from tellall.release.protections.law import Rng
from tellall.release.statistics.base import Statistic

__all__ = [
    "calibrate_blocks",
    "sweep_blocks",
]

_NO_ANSWER = "no_answer"  # the piece of a block whose people are too few to tell
_NO_SCALE = "no_scale"  # of one where no scale keeps the limit


def sweep_blocks(
    dataset: Dataset,
    statistic: Statistic,
    protections: Any,
    *,
    by: str,
    scales: Sequence[float] | None = None,
    repeats: int = 10,
    decoders: Sequence[str] | None = None,
    rng: Rng = 0,
    processes: int = 1,
    cluster: str | None = None,
    work: str | Path | None = None,
    progress: Progress | None = None,
) -> BlockSweep:
    """Privacy and utility of each protection in every block, and for all people together.

    Parameters
    ----------
    dataset, statistic, protections, scales, repeats, decoders
        As for `sweep`; a block's own sweep with its seed gives the same rows.
    by
        The public column of which every value is a block; everything is published of each block apart.
    rng
        Seed of everything; a block's own follows from it and the block's name.
    processes, cluster
        How many blocks are measured at once here, or the address of a Dask scheduler; the numbers depend on
        neither.
    work
        A folder where finished blocks are kept, so that a run that was stopped continues there.
    progress
        Called with (blocks done, blocks in all) after each.

    Notes
    -----
    Totals add up over blocks, with intervals; see `total`. A decoder that is too slow for
    a block is replaced there, in the total, by the strongest one that was tried.

    Examples
    --------
    >>> import numpy as np
    >>> from tellall.release.protections.additive import Gaussian
    >>> from tellall.release.statistics.marginals import Marginals
    >>> draw = np.random.default_rng(0)
    >>> frame = {f"a{j}": draw.integers(0, 2, 80) for j in range(7)}
    >>> frame |= {"town": ["x", "y"] * 40, "ill": np.arange(80) // 2 % 2}
    >>> people = Dataset.from_frame(frame, secret="ill")
    >>> found = sweep_blocks(people, Marginals(3), [None], by="town", decoders=["least-squares"])
    >>> [(block.name, block.people) for block in found.blocks], found.whole.people
    ([('x', 40), ('y', 40)], 80)
    """
    blocks = blocks_of(dataset, by)
    seed = seed_of(rng)
    options = {"protections": protections, "scales": scales, "repeats": repeats, "decoders": decoders}
    if scales is None:
        options.pop("scales")
    found = each_block(
        _sweep_block,
        "sweep",
        blocks,
        statistic,
        seed,
        options,
        Workers(processes, cluster),
        work,
        progress,
        parse=_check_sweep,
    )
    swept = [
        SweptBlock(block.name, block.n, block.seed(seed), sweep_from_json(piece), None)
        if isinstance(piece, dict)
        else SweptBlock(block.name, block.n, block.seed(seed), None, piece.reason)
        for block, piece in found
    ]
    if all(block.sweep is None for block in swept):
        raise nothing_found(by, [(block.n, lack) for block, lack in found if isinstance(lack, Lack)])
    return BlockSweep(by, sweep_of_all(swept, seed), worst_block_first(swept))


def calibrate_blocks(
    dataset: Dataset,
    statistic: Statistic,
    family: Any,
    max_advantage: float,
    *,
    by: str,
    draws: int = 50,
    tolerance: float = 0.05,
    evaluations: int = 15,
    start: float | None = None,
    decoders: Sequence[str] | None = None,
    rng: Rng = 0,
    processes: int = 1,
    cluster: str | None = None,
    work: str | Path | None = None,
    progress: Progress | None = None,
) -> BlockCalibration:
    """The least noise of a family for each block, and what one noise for all of them achieves.

    Parameters
    ----------
    dataset, statistic, family, max_advantage, draws, tolerance, evaluations, start, decoders
        As for `calibrate`; a block's own calibration with its seed gives the same answer.
    by, rng, processes, cluster, work, progress
        As for :func:`sweep_blocks`; each block is worked on twice, and counts twice.

    Notes
    -----
    A block of few people cannot tell a small advantage from none, and one where everybody has the same secret
    has none to tell: neither has an answer of its own. The noise for all blocks is the largest that any block
    with an answer needs; it is then measured on every block, those without an answer included, and added up
    over all people. Where their advantage surely exceeds the limit the result is not ``enough``, and says so.
    """
    blocks = blocks_of(dataset, by)
    seed, kind = seed_of(rng), as_family(family)
    options = {
        "family": kind,
        "max_advantage": max_advantage,
        "draws": draws,
        "tolerance": tolerance,
        "evaluations": evaluations,
        "start": start,
        "decoders": decoders,
    }
    workers = Workers(processes, cluster)
    first, second = _halves(progress)
    found = [
        (block, _lack(piece) or piece)
        for block, piece in each_block(
            _calibrate_block,
            "calibrate",
            blocks,
            statistic,
            seed,
            options,
            workers,
            work,
            first,
            parse=_check_calibration,
            lacks=lambda block: few_people(block) or same_secret(block),
        )
    ]
    answers = [
        CalibratedBlock(block.name, block.n, block.seed(seed), piece, None)
        if isinstance(piece, dict)
        else CalibratedBlock(block.name, block.n, block.seed(seed), None, piece.reason)
        for block, piece in found
    ]
    lacks = [(block.n, lack) for block, lack in found if isinstance(lack, Lack)]
    answered = [block.answer for block in answers if block.answer is not None]
    if not answered:
        raise nothing_found(by, lacks)
    most = max(answered, key=lambda answer: answer["scale"])
    together = sweep_blocks(
        dataset,
        statistic,
        [list(kind.at(most["scale"])) or None],
        by=by,
        repeats=draws,
        decoders=decoders,
        rng=seed,
        processes=processes,
        cluster=cluster,
        work=work if work is None else Path(work) / "all",
        progress=second,
    )
    ordered = sorted(
        answers, key=lambda one: (one.answer is None, -(one.answer or {"scale": 0.0})["scale"], one.name)
    )
    return BlockCalibration(
        by,
        kind.name,
        most["scale"],
        str(most["protection"]),
        max_advantage,
        together,
        tuple(ordered),
        tuple(lack for _, lack in lacks),
    )


def suggest_block_scales(dataset: Dataset, statistic: Statistic, by: str) -> list[float]:
    """Seven scales around the noise that begins to hide a person of the largest block."""
    largest = max(split(dataset, by), key=lambda block: block.n)
    return suggest_scales(largest.dataset, statistic)


def _sweep_block(payload: tuple[Dataset, Study]) -> dict[str, Any]:
    """One block's sweep as plain data; what a worker runs."""
    dataset, study = payload
    found: Sweep = sweep(dataset, study.statistic, rng=study.seed, **study.options)
    tallies = [None if tally is None else tally.as_json() for tally in found.tallies]
    return {**found.as_json(), "tallies": tallies}


def _calibrate_block(payload: tuple[Dataset, Study]) -> dict[str, Any]:
    """One block's calibration as plain data; what a worker runs."""
    dataset, study = payload
    options = dict(study.options)
    family: Family = options.pop("family")
    limit: float = options.pop("max_advantage")
    try:
        return calibrate(dataset, study.statistic, family, limit, rng=study.seed, **options).as_json()
    except TooLittlePower as error:
        return {_NO_ANSWER: str(error)}
    except NoAnswer as error:
        return {_NO_SCALE: str(error)}


def _lack(piece: Any) -> Lack | None:
    """Why the piece of a block is no calibration; None where it is one."""
    kinds = {_NO_ANSWER: "people", _NO_SCALE: "limit"}
    said = [key for key in kinds if isinstance(piece, dict) and isinstance(piece.get(key), str)]
    return Lack(kinds[said[0]], piece[said[0]]) if said else None


def _check_sweep(piece: dict[str, Any]) -> dict[str, Any]:
    """The piece, if it is a block's sweep."""
    sweep_from_json(piece)
    return piece


def _check_calibration(piece: dict[str, Any]) -> dict[str, Any]:
    """The piece, if it is a block's calibration."""
    if _lack(piece) is not None:
        return piece
    CalibratedBlock("", 0, 0, piece, None).as_json()
    _ = piece["warnings"]
    return piece


def _halves(progress: Progress | None) -> tuple[Progress | None, Progress | None]:
    """Two passes over the blocks as one piece of work."""
    if progress is None:
        return None, None
    return (
        lambda done, total: progress(done, 2 * total),
        lambda done, total: progress(total + done, 2 * total),
    )
