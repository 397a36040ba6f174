"""Values in words, as axes, tables and sentences of a page have them. Text is made here and never read back."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from pegasos.engine.kernels.base import DistanceKernel, Kernel
from pegasos.engine.kernels.standard import KERNELS
from pegasos.engine.walk.losses import PROBABILISTIC
from pegasos.learners.catalogue import MODELS
from pegasos.metrics import METRICS, PROBABILITIES, Measure, measure_of
from pegasos.program.records.decisions import CalibrationRecord
from pegasos.program.records.pages import DataRecord
from pegasos.program.records.runs import CellRecord, Decision, ErrorCount, WholeRecord, is_sampled
from pegasos.program.tables.description import UNBALANCED
from pegasos.search.decisions import Threshold
from pegasos.search.estimates import Estimate, Figure
from pegasos.search.settings import Opaque, Part, Setting, Table

_TITLES = {"lam": "λ", "n_iter": "steps (T)", "expand": "degree of expansion", "param": "parameter"}
#: What stands for a value that a cell does not have.
NONE = "–"
#: Spaces at which no line may end.
_JOINED = re.compile(r" (?=[=×%])|(?<=[=×±]) |(?<=\(C) ")


def title_of(name: str) -> str:
    """What an axis is called."""
    return _TITLES.get(name, name)


def named_values(
    settings: list[Setting], mentioned: list[list[str]] | None = None
) -> list[dict[str, Any]]:
    """What people name of each setting: model, kernel, λ, the stop, and whatever else differs between cells of one model.

    Instead of these the names that a grid mentions, where they are known.
    """
    found = [setting.named() for setting in settings]
    limits = {setting.stop for setting in settings if _is_limit(setting)}
    every = {name for each in found for name in each}
    seen = {(name, setting.model, setting.get(name)) for setting in settings for name in every}
    varying = {
        name
        for (name, _), values in Counter((name, model) for name, model, _ in seen).items()
        if values > 1
    }
    answer = []
    for at, setting in enumerate(settings):
        stop = setting.stop
        names = {"model", "kernel", "lam", *varying}
        if stop is not None and not (
            _is_limit(setting) and len(limits) == 1
        ):  # one limit for all of them says little
            names.add(stop.name)
        if mentioned is not None:
            names = {
                stop.name if stop is not None and name == stop.parameter else name
                for name in mentioned[at]
            }
        order = [*(name for name in found[at] if name in names), *sorted(names - set(found[at]))]
        answer.append({name: _plain(setting.get(name)) for name in order})
    return answer


def _is_limit(setting: Setting) -> bool:
    """Whether the learner ends by its certificate, and the stop is only how long it may take."""
    return setting.stop is not None and setting.declaration.tolerance is not None


def _plain(value: Any) -> Any:
    """An expansion counts by its degree."""
    return (
        value.get("degree", 2)
        if isinstance(value, Part) and value.name == "PolynomialFeatures"
        else value
    )


def is_number(value: Any) -> bool:
    """Whether a value has a place on a scale."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def value_text(value: Any, digits: int = 3) -> str:
    """A value as it stands on an axis."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number_text(value, digits)
    if isinstance(value, Kernel):
        return kernel_text(value)
    if isinstance(value, Part):
        return " ".join(
            [value.name, *(f"{name}={value_text(each)}" for name, each in value.params)]
        )
    if isinstance(value, Table):
        return ", ".join(f"{value_text(name)}: {value_text(each)}" for name, each in value.pairs)
    if isinstance(value, tuple):
        return ", ".join(map(value_text, value))
    return value.text if isinstance(value, Opaque) else str(value)


def number_text(value: float, digits: int = 3) -> str:
    """1e-5 instead of 1e-05, and 1e-4 instead of 0.0001: exponents are read faster than zeros.

    >>> [number_text(value) for value in (1e-5, 0.0001, 2.5e-7, 0.001, 10.0, 0.0, 1e6)]
    ['1e-5', '1e-4', '2.5e-7', '0.001', '10', '0', '1e6']
    """
    text = f"{value:.{digits - 1}e}" if 0 < abs(value) < 0.001 else f"{value:.{digits}g}"
    mantissa, mark, power = text.partition("e")
    return f"{float(mantissa):.{digits}g}e{int(power)}" if mark else text


def kernel_text(kernel: Any) -> str:
    """A kernel by its name, its first parameter, and others that are not as usual.

    >>> from pegasos.kernels import Gaussian, Polynomial
    >>> [
    ...     kernel_text(kernel)
    ...     for kernel in (None, Gaussian(2.0), Polynomial(3), Polynomial(2, coef0=5.0))
    ... ]
    ['linear', 'gaussian, variance 2', 'polynomial, degree 3', 'polynomial, degree 2, coef0 5']
    >>> kernel_text(Gaussian("0.5 scale"))
    'gaussian, 0.5 × usual variance'
    """
    if kernel is None:
        return "linear"
    if not isinstance(kernel, Kernel):
        return value_text(kernel)
    if KERNELS.get(kernel.name) is not type(kernel):
        return repr(kernel)
    params, usual = kernel.get_params(), type(kernel)().get_params()
    if kernel.main is None:
        return f"{kernel.name} kernel"
    main = params.pop(kernel.main)
    first = f"{kernel.main} {value_text(main, 6)}"
    if isinstance(kernel, DistanceKernel) and kernel.factor is not None:
        first = f"{kernel.factor:g} × usual {kernel.main}"
    rest = [
        f"{name} {value_text(value, 6)}" for name, value in params.items() if value != usual[name]
    ]
    return ", ".join([kernel.name, first, *rest])


def order_of(value: Any) -> tuple[int, str, list[float], str]:
    """Where a kernel stands among others: linear first, then by name, then by numbers; what is no kernel of ours comes last."""
    if not isinstance(value, Kernel):
        return (0 if value == "linear" else 2), "", [], value_text(value)
    factor = (
        [value.factor] if isinstance(value, DistanceKernel) and value.factor is not None else []
    )
    numbers = [number for number in (*factor, *value.get_params().values()) if is_number(number)]
    return 1, value.name, numbers, kernel_text(value)


def cost_text(cost: float | None) -> str:
    """The C that stands beside a λ, where it is known."""
    return "" if cost is None else f" (C {number_text(cost)})"


def setting_text(values: dict[str, Any], cost: float | None = None) -> str:
    """A cell in one line, words before numbers."""
    parts = []
    for name, value in sorted(values.items(), key=lambda each: is_number(each[1])):
        if value is not None:
            text = value_text(value) + (cost_text(cost) if name == "lam" else "")
            parts.append(
                text if name in ("model", "kernel") else f"{title_of(name).split(' ')[0]} = {text}"
            )
    return unbroken(", ".join(parts))


def unbroken(text: str) -> str:
    """No line ends within λ = 1e-8 (C 7), ± 2 %, or 0.5 × usual.

    >>> unbroken("λ = 1e-8 (C 7): 3 %")
    'λ\\xa0=\\xa01e-8 (C\\xa07): 3\\xa0%'
    """
    return _JOINED.sub("\u00a0", text)


def decision_words(
    decision: Decision, folds: int, training_rows: int, cells: list[CellRecord]
) -> list[str]:
    """Return what a reader must know of a choice: the stages of the search, the time limit, the rows of the kept model."""
    lines, late = [], "Time was up"
    if decision.max_time is not None:
        late += f" ({decision.max_time:g} s)"
    if is_sampled(cells):
        sampled = sum(cell.first is not None for cell in cells)
        lines.append(
            f"Stage 1 compared {sampled} settings on a stratified sample of {decision.first_rows:,} rows."
        )
    second, steps = (sum(cell.stage == stage for cell in cells) for stage in (2, 3))
    if second or steps:
        drawn = "a stratified sample of " if decision.search_rows < training_rows else ""
        compared = [f"{second} of them"] if second else []
        compared += [f"{count(steps, 'variation')} of the best ones"] if steps else []
        lines.append(
            f"Stage 2 compared {' and '.join(compared)} on {drawn}{decision.search_rows:,} rows."
        )
    missing = sum(cell.value is None for cell in cells)
    if missing:
        lines.append(f"{late}: {missing} of {len(cells)} settings were not evaluated.")
    if decision.by == "sample":
        lines.append(f"{late}: the choice is that of the first stage.")
    if decision.fitted_rows < training_rows:
        lines.append(
            f"{late}: the model was trained on {decision.fitted_rows:,} of {training_rows:,} training rows."
        )
    if decision.refitted:
        lines.append(
            "The test error is that of a model trained without the test rows. The saved model was refitted after that, "
            f"on all {decision.saved_rows:,} rows."
        )
    elif decision.all_wanted:
        lines.append(
            f"{late}: the saved model was trained on the training rows only, not refitted on all rows."
        )
    else:
        lines.append(
            "The saved model is the one whose errors are shown: it was trained on the training rows only."
        )
    return lines


def whole_words(whole: WholeRecord | None, training_rows: int) -> list[str]:
    """Of a table beyond memory: on what the settings were compared, and how all rows were learned."""
    if whole is None:
        return []
    lines = [
        f"Settings were compared on a sample of {whole.sample:,} of {training_rows:,} training rows, drawn over all files."
    ]
    if whole.how == "sample":
        return [*lines, f"The saved model knows the sample only: {whole.why}."]
    kernel = (
        ""
        if whole.landmarks is None
        else f" Its kernel is made of {count(whole.landmarks, 'landmark')} (Nyström)."
    )
    passes = f"{count(whole.passes or 0, 'pass')}, certified gap {whole.gap or 0.0:.2g}"
    lines.append(
        f"All training rows were learned by {whole.model}: λ = {whole.lam:.3g}{cost_text(whole.cost)}, {passes}.{kernel}"
    )
    if whole.compared:
        measure, rows = measure_of(whole.metric), whole.compared[0].errors.rows
        values = [
            (each.lam, each.errors.error if each.value is None else each.value)
            for each in whole.compared
        ]
        tried = ", ".join(
            f"{lam:.3g} ({score_text(value, measure)})" for lam, value in values
        ).replace("\u00a0", " ")
        lines.append(
            f"λ was compared again, by its {measure.name} on {rows:,} training rows kept apart: {tried}."
        )
    return lines


def guess_words(figure: Figure, measure: Measure) -> str:
    """What could be had without looking at a row, and its value."""
    needs = METRICS[measure.name].needs
    blind = "giving each class its share" if needs == PROBABILITIES else "scores without any order"
    how = blind if figure.guessed is None else f"always guessing {figure.guessed!r}"
    return f"{how}: {score_text(figure.guess, measure)}"


def verdict_words(
    figure: Figure | None, measure: Measure, test: Figure | None = None
) -> str | None:
    """The sentence that a model deserves which does not beat guessing; None for one that does, or where it is not known.

    `test` is the figure on test rows, where `figure` is another: who is not even ahead of guessing there is called that, too.
    """
    if figure is not None and not figure.better:
        where = "rows that it did not learn from"
    elif test is not None and not test.ahead(measure.least):
        figure, where = test, "test rows"
    else:
        return None
    how = "better by no more than noise" if figure.ahead(measure.least) else "not better"
    value = f"{measure.name} {score_text(figure.value, measure)} on {figure.rows:,} {where}"
    return f"This model is no better than guessing: {value}, {how} than {guess_words(figure, measure)}."


def weight_words(setting: Setting) -> str | None:
    """How a setting weighs classes, where it does."""
    weights = setting.get("class_weight")
    return (
        None
        if weights is None
        else "balanced classes"
        if weights == "balanced"
        else "weighted classes"
    )


def loses_rare_classes(figure: Figure | None, measure: Measure, test: Figure | None = None) -> bool:
    """Whether errors are no fewer than those of guessing because rare classes are few: then another metric may find them."""
    rare = (
        measure.name == "error"
        and figure is not None
        and figure.guess is not None
        and figure.guess * (1 + UNBALANCED) <= 1
    )
    return rare and verdict_words(figure, measure, test) is not None


def probability_words(measure: Measure, cells: list[CellRecord]) -> list[str]:
    """Where settings were compared by probabilities that some of them do not have: how they got some."""
    kind = METRICS.get(measure.name)
    if kind is None or kind.needs != PROBABILITIES:
        return []
    models = dict.fromkeys(cell.setting.model for cell in cells)
    without = [model for model in models if MODELS[model][1].fixed.get("loss") not in PROBABILISTIC]
    if not without:
        return []
    how = "by a sigmoid of its out-of-fold scores, each row by one that was fitted to other rows"
    return [
        f"The {measure.name} of {' and '.join(without)} is that of calibrated probabilities: {how}."
    ]


def decision_lines(calibration: CalibrationRecord | None, threshold: Threshold | None) -> list[str]:
    """How scores became probabilities, and where the threshold is."""
    lines = []
    if calibration is not None:
        brier = calibration.briers[calibration.kind]
        lines.append(
            f"probabilities: {calibration.words}, Brier score {brier:.4f}, expected calibration error "
            f"{calibration.error:.3f} ({calibration.by_chance:.3f} from sampling noise alone)"
        )
        lines += [] if calibration.doubt is None else [f"doubt: {calibration.doubt}"]
    if threshold is not None:
        at = f"score {threshold.value:.6g} (95 %: {threshold.low:.6g} to {threshold.high:.6g}) for {threshold.aim}"
        rates = f"precision {threshold.precision:.3f}, recall {threshold.recall:.3f}"
        lines.append(
            f"threshold: {at}; out of fold {100 * threshold.share:.1f} % of rows are above it: {rates}"
        )
    return lines


def unlike_words(honest: Estimate | None, test: ErrorCount | None, split: str) -> str | None:
    """Where test rows came by themselves, and tell something else than the training rows do."""
    if (
        honest is None
        or test is None
        or test.low is None
        or test.high is None
        or "own test group" not in split
    ):
        return None
    if test.low <= honest.high and honest.low <= test.high:
        return None
    told = f"{percent(honest.error)} ({percent(honest.low)} to {percent(honest.high)})"
    return (
        f"The file's own test rows are unlike its training rows: {percent(test.error)} error ({percent(test.low)} to "
        f"{percent(test.high)}) where training rows let expect {told}. For rows like the test rows believe the test error."
    )


# -- numbers that were measured ---------------------------------------------------------------------------------------


def score_text(value: float | None, measure: Measure) -> str:
    """A measured value, where there is one."""
    return "not known" if value is None else measure.text(value)


def percent(value: float | None) -> str:
    """An error as a person reads it."""
    return "" if value is None else f"{100 * value:.2f} %"


def interval(low: float | None, high: float | None) -> str:
    """An interval of 95 %."""
    return "" if low is None else f"95 %: {percent(low)} to {percent(high)}"


def count(number: int, noun: str) -> str:
    """1 row, 2,000 rows."""
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{number:,} {noun if number == 1 else plural}"


def duration(seconds: float | None) -> str:
    """Seconds, or minutes where there are many."""
    return (
        ""
        if seconds is None
        else f"{seconds:.1f} s"
        if seconds < 120
        else f"{seconds / 60:.1f} min"
    )


def data_text(data: DataRecord) -> str:
    """The data in a few words."""
    sizes = ((data.rows, "row"), (data.features, "feature"), (len(data.classes) or None, "class"))
    return ", ".join(
        [data.name, *(count(number, noun) for number, noun in sizes if number is not None)]
    )
