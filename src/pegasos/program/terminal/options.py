"""Options shared by several commands, and the layout of `--help`.

Options are fields of dataclasses. A command with a parameter of such a class receives all options
of the class, which `expanded` turns into parameters for typer.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, get_type_hints

import typer

from pegasos.learners.catalogue import MODELS
from pegasos.metrics import METRICS
from pegasos.program.terminal import console, failures

#: Section of the options that most people need; `--help` lists it first.
COMMON = "Options"
#: Sections of `--help`, in their order.
SECTIONS = (COMMON, "Data", "Model", "Search", "Resources", "Output")

#: Sections of options that differ from those of their classes.
_FREQUENT = ("label", "kernel", "cost", "test_size", "metric", "models", "cv", "max_time", "out")
_MOVED = dict.fromkeys(_FREQUENT, COMMON)
_MOVED |= {"jobs": "Resources", "page": "Output", "force": "Output"}
#: Number of parameters up to which the help of a command has no sections.
_FEW = 10

_KEYWORD = inspect.Parameter.KEYWORD_ONLY

#: Names of options elsewhere, or of earlier versions, and what to type instead.
HINTS = {
    "--cost": "--error-cost COSTS, or --C C for SVC's C",
    "--folds": "--cv K",
    "--degree": "--kernel polynomial:N, or --expand N",
    "--gamma": "--kernel gaussian:gamma=G",
    "--coef0": "--kernel polynomial:N:coef0=C",
    "--variance": "--kernel gaussian:V",
    "--sigma": "--kernel gaussian:V with the variance V",
    "--width": "--kernel gaussian:V with the variance V",
    "--alpha": "--lam λ",
    "--lambda": "--lam λ",
    "--max-iter": "--epochs N",
    "--standardize": "--scale standardize",
    "--normalize": "--scale normalize",
    "--target": "--label COLUMN",
    "--no-intercept": "--intercept no",
    "--balanced": "--class-weight balanced",
    "-C": "--C C",
}


KERNEL_GRAMMAR = """\
linear, gaussian, polynomial, ... (see `pegasos models`), as NAME[:VALUES][:PARAMETER=VALUE].
VALUES are a,b,c or lo:hi:count (logarithmic). gaussian:V has the variance V; gaussian:2s has
twice the data's scale. Separate several kernels by commas, or repeat the option."""


def option(
    metavar: str | None, text: str, *names: str, section: str = COMMON, **limits: Any
) -> Any:
    """Return a typer option; its name is that of the parameter by default."""
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=section, **limits)


def choice(
    metavar: str | None,
    text: str,
    *names: str,
    default: Any = None,
    several: bool = False,
    **limits: Any,
) -> Any:
    """Return the field of a dataclass of options."""
    metadata = {"option": option(metavar, text, *names, **limits)}
    if several:
        return field(default_factory=list, metadata=metadata)
    return field(default=default, metadata=metadata)


def flag(text: str, *names: str, default: bool = False) -> Any:
    """Return the field of a switch; it has no opposite unless the names have one."""
    return choice(None, text, *names, default=default)


def above_zero(value: float | None) -> float | None:
    """Refuse a value of an option that is not a finite number above 0."""
    if value is not None and not 0 < value < math.inf:
        raise typer.BadParameter(f"must be a finite number above 0, got {value:g}.")
    return value


def _size(text: str | None) -> str | None:
    """Refuse a text that is not a size in bytes."""
    from pegasos.engine.runtime.memory import parse_bytes

    try:
        parse_bytes(1 if text is None else text)
    except ValueError:
        raise typer.BadParameter(f"must be a size such as 2GB or 512MiB, got {text!r}.") from None
    return text


Data = Annotated[
    str,
    typer.Argument(metavar="DATA", help="File, folder, quoted pattern, - (stdin), or named set."),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="Model file of train or tune.")]
_MEMORY = (
    "Memory limit such as 2GB; larger tables are read in passes. Default: half of the machine's "
    "memory."
)
Memory = Annotated[str | None, option("SIZE", _MEMORY, section="Resources", callback=_size)]
MODEL_NAMES = ", ".join(MODELS)
_SEED, _LAST_SEED = "Seed of random choices.", 2**32 - 1
Seed = Annotated[int, option("N", _SEED, section="Resources", min=0, max=_LAST_SEED)]
_JOBS = "Number of threads; results do not depend on it."
Jobs = Annotated[int | None, option("N", _JOBS, section="Resources", min=1)]


def _of(setting: str, text: str) -> str:
    """Append the models that have a setting to the help of its option."""
    having = [name for name, (each, _) in MODELS.items() if setting in each.options]
    return f"{text} ({', '.join(having)})."


_CERTIFIED = ", ".join(name for name, (each, _) in MODELS.items() if each.tolerance is not None)


