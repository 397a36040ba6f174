"""Options that several commands share: a group is a dataclass, and a command that has a parameter of it gets all its options."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, get_type_hints

import typer

from pegasos.learners.catalogue import MODELS
from pegasos.program.terminal import console
from pegasos.program.terminal.grammar import KERNEL_GRAMMAR

Data = Annotated[str, typer.Argument(metavar="DATA", help="A file, - for standard input, or a named set.")]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A file that train or tune wrote.")]
_Many = list[str]
MODEL_NAMES = ", ".join(MODELS)


def _of(setting: str, text: str) -> str:
    """The help of an option, with the models that have its setting behind it."""
    return f"{text} ({', '.join(name for name, (declaration, _) in MODELS.items() if setting in declaration.options)})."


_CERTIFIED = ", ".join(name for name, (declaration, _) in MODELS.items() if declaration.tolerance is not None)


@dataclass(frozen=True)
class ReadingOptions:
    """How a file is read."""

    label: Annotated[
        str | None,
        typer.Option(metavar="NAME|POSITION", help="Label column. Default: y, label, target or class, else the last."),
    ] = None
    drop: Annotated[_Many, typer.Option(metavar="COLUMN", help="Leave a column out; repeatable.")] = field(default_factory=list)
    group: Annotated[str | None, typer.Option(metavar="COLUMN", help="Rows of one group stay together in every split.")] = None
    weight: Annotated[str | None, typer.Option(metavar="COLUMN", help="Weights of rows, >= 0.")] = None
    text: Annotated[_Many, typer.Option(metavar="COLUMN", help="Read a column of numbers as categories; repeatable.")] = field(
        default_factory=list
    )
    strict: Annotated[bool, typer.Option("--strict", help="Refuse missing numbers and text columns.")] = False
    encoding: Annotated[str | None, typer.Option(metavar="NAME", help="Encoding of a text file. Default: UTF-8.")] = None
    format: Annotated[
        str | None, typer.Option(metavar="NAME", help="csv, parquet, svmlight, hdf5 or npz. Default: found by content.")
    ] = None
    fetch: Annotated[bool, typer.Option("--fetch", help="Fetch the set usps from OpenML if it is not here, and keep it.")] = False


@dataclass(frozen=True)
class LearningOptions:
    """What is learned, and how; every value may be a grid in `tune`."""

    kernel: Annotated[_Many, typer.Option(metavar="KERNEL", help=KERNEL_GRAMMAR)] = field(default_factory=list)
    lam: Annotated[str | None, typer.Option("--lam", metavar="λ", help=_of("lam", "Strength of regularization; C = 1/(λ m)"))] = (
        None
    )
    cost: Annotated[str | None, typer.Option("--C", metavar="C", help="SVC's C instead: λ = 1/(C m), m training rows.")] = None
    n_iter: Annotated[str | None, typer.Option(metavar="T", help=_of("n_iter", "Steps"))] = None
    epochs: Annotated[str | None, typer.Option(metavar="N", help=f"Passes over the rows; at most so many with {_CERTIFIED}.")] = (
        None
    )
    average: Annotated[
        str | None,
        typer.Option(metavar="no|yes|SHARE", help=_of("average", "Last vector, mean of all, or of the last share of steps")),
    ] = None
    batch_size: Annotated[int | None, typer.Option(metavar="K", min=1, help=_of("batch_size", "Examples per step"))] = None
    sampling: Annotated[
        str | None, typer.Option(metavar="NAME", help=_of("sampling", "permutation, fixed-permutation or uniform"))
    ] = None
    projection: Annotated[bool, typer.Option("--projection", help=_of("projection", "Keep |w| <= 1/sqrt(λ) after each step"))] = (
        False
    )
    tol: Annotated[float | None, typer.Option(metavar="GAP", help=_of("tol", "Relative duality gap at which learning stops"))] = (
        None
    )
    class_weight: Annotated[str | None, typer.Option(metavar="balanced|A=1,B=5", help="Weights of classes.")] = None
    expand: Annotated[
        str | None, typer.Option(metavar="N", help="Polynomial expansion of the features, all terms up to degree N.")
    ] = None
    scale: Annotated[
        str, typer.Option(metavar="none|normalize|standardize", help="Default: standardize; none for images and sparse rows.")
    ] = "auto"
    drop_outliers: Annotated[
        float | None, typer.Option(metavar="Z", help="Learn without training rows that have a feature with |z| >= Z.")
    ] = None


@dataclass(frozen=True)
class RunningOptions:
    """Splits, chance and limits."""

    test_size: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            min=0,
            max=0.99,
            help="Share of rows set aside. Default: the file's own test group, else 0.2; 0: none.",
        ),
    ] = None
    seed: Annotated[int, typer.Option(metavar="N", min=0, max=2**32 - 1, help="Seed of splits and draws.")] = 0
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Limit such as 2GB for data and for the engine. Default: half of what is free."),
    ] = None


@dataclass(frozen=True)
class OutputOptions:
    """How results are shown."""

    as_json: Annotated[bool, typer.Option("--json", help="Result as JSON on stdout.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No messages, only results and errors.")] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False

    def begin(self) -> None:
        """Let the console know."""
        console.state.quiet = self.quiet
        console.state.debug |= self.debug


GROUPS = (ReadingOptions, LearningOptions, RunningOptions, OutputOptions)


def expanded(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same command with the options of each group as parameters of its own, which is what typer reads."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if kind in GROUPS}
    parameters, annotations = [], {}
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name]))
            annotations[name] = hints[name]
            continue
        kinds = get_type_hints(groups[name], include_extras=True)
        for each in dataclasses.fields(groups[name]):
            default = each.default if each.default is not dataclasses.MISSING else []
            parameters.append(
                inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kinds[each.name])
            )
            annotations[each.name] = kinds[each.name]

    @functools.wraps(command)
    def run(**values: Any) -> Any:
        given = {
            name: kind(**{each.name: values.pop(each.name) for each in dataclasses.fields(kind)}) for name, kind in groups.items()
        }
        for group in given.values():
            if isinstance(group, OutputOptions):
                group.begin()
        return command(**values, **given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = annotations
    return run
