"""Options shared by several commands, in groups that are dataclasses.

A command with a parameter of such a class receives all options of the group.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, get_type_hints

import typer

from pegasos.learners.catalogue import MODELS
from pegasos.metrics import METRICS
from pegasos.program.terminal import console
from pegasos.program.terminal.grammar import KERNEL_GRAMMAR


def option(metavar: str | None, text: str, *names: str, **limits: Any) -> Any:
    """Return a typer option; its name is that of the parameter by default."""
    return typer.Option(*names, metavar=metavar, help=text, **limits)


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file, a folder or a quoted pattern of files, - for standard input, or a named set.",
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A file that train or tune wrote.")]
Memory = Annotated[
    str | None, option("SIZE", "Limit such as 2GB for the model and a chunk of rows.")
]
DataMemory = Annotated[
    str | None,
    option(
        "SIZE",
        "Limit such as 2GB for the data. Default: half of the machine's memory. Larger: one pass.",
    ),
]
_Many = list[str]
MODEL_NAMES = ", ".join(MODELS)


def _of(setting: str, text: str) -> str:
    """Append the models that have a setting to the help of its option."""
    return f"{text} ({', '.join(name for name, (declaration, _) in MODELS.items() if setting in declaration.options)})."


_CERTIFIED = ", ".join(
    name for name, (declaration, _) in MODELS.items() if declaration.tolerance is not None
)


@dataclass(frozen=True)
class ReadingOptions:
    """Options on reading a file."""

    label: Annotated[
        str | None,
        option("NAME|POSITION", "Label column. Default: y, label, target or class, else the last."),
    ] = None
    drop: Annotated[_Many, option("COLUMN", "Leave a column out; repeatable.")] = field(
        default_factory=list
    )
    group: Annotated[
        str | None, option("COLUMN", "Rows of one group stay together in every split.")
    ] = None
    weight: Annotated[str | None, option("COLUMN", "Weights of rows, >= 0.")] = None
    text: Annotated[
        _Many, option("COLUMN", "Read numbers, dates or IDs as categories; repeatable.")
    ] = field(default_factory=list)
    number: Annotated[
        _Many, option("COLUMN", "Use what looks like an ID or a date as numbers; repeatable.")
    ] = field(default_factory=list)
    strict: Annotated[
        bool, option(None, "Refuse missing numbers or labels, and text columns.", "--strict")
    ] = False
    encoding: Annotated[str | None, option("NAME", "Encoding of a text file. Default: UTF-8.")] = (
        None
    )
    format: Annotated[
        str | None,
        option("NAME", "csv, parquet, svmlight, hdf5 or npz. Default: found by content."),
    ] = None
    fetch: Annotated[
        bool,
        option(None, "Fetch the set usps from OpenML if it is not here, and keep it.", "--fetch"),
    ] = False


@dataclass(frozen=True)
class LearningOptions:
    """Options on models and training; each value may be a grid in `tune`."""

    kernel: Annotated[_Many, option("KERNEL", KERNEL_GRAMMAR)] = field(default_factory=list)
    lam: Annotated[
        str | None, option("λ", _of("lam", "Strength of regularization; C = 1/(λ m)"), "--lam")
    ] = None
    cost: Annotated[
        str | None, option("C", "SVC's C instead: λ = 1/(C m), m training rows.", "--C")
    ] = None
    n_iter: Annotated[str | None, option("T", _of("n_iter", "Steps"))] = None
    epochs: Annotated[
        str | None, option("N", f"Passes over the rows; at most so many with {_CERTIFIED}.")
    ] = None
    average: Annotated[
        str | None,
        option(
            "no|yes|SHARE",
            _of("average", "Last vector, mean of all, or of the last share of steps"),
        ),
    ] = None
    batch_size: Annotated[
        int | None, option("K", _of("batch_size", "Examples per step"), min=1)
    ] = None
    sampling: Annotated[
        str | None, option("NAME", _of("sampling", "permutation, fixed-permutation or uniform"))
    ] = None
    multiclass: Annotated[
        str | None,
        option(
            "NAME",
            _of("multiclass", "one-vs-rest, or one-vs-one: a predictor for each pair of classes"),
        ),
    ] = None
    projection: Annotated[
        bool,
        option(None, _of("projection", "Keep |w| <= 1/sqrt(λ) after each step"), "--projection"),
    ] = False
    tol: Annotated[
        float | None, option("GAP", _of("tol", "Relative duality gap at which learning stops"))
    ] = None
    class_weight: Annotated[
        str | None,
        option("none|balanced|A=1,B=5", "Weights of classes; tune compares none,balanced."),
    ] = None
    expand: Annotated[
        str | None, option("N", "Polynomial expansion of the features, all terms up to degree N.")
    ] = None
    landmarks: Annotated[
        str | None,
        option(
            "N",
            "Nyström features of the kernel from N rows, then a linear predictor: kernels on very many rows.",
        ),
    ] = None
    scale: Annotated[
        str,
        option(
            "none|normalize|standardize|robust",
            "Scale numeric columns. Default: standardize; normalize (to 0..1) for pixels; none if sparse.",
        ),
    ] = "auto"
    drop_outliers: Annotated[
        float | None, option("Z", "Learn without training rows that have a feature with |z| >= Z.")
    ] = None


@dataclass(frozen=True)
class RunningOptions:
    """Options on splits, seeds and limits."""

    test_size: Annotated[
        float | None,
        option(
            "SHARE",
            "Share of rows set aside. Default: the file's own test group, else 0.2; 0: none.",
            min=0,
            max=0.99,
        ),
    ] = None
    seed: Annotated[int, option("N", "Seed of splits and draws.", min=0, max=2**32 - 1)] = 0
    memory: Annotated[
        str | None,
        option(
            "SIZE",
            "Limit such as 2GB for data and engine. Default: half of the machine's memory. Larger: passes (see above).",
        ),
    ] = None


@dataclass(frozen=True)
class ClusterOptions:
    """Options on where the work is done, if not in this process."""

    cluster: Annotated[
        str | None,
        option(
            "ADDRESS",
            "A running Dask scheduler, such as tcp://host:8786, whose workers do the work.",
        ),
    ] = None
    workers: Annotated[
        int | None, option("N", "Do the work in N processes of this machine (Dask).", min=1)
    ] = None

    @property
    def asked(self) -> bool:
        """Whether a cluster or local workers were requested."""
        return self.cluster is not None or self.workers is not None


#: Work in this process.
HERE = ClusterOptions()


@dataclass(frozen=True)
class JudgingOptions:
    """Options on the metric that models are chosen and evaluated by."""

    metric: Annotated[
        str | None,
        option(
            "NAME",
            f"{', '.join(METRICS)}, or a scorer of scikit-learn. Default: error.",
            "--metric",
            "--scoring",
        ),
    ] = None
    positive: Annotated[
        str | None,
        option(
            "LABEL",
            "The class that f1, roc-auc and average-precision look at. Default: the rarer one.",
        ),
    ] = None
    costs: Annotated[
        str | None,
        option(
            "COSTS",
            "For the metric cost: 'fraud>ok:20,ok>fraud:1' (true>answered:cost), or a CSV file of these.",
            "--cost",
        ),
    ] = None


@dataclass(frozen=True)
class OutputOptions:
    """Options on the output."""

    as_json: Annotated[bool, option(None, "Result as JSON on stdout.", "--json")] = False
    quiet: Annotated[
        bool, option(None, "No messages, only results and errors.", "--quiet", "-q")
    ] = False
    debug: Annotated[bool, option(None, "Show the traceback of an error.", "--debug")] = False

    def begin(self) -> None:
        """Apply the options to the console."""
        console.state.quiet = self.quiet
        console.state.debug |= self.debug


GROUPS = (
    ReadingOptions,
    LearningOptions,
    RunningOptions,
    ClusterOptions,
    JudgingOptions,
    OutputOptions,
)


def expanded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command with the options of each group as its own parameters, for typer."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if kind in GROUPS}
    parameters, annotations = [], {}
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in groups:
            parameters.append(
                parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
            )
            annotations[name] = hints[name]
            continue
        kinds = get_type_hints(groups[name], include_extras=True)
        for each in dataclasses.fields(groups[name]):
            default = each.default if each.default is not dataclasses.MISSING else []
            kind = annotations[each.name] = kinds[each.name]
            parameters.append(
                inspect.Parameter(
                    each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
                )
            )

    @functools.wraps(command)
    def run(**values: Any) -> Any:
        given = {
            name: kind(**{each.name: values.pop(each.name) for each in dataclasses.fields(kind)})
            for name, kind in groups.items()
        }
        for group in given.values():
            if isinstance(group, OutputOptions):
                group.begin()
        return command(**values, **given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = annotations
    return run