@dataclass(frozen=True)
class ReadingOptions:
    """Options for reading a table."""

    section: ClassVar[str] = "Data"

    label: str | None = choice(
        "NAME|POSITION", "Label column. Default: y, label, target or class, else the last column."
    )
    drop: list[str] = choice("COLUMN", "Exclude a column; repeatable.", several=True)
    group: str | None = choice("COLUMN", "Keep rows of one group together in every split.")
    weight: str | None = choice("COLUMN", "Weight rows by this column (>= 0).")
    text: list[str] = choice(
        "COLUMN", "Read numbers, dates or IDs as categories; repeatable.", several=True
    )
    number: list[str] = choice(
        "COLUMN", "Keep a likely ID or a date column as numbers; repeatable.", several=True
    )
    pool: bool = flag("Ignore the file's own test group: use all rows alike.")
    strict: bool = flag("Refuse missing values, missing labels and text columns.")
    encoding: str | None = choice("NAME", "Encoding of a text file. Default: UTF-8.")
    format: str | None = choice(
        "NAME", "csv, parquet, svmlight, hdf5 or npz. Default: detected from the content."
    )
    fetch: bool = flag("Download the named set usps from OpenML once.")


@dataclass(frozen=True)
class LearningOptions:
    """Options for models and their training; each value may be a grid in `tune`."""

    section: ClassVar[str] = "Model"

    kernel: list[str] = choice("KERNEL", KERNEL_GRAMMAR, several=True)
    cost: str | None = choice("C", "SVC's C; λ = 1/(C m) for m training rows.", "--C")
    lam: str | None = choice("λ", _of("lam", "Regularization λ instead of C"), "--lam")
    n_iter: str | None = choice("T", _of("n_iter", "Number of steps"))
    epochs: str | None = choice("N", f"Passes over the rows; the maximum for {_CERTIFIED}.")
    average: str | None = choice(
        "no|yes|SHARE",
        _of("average", "Use the last vector, the mean of all, or of the last share of steps"),
    )
    batch_size: int | None = choice("K", _of("batch_size", "Rows per step"), min=1)
    learning_rate: float | None = choice(
        "η", _of("learning_rate", "Step size"), callback=above_zero
    )
    sampling: str | None = choice(
        "NAME", _of("sampling", "Draw rows by permutation, fixed-permutation, uniform or in-order")
    )
    intercept: str | None = choice(
        "yes|no|free", "Intercept: regularized, none, or not regularized (sdca, sdca-logistic)."
    )
    multiclass: str | None = choice(
        "NAME", _of("multiclass", "Train one-vs-rest or one-vs-one predictors")
    )
    projection: bool = flag(_of("projection", "Project w to |w| <= 1/sqrt(λ) after each step"))
    tol: float | None = choice(
        "GAP", _of("tol", "Stop at this relative duality gap"), callback=above_zero
    )
    class_weight: str | None = choice(
        "none|balanced|A=1,B=5", "Weight classes; `tune` also compares none,balanced."
    )
    expand: str | None = choice("N", "Add all polynomial terms of the features up to degree N.")
    landmarks: str | None = choice(
        "N", "Approximate the kernel by Nyström features of N rows, for very many rows."
    )
    scale: str = choice(
        "none|normalize|standardize|robust",
        "Scale numeric columns. Default: standardize; normalize (0 to 1) for pixels; none for "
        "sparse data.",
        default="auto",
        show_default=False,
    )
    drop_outliers: float | None = choice(
        "Z", "Exclude training rows that have a feature with |z| >= Z.", callback=above_zero
    )


@dataclass(frozen=True)
class RunningOptions:
    """Options for splits, seeds, limits and the processes that do the work."""

    section: ClassVar[str] = "Resources"

    test_size: float | None = choice(
        "SHARE",
        "Share of test rows. Default: the file's own test group, else 0.2; 0 for none.",
        min=0,
        max=0.99,
    )
    seed: int = choice("N", _SEED, default=0, min=0, max=_LAST_SEED)
    memory: str | None = choice("SIZE", _MEMORY, callback=_size)
    cluster: str | None = choice(
        "ADDRESS", "Run on the workers of a Dask scheduler, such as tcp://host:8786."
    )
    workers: int | None = choice("N", "Run in N processes on this machine (Dask).", min=1, max=1000)

    @property
    def asks_for_cluster(self) -> bool:
        """Whether a cluster or local workers were requested."""
        return self.cluster is not None or self.workers is not None


@dataclass(frozen=True)
class JudgingOptions:
    """Options for the metric that models are chosen and evaluated by."""

    section: ClassVar[str] = "Search"

    metric: str | None = choice(
        "NAME",
        f"{', '.join(METRICS)}, or a scikit-learn scorer. Default: error.",
        "--metric",
        "--scoring",
    )
    positive: str | None = choice(
        "LABEL", "Positive class of f1, roc-auc and average-precision. Default: the rarer class."
    )
    costs: str | None = choice(
        "COSTS",
        "Costs of errors: 'fraud>ok:20,ok>fraud:1' (true>predicted:cost), or a CSV file.",
        "--error-cost",
    )


