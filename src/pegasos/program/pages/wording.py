"""Texts of numbers, kernels and settings, and sentences about a search and its choice."""

from __future__ import annotations

import re
from typing import Any

from pegasos.engine.kernels.base import DistanceKernel, Kernel
from pegasos.engine.kernels.standard import KERNELS
from pegasos.engine.walk.losses import PROBABILISTIC
from pegasos.estimates import Estimate, Figure
from pegasos.learners.catalogue import MODELS
from pegasos.metrics import METRICS, PROBABILITIES, Measure
from pegasos.program.records.runs import (
    CalibrationRecord,
    CellRecord,
    ErrorCount,
    SearchRecord,
    TuneRecord,
    WholeRecord,
    is_sampled,
)
from pegasos.program.tables.description import UNBALANCED
from pegasos.program.terminal.console import percent
from pegasos.search.decisions import Threshold
from pegasos.search.settings import FrozenDict, Opaque, Part

_TITLES = {"lam": "λ", "n_iter": "steps (T)", "expand": "degree of expansion", "param": "parameter"}
#: Spaces at which no line may break.
_JOINED = re.compile(r" (?=[=×%])|(?<=[=×±]) |(?<=\(C) ")


def title_of(name: str) -> str:
    """Return the title of a parameter on an axis."""
    return _TITLES.get(name, name)


def is_number(value: Any) -> bool:
    """Tell whether a value has a place on a numeric axis."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def value_text(value: Any, digits: int = 3) -> str:
    """Return the text of a parameter value; a dash for a parameter that a setting lacks."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number_text(value, digits)
    if isinstance(value, Kernel):
        return kernel_text(value)
    if isinstance(value, Part):
        params = (f"{name}={value_text(each)}" for name, each in value.params)
        return " ".join([value.name, *params])
    if isinstance(value, FrozenDict):
        return ", ".join(f"{value_text(name)}: {value_text(each)}" for name, each in value.pairs)
    if isinstance(value, tuple):
        return ", ".join(map(value_text, value))
    return value.text if isinstance(value, Opaque) else str(value)


def number_text(value: float, digits: int = 3) -> str:
    """Return a number with few digits, and with an exponent below 0.001 and from 100,000 on.

    >>> [number_text(value) for value in (1e-5, 0.0001, 2.5e-7, 0.001, 10.0, 0.0, 1004.0, 1e6)]
    ['1e-5', '1e-4', '2.5e-7', '0.001', '10', '0', '1000', '1e6']
    """
    if 10**digits <= abs(value) < 1e5:
        return f"{float(f'{value:.{digits}g}'):.0f}"
    text = f"{value:.{digits - 1}e}" if 0 < abs(value) < 0.001 else f"{value:.{digits}g}"
    mantissa, mark, power = text.partition("e")
    return f"{float(mantissa):.{digits}g}e{int(power)}" if mark else text


def kernel_text(kernel: Any) -> str:
    """Return the name of a kernel, its main parameter, and others that differ from the default.

    >>> from pegasos.kernels import Gaussian, Polynomial
    >>> kernel_text(Gaussian(2.0)), kernel_text(Polynomial(2, coef0=5.0))
    ('gaussian, variance 2', 'polynomial, degree 2, coef0 5')
    >>> kernel_text(Gaussian("0.5 scale")), kernel_text(None)
    ("gaussian, 0.5 × data's scale", 'linear')
    """
    if not isinstance(kernel, Kernel):
        return "linear" if kernel is None else value_text(kernel)
    if KERNELS.get(kernel.name) is not type(kernel):
        return repr(kernel)
    if kernel.main is None:
        return f"{kernel.name} kernel"
    usual = type(kernel)().get_params()
    parts = [kernel.name, f"{kernel.main} {value_text(getattr(kernel, kernel.main), 6)}"]
    if isinstance(kernel, DistanceKernel) and kernel.factor is not None:
        parts[1] = f"{kernel.factor:g} × data's scale"
    for name, value in kernel.get_params().items():
        if name != kernel.main and value != usual[name]:
            parts.append(f"{name} {value_text(value, 6)}")
    return ", ".join(parts)


