from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pegasos.program.terminal import console
from pegasos.program.terminal.options import (
    Data,
    JudgingOptions,
    OutputOptions,
    ReadingOptions,
    option,
)

if TYPE_CHECKING:
    from pegasos.program.records.comparisons import Comparison

PLACE = 52
SHORT = "Our tuned models beside scikit-learn's."


def command(
    data: Data,
    reading: ReadingOptions,
    judging: JudgingOptions,
    talking: OutputOptions,
    model: Annotated[
        list[str],
        option(
            "NAME",
            "guess, logistic, neighbours, svc, forest, linear, kernel or boosting; repeatable. Default: all.",
            "--model",
            "-m",
        ),
    ] = [],  # noqa: B006 - typer copies it
    cv: Annotated[int, option("K", "Outer folds, by class (and by group).", min=2)] = 5,
    repeats: Annotated[int, option("N", "How often folds are drawn anew.", min=1)] = 2,
    max_time: Annotated[
        float | None,
        option("SECONDS", "Begin no fit that would last longer; the cheapest come first."),
    ] = None,
    out: Annotated[
        str | None, option("FILE", "Also a page with the table and a picture.", "--out", "-o")
    ] = None,
    seed: Annotated[int, option("N", "Seed of splits and learners.", min=0, max=2**31)] = 0,
) -> None:
    """Our linear and kernel models beside scikit-learn's learners, on the same splits: errors, noise, time, size, and advice.

    \b
    Examples:
      pegasos compare my.csv
      pegasos compare churn.csv --metric average-precision --positive churned -o compared.html
      pegasos compare my.csv -m linear -m kernel -m svc --repeats 5
      pegasos compare my.csv --max-time 60

    Ours are tuned within each training part, as tune does it; scikit-learn's have their default settings, and tuning might help
    them, too. All get the same numbers: gaps imputed, words one-hot, numbers standardized. Intervals and p are those of the
    corrected resampled t test (Nadeau and Bengio), for training parts overlap; p is against the best, corrected for the number
    of tests (Holm). Times are medians by the clock with one thread, a fit with all its tuning; sizes are those of pickles.
    """
    from pegasos.program.jobs.comparing import CompareJob, compare_data
    from pegasos.program.jobs.views import give

    found = compare_data(
        CompareJob(data, list(model), cv, repeats, max_time, seed, out, reading, judging)
    )
    give(found, talking.as_json, lambda: _show(found, out))


def _show(found: Comparison, page: str | None) -> None:
    from pegasos.program.pages.comparison_page import (
        behind_text,
        p_text,
        seconds_text,
        size_text,
        splits_text,
    )
    from pegasos.program.pages.wording import score_text

    measure = found.measure
    of = "" if found.positive is None else f" of {found.positive!r}"
    console.heading(
        f"{found.data}: {found.rows} rows, {splits_text(found)}, {found.seconds:.1f} s", ""
    )
    rows = [
        (
            each.words,
            score_text(each.value, measure),
            f"{score_text(each.low, measure)} to {score_text(each.high, measure)}",
            behind_text(each, measure),
            p_text(each),
            seconds_text(each.fit_seconds),
            seconds_text(each.predict_seconds),
            size_text(each.bytes),
        )
        for each in found.contenders
    ]
    head = (
        f"{measure.name}{of}",
        measure.name,
        "95 % interval",
        "behind",
        "p",
        "fit",
        "1,000 rows",
        "size",
    )
    console.table(head, rows)
    console.show()
    for each in found.contenders:
        for told in (f"chose most often {each.choice}" if each.choice else None, each.note):
            if told is not None:
                console.show(f"{each.words}: {told}")
    for out in found.left_out:
        console.show(f"not compared: {out.words}, {out.reason}")
    console.heading("", f"advice: {found.advice}")
    if page is not None:
        console.show("", f"written: {page}")