@dataclass(frozen=True)
class SearchOptions:
    """Options for the search of `tune` and its folder."""

    section: ClassVar[str] = "Search"

    models: list[str] = choice(
        "MODEL",
        f"{MODEL_NAMES}; repeatable. Default: sdca, and sdca-logistic without a kernel.",
        "--model",
        "-m",
        several=True,
    )
    cv: int = choice("K", "Number of folds of cross-validation.", default=5, min=2)
    validation: float | None = choice(
        "SHARE",
        "Compare settings on this share of the training rows instead of in folds.",
        min=0.01,
        max=0.99,
    )
    threshold: str | None = choice(
        "AIM",
        "Choose the threshold of two classes for f1, balanced-error or cost, or for a minimum: "
        "precision=0.9, recall=0.8.",
    )
    refit_all: bool = flag(
        "Refit the choice on all rows after its test error is measured.",
        "--refit-all/--no-refit-all",
        default=True,
    )
    sample: int | None = choice(
        "ROWS", "Rows to search on if the table exceeds --memory. Default: at most 20,000.", min=100
    )
    max_time: float | None = choice(
        "SECONDS", "Time limit; the best model found by then is kept.", callback=above_zero
    )
    jobs: int | None = choice("N", _JOBS, min=1)
    out: str | None = choice(
        "DIR", "Folder of the run. Default: runs/ + DATA's name.", "--out", "-o"
    )
    page: bool = flag("Write the page DIR/report.html.", "--page/--no-page", default=True)
    force: bool = flag("Replace a finished run in the folder.")


@dataclass(frozen=True)
class OutputOptions:
    """Options for the output."""

    section: ClassVar[str] = "Output"

    as_json: bool = flag("Print the result as JSON.", "--json")
    quiet: bool = flag("Print results and errors only.", "--quiet", "-q")
    debug: bool = flag("Show the traceback of an error.")

    def begin(self) -> None:
        """Apply the options to the console and to the messages of the library."""
        console.state.quiet, console.state.as_json = self.quiet, self.as_json
        console.state.debug |= self.debug
        logging.getLogger("pegasos").setLevel(logging.ERROR if self.quiet else logging.NOTSET)


def expanded(command: Callable[..., Any], finish: Callable[[Any], None]) -> Callable[..., None]:
    """Return a command for typer: options are single parameters, those for output are added.

    `finish` is called with the result.
    """
    command.__annotations__.pop("return", None)  # records are heavy to import
    hints = get_type_hints(command, include_extras=True)
    classes = {name: kind for name, kind in hints.items() if dataclasses.is_dataclass(kind)}
    parameters = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in classes:
            parameters += _parameters(classes[name])
        else:
            parameters.append(parameter.replace(kind=_KEYWORD, annotation=hints[name]))
    parameters += _parameters(OutputOptions)

    @functools.wraps(command)
    def run(**values: Any) -> None:
        failures.check_environment()

        def taken(kind: Any) -> Any:
            return kind(**{each.name: values.pop(each.name) for each in dataclasses.fields(kind)})

        taken(OutputOptions).begin()
        given = {name: taken(kind) for name, kind in classes.items()}
        finish(command(**values, **given))

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _parameters(kind: Any) -> list[inspect.Parameter]:
    """Return the fields of a dataclass of options as parameters for typer."""
    found, hints = [], get_type_hints(kind)
    for each in dataclasses.fields(kind):
        info = each.metadata["option"]
        info.rich_help_panel = _MOVED.get(each.name, kind.section)
        if hints[each.name] is bool and info.default is ...:  # typer keeps a first name there
            info.param_decls = (f"--{each.name}",)  # else typer adds --no-NAME
        default = [] if each.default is dataclasses.MISSING else each.default
        annotation: Any = Annotated[hints[each.name], info]
        found.append(inspect.Parameter(each.name, _KEYWORD, default=default, annotation=annotation))
    return found


class Command(typer.core.TyperCommand):
    """Command whose help lists the common options first, and the others by section."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line, with required arguments without braces."""
        return [each.strip("{}") for each in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options; few options need no sections."""
        sections: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Arguments", *SECTIONS)}
        parameters: list[Any] = self.get_params(ctx)
        for each in parameters:
            if each.param_type_name == "argument":
                sections["Arguments"].append((each.metavar, each.help))
            elif record := each.get_help_record(ctx):
                panel = "Output" if each.name == "help" else each.rich_help_panel
                sections[panel if len(parameters) > _FEW else COMMON].append(record)
        width = min(24, max(len(name) for each in sections.values() for name, _ in each))
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(
                        [(f"{name:<{width}}", text) for name, text in records], width
                    )
