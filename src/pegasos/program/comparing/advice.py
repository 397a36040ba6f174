"""One sentence about a comparison: whom to take, who is as good, and where ours lose."""

from __future__ import annotations

from pegasos.metrics import Measure
from pegasos.program.comparing.learners import LEARNERS
from pegasos.program.pages.wording import score_text
from pegasos.program.records.comparisons import Contender, LeftOut

#: How many times quicker at predicting a learner must be to be pointed at.
_QUICKER = 3.0


def advice(contenders: list[Contender], left_out: list[LeftOut], measure: Measure) -> str:
    """The advice for contenders that are sorted, the best first."""
    best, told = contenders[0], score_text(contenders[0].value, measure)
    guess = next((each for each in contenders if each.name == "guess"), None)
    if guess is not None and guess.near:
        return (
            f"Nothing beats always guessing by more than noise ({measure.name} {told} at best, guessing "
            f"{score_text(guess.value, measure)}): look for better columns or more rows before a learner."
        )
    near = [each for each in contenders[1:] if each.near]
    parts = [f"Take {name(best)}: {measure.name} {told}"]
    parts.append(
        f"within noise of it: {', '.join(map(name, near))}"
        if near
        else "all others are worse by more than noise"
    )
    quickest = min([best, *near], key=lambda each: each.predict_seconds)
    if quickest.predict_seconds * _QUICKER < best.predict_seconds:
        times = best.predict_seconds / quickest.predict_seconds
        parts.append(f"of these {name(quickest)} predicts {times:.0f} times as fast")
    ours = [each for each in contenders if each.ours]
    if ours and not any(each.near for each in ours):
        lost = ", ".join(f"{each.name} by {score_text(each.behind, measure)}" for each in ours)
        missing = [each.name for each in left_out if LEARNERS[each.name].ours]
        parts.append(
            f"ours lose here, {lost}"
            + (f" ({', '.join(missing)} was not compared)" if missing else "")
        )
    return "; ".join(parts).replace("\u00a0", " ") + "."


def name(contender: Contender) -> str:
    """Whose it is, and what: "our kernel, tuned" reads badly in a list."""
    return f"our {contender.name} model" if contender.ours else contender.words
