"""One page that shows what the numbers of a sweep, a study or a model mean.

pegasos.report(sweep).save("report.html")
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pegasos.program.pages.page import Page

__all__ = ["gather_model", "gather_study", "gather_sweep", "join_studies", "report", "save_gathered", "write_report"]


def report(thing: Any, X: Any = None, y: Any = None, **facts: Any) -> Page:
    """A page about a fitted SweepCV, a fitted learner or pipeline, a folder of a run, or a model file.

    X, y: the rows that a sweep was fitted to, or rows on which a model is looked at: with them the page has confusions,
    mistakes, a map and statistics of features. `facts` are put into the page's text: name (of the data), source (a file or a
    named set, for command lines), columns (names of features), image (height, width), seconds, command.
    """
    from pegasos.program.pages.page import make_page
    from pegasos.program.pages.recording import gather_model, gather_sweep
    from pegasos.program.pages.run_folders import read_run
    from pegasos.program.tables.dataset import BadData

    if isinstance(thing, str | Path):
        found = read_run(thing, X, y, **facts)
        try:
            return make_page(found)
        except (KeyError, IndexError, TypeError, AttributeError, StopIteration) as error:
            raise BadData(
                f"{thing}: its results are damaged or of another version ({type(error).__name__}: {error}). Run the command that "
                f"wrote them again."
            ) from error
    if hasattr(thing, "cv_results_"):
        return make_page(gather_sweep(thing, _dataset(X, y, facts), **facts))
    return make_page(gather_model(thing, _dataset(X, y, facts), **facts))


def gather_sweep(search: Any, dataset: Any, **facts: Any) -> dict[str, Any]:
    """Everything that a page shows of a fitted SweepCV; see `gathering.gather_sweep`."""
    from pegasos.program.pages.recording import gather_sweep as gather

    return gather(search, dataset, **facts)


def gather_study(search: Any, dataset: Any, experiment: str, **facts: Any) -> dict[str, Any]:
    """What a page shows of one experiment of a study beside results.json; see `gathering.gather_study`."""
    from pegasos.program.pages.recording import gather_study as gather

    return gather(search, dataset, experiment, **facts)


def join_studies(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """What `gather_study` gathered of several experiments on the same rows, as one; see `gathering.join_studies`."""
    from pegasos.program.pages.recording import join_studies as join

    return join(parts)


def gather_model(estimator: Any, dataset: Any, **facts: Any) -> dict[str, Any]:
    """Everything that a page shows of one fitted learner or pipeline; see `gathering.gather_model`."""
    from pegasos.program.pages.recording import gather_model as gather

    return gather(estimator, dataset, **facts)


def save_gathered(folder: str | Path, gathered: dict[str, Any]) -> Path:
    """Put what was gathered into a run folder, as report.json."""
    from pegasos.program.pages.run_folders import save_gathered as save

    return save(folder, gathered)


def write_report(folder: str | Path, figures: bool = False) -> Path:
    """Write report.html into a run folder that tune or study has filled; answers its path."""
    return report(folder).write(folder, figures=figures)


def _dataset(X: Any, y: Any, facts: dict[str, Any]) -> Any:
    """Rows that came as arrays, as a reader would give them; takes the facts that belong to them."""
    import numpy as np

    from pegasos.program.tables.dataset import Column, Dataset

    name, image = facts.pop("name", "the data"), facts.pop("image", None)
    columns = facts.pop("columns", None)
    if X is None or isinstance(X, Dataset):
        return X
    if columns is None and hasattr(X, "columns"):
        columns = list(X.columns)
    if not hasattr(X, "tocsr"):
        X = np.asarray(X)
    labels = None if y is None else np.asarray(y)
    return Dataset(str(name), X, [Column(str(each)) for each in columns or []], labels, image=image)
