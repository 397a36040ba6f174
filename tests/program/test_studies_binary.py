"""The two studies of ten-feature rows: every printed number has readings, faults are seeded, the rule is the rows'."""

import numpy as np
import pytest

from pegasos.program.published import (
    _binary,
    _binary_best,
    _binary_faults,
    binary_ladder,
    binary_models,
)
from pegasos.program.studies.runner import Options, run_study
from pegasos.program.tables.dataset import BadData, Dataset
from pegasos.program.tables.named_sets import load_set, quadric

COUNTS = {"binary_ladder": 180, "binary_models": 18}
STUDIES = {"binary_ladder": binary_ladder.STUDY, "binary_models": binary_models.STUDY}


def stand_in(name):
    """Never the real rows, even where they are."""
    if name != "quadric":
        raise BadData(f"{name} is not here.")
    return load_set(name)


@pytest.mark.parametrize("name", STUDIES)
def test_every_printed_number_has_readings_of_known_experiments(name):
    study = STUDIES[name]
    numbers = study.numbers()
    known = {each.name for each in (*study.experiments, *study.emulations)}
    assert len(numbers) == COUNTS[name]
    assert all(0 <= number.error < 1 and number.readings for number in numbers)
    assert {key["experiment"] for number in numbers for key in number.readings.values()} <= known
    assert all(
        key["split"] == number.fields["split"]
        for number in numbers
        for key in number.readings.values()
    )


def test_groups_show_the_words_of_the_report_and_what_fits():
    groups = {}
    for number in binary_ladder.numbers():
        groups.setdefault(number.group, set()).update(number.readings)
    assert groups["kernel Pegasos, polynomial"] == {"(1 + z·z')^n", "(2 + z·z')^n"}
    assert groups["kernel Pegasos, gaussian"] == {"as written", "as in its program"}
    assert {"as in its program, 10 epochs", "as in its program, 20 epochs"} <= groups[
        "kernel Perceptron, gaussian"
    ]
    assert {"λ = 0.001", "λ = 0.1", "λ = 0.001, overflowing"} <= groups[
        "Logistic, degree 2, last line"
    ]
    assert all(len(readings) > 1 for readings in groups.values())


def test_tuning_rows_lie_inside_the_training_rows():
    y = np.zeros(1003)
    (train, test), (part, validation) = _binary.testing(y, 3)[0], _binary.tuning(y, 3)[0]
    assert sorted([*train, *test]) == list(range(1003))
    assert len(part) == 600 and len(validation) == 200
    assert set(part) | set(validation) == set(train)
    assert not np.array_equal(train, _binary.testing(y, 4)[0][0])


def test_emulations_are_seeded():
    X, y = quadric(200)
    dataset = Dataset("small", X, [], y)
    for run in (_binary_faults.overflow, _binary_faults.free_bias):
        assert run(dataset, 1) == run(dataset, 1)
        assert run(dataset, 1) != run(dataset, 2)


def test_plain_exponential_overflows_where_the_stable_form_does_not():
    X, y = np.array([[40.0], [-41.0]]), np.array([1.0, 1.0])
    draws, lams = np.array([0, 1, 0, 1]), np.array([1e-3, 10.0])
    naive, largest = _binary_faults.logistic_walk(X, y, draws, lams, naive=True)
    stable, _ = _binary_faults.logistic_walk(X, y, draws, lams, naive=False)
    assert largest[0] > _binary_faults.LARGEST_EXPONENT > largest[1]
    assert np.isnan(naive[0]).all() and np.isfinite(stable).all()
    np.testing.assert_allclose(naive[1], stable[1])


def test_mini_batches_without_the_slip_are_pegasos_steps():
    X, y = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([1.0, -1.0])
    scores = _binary_faults.mini_batches(X, y, 0.5, np.array([[0, 1]]), _binary_faults.hinge)
    weights = (
        (X[0] - X[1]) / 2 / 0.5
    )  # one step of length 1/λ from zero; the pushes on the intercept cancel
    np.testing.assert_allclose(scores, X @ weights)
    zeros = np.zeros(2)
    np.testing.assert_allclose(_binary_faults.logistic(zeros, y), y / 2)
    np.testing.assert_allclose(_binary_faults.slipped(zeros, y), y - 0.5)


def test_the_rule_is_the_formula():
    x = np.arange(1.0, 11.0)
    assert _binary.rule(x[None, :])[0] == 4 * 2 * 9 - 2 * 1 * 4 * 8 + 4 * 5 - 2 * 6 + 7 - 6


def test_the_rule_gives_every_label_of_the_real_rows():
    try:
        dataset = load_set("binary10")
    except BadData:
        pytest.skip("binary10 is not here")
    assert np.array_equal(np.sign(_binary.rule(dataset.X)), _binary.signs(dataset.labels))


def test_last_part_compares_with_the_first_row():
    X, y = quadric(150)
    dataset = Dataset("small", X, [], y)
    context = type(
        "Context",
        (),
        {"dataset": dataset, "study": binary_models.STUDY, "say": staticmethod(lambda text: None)},
    )
    rows = binary_models.STUDY.surpass(context)
    assert [row.what for row in rows][1:] == ["cubic SDCA", "nested choice"]
    assert rows[0].p is None and all(
        0 <= row.p <= 1 and row.against.startswith("newly wrong : newly right ") for row in rows[1:]
    )
    assert all(row.low <= row.error <= row.high and row.rows == 150 for row in rows)
    assert sum(name in rows[2].settings for name in _binary_best.CANDIDATES) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_runs_on_the_stand_in_and_says_so(name, tmp_path):
    said = []
    found = run_study(
        STUDIES[name], tmp_path, Options(seeds=1, quick=True, say=said.append), load=stand_in
    )
    assert len(found.numbers) == COUNTS[name]
    assert not found.data.real and found.findings == "" and any("STAND-IN" in text for text in said)
    assert len(found.claims) == len(STUDIES[name].checks)
    assert next(each for each in found.extras if each.name == "origin").text.startswith(
        "Not applicable"
    )