def cost_text(cost: float | None) -> str:
    """Return the C beside a λ, if it is known."""
    return "" if cost is None else f" (C {number_text(cost)})"


def setting_text(values: dict[str, Any], cost: float | None = None) -> str:
    """Return a setting in one line, texts before numbers."""
    parts = []
    for name, value in sorted(values.items(), key=lambda each: is_number(each[1])):
        if value is not None:
            text = value_text(value) + (cost_text(cost) if name == "lam" else "")
            speaks_for_itself = name in ("model", "kernel", "multiclass")
            title = "" if speaks_for_itself else f"{title_of(name).split(' ')[0]} = "
            parts.append(title + text)
    return unbroken(", ".join(parts))


def unbroken(text: str) -> str:
    r"""Join parts that belong together, as in λ = 1e-8 (C 7), with spaces that do not break.

    >>> unbroken("λ = 1e-8 (C 7): 3 %")
    'λ\xa0=\xa01e-8 (C\xa07): 3\xa0%'
    """
    return _JOINED.sub("\u00a0", text)


def count(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count(1, "row"), count(2000, "class")
    ('1 row', '2,000 classes')
    """
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{number:,} {noun if number == 1 else plural}"


def duration(seconds: float | None) -> str:
    """Return a time in seconds, or in minutes from two minutes on."""
    if seconds is None:
        return ""
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def score_text(value: float | None, measure: Measure) -> str:
    """Return a value of a metric."""
    return "not known" if value is None else measure.text(value)


def decision_words(record: SearchRecord) -> list[str]:
    """Describe a choice: stages of the search, time limit, and rows of the saved model."""
    decision, cells, training_rows = record.decision, record.cells, record.training_rows
    late, whole = "Time limit reached", record.whole if isinstance(record, TuneRecord) else None
    if decision is None:
        others = f"{late} before all settings were evaluated: others may be better."
        return [] if record.complete else [others]
    lines = whole_words(whole, training_rows)
    training_rows = training_rows if whole is None else decision.fitted_rows
    if decision.max_time is not None:
        late += f" ({decision.max_time:g} s)"
    second, steps = (sum(cell.stage == stage for cell in cells) for stage in (2, 3))
    sampled, drawn = is_sampled(cells), "a stratified sample of "
    if sampled or steps:
        first = sum(cell.first is not None for cell in cells) if sampled else len(cells) - steps
        rows = f"{drawn if sampled else ''}{decision.first_rows:,} rows"
        lines.append(f"Stage 1 compared {count(first, 'setting')} on {rows}.")
    if second or steps:
        compared = [f"{second} of them"] if second else []
        compared += [f"{count(steps, 'variation')} of the best ones"] if steps else []
        rows = (
            f"{drawn if decision.search_rows < training_rows else ''}{decision.search_rows:,} rows"
        )
        lines.append(f"Stage 2 compared {' and '.join(compared)} on {rows}.")
    missing = sum(cell.value is None for cell in cells)
    if missing:
        lines.append(f"{late}: {missing} of {len(cells)} settings were not evaluated.")
    if decision.by == "sample":
        lines.append(f"{late}: the choice is that of the first stage.")
    if decision.fitted_rows < training_rows:
        rows = f"{decision.fitted_rows:,} of {training_rows:,} training rows"
        lines.append(f"{late}: the model was trained on {rows}.")
    if decision.refitted:
        lines.append(
            "The test error is that of a model trained without the test rows. "
            f"The saved model was refitted after that, on all {decision.saved_rows:,} rows."
        )
    else:
        why = f"{late}: the" if decision.all_wanted else "The"
        lines.append(f"{why} saved model was trained on the training rows only.")
    return lines


def whole_words(whole: WholeRecord | None, training_rows: int) -> list[str]:
    """Describe the final fit to a table that exceeds memory."""
    if whole is None:
        return []
    sample = f"a sample of {whole.sample:,} of {training_rows:,} training rows"
    lines = [f"Settings were compared on {sample}, drawn from all files."]
    if whole.how == "sample":
        return [*lines, f"The saved model was trained on this sample only: {whole.why}."]
    kernel = ""
    if whole.landmarks is not None:
        kernel = f" Its kernel is approximated with {count(whole.landmarks, 'landmark')} (Nyström)."
    passes = f"{count(whole.passes or 0, 'pass')}, certified gap {whole.gap or 0.0:.2g}"
    fitted = f"λ = {whole.lam:.3g}{cost_text(whole.cost)}, {passes}"
    lines.append(f"{whole.model} was trained on all training rows: {fitted}.{kernel}")
    return lines


def baseline_text(figure: Figure, measure: Measure) -> str:
    """Describe the baseline: an answer that is the same for every row, and its value."""
    how = f"always predicting {figure.baseline_class!r}"
    if figure.baseline_class is None:
        shares = METRICS[measure.name].needs == PROBABILITIES
        how = "predicting the class frequencies" if shares else "constant scores"
    return f"{how}: {score_text(figure.baseline, measure)}"


def verdict_words(
    figure: Figure | None, measure: Measure, test: Figure | None = None
) -> str | None:
    """Return a warning if the model does not beat the baseline, or is behind it on test rows."""
    where = "out-of-fold predictions"
    if figure is None or figure.better:
        if test is None or test.ahead(measure.least):
            return None
        figure, where = test, "test rows"
    how = "within noise of" if figure.ahead(measure.least) else "against"
    value = f"{measure.name} {score_text(figure.value, measure)} on {figure.rows:,} {where}"
    baseline = baseline_text(figure, measure)
    return f"This model is no better than the baseline: {value}, {how} {baseline}."


def loses_rare_classes(figure: Figure | None, measure: Measure, test: Figure | None = None) -> bool:
    """Tell whether the error does not beat the baseline because some classes are rare.

    Another metric may then find these classes.
    """
    if measure.name != "error" or figure is None or figure.baseline is None:
        return False
    is_rare = figure.baseline * (1 + UNBALANCED) <= 1
    return is_rare and verdict_words(figure, measure, test) is not None


def probability_words(measure: Measure, cells: list[CellRecord]) -> list[str]:
    """Explain the probabilities of models without their own, if the metric needs them."""
    models = dict.fromkeys(cell.setting.model for cell in cells)
    without = [model for model in models if MODELS[model][1].fixed.get("loss") not in PROBABILISTIC]
    if not without or measure.name not in METRICS or METRICS[measure.name].needs != PROBABILITIES:
        return []
    how = "cross-fitted sigmoids of their out-of-fold scores"
    return [f"Probabilities of {' and '.join(without)} for the {measure.name} come from {how}."]


def decision_lines(calibration: CalibrationRecord | None, threshold: Threshold | None) -> list[str]:
    """Describe the calibration of probabilities and the choice of the threshold."""
    lines = []
    if calibration is not None:
        brier = f"Brier score {calibration.briers[calibration.kind]:.4f}"
        error = f"expected calibration error {calibration.error:.3f}"
        noise = f"{calibration.by_chance:.3f} from sampling noise alone"
        lines.append(f"probabilities: {calibration.words}, {brier}, {error} ({noise})")
        lines += [] if calibration.doubt is None else [f"doubt: {calibration.doubt}"]
    if threshold is not None:
        ends = f"95 %: {threshold.low:.6g} to {threshold.high:.6g}"
        at = f"score {threshold.value:.6g} ({ends}) for {threshold.aim}"
        rates = f"precision {threshold.precision:.3f}, recall {threshold.recall:.3f}"
        share = f"{100 * threshold.share:.1f} % of rows are above it"
        lines.append(f"threshold: {at}; out of fold {share}: {rates}")
    return lines


def unlike_words(honest: Estimate | None, test: ErrorCount | None, split: str) -> str | None:
    """Return a warning if a test group of the file disagrees with the training rows."""
    if honest is None or test is None or test.low is None or test.high is None:
        return None
    if "own test group" not in split or (test.low <= honest.high and honest.low <= test.high):
        return None
    expected, found = (
        f"{percent(each.error)} ({percent(each.low)} to {percent(each.high)})"
        for each in (honest, test)
    )
    return (
        f"The file's own test rows are unlike its training rows: test error {found}, but "
        f"{expected} is expected from the training rows. For rows like the test rows, rely on "
        "the test error."
    )
