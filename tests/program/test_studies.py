"""Test studies: verdicts, runs that resume, pages, the command, and exact published numbers."""

from __future__ import annotations

import csv
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.linear_model import Perceptron as SklearnPerceptron
from studies import binary_ladder_protocol, usps_kernels
from studies.common import collect_errors, read_printed

from command_line import call
from pegasos import Pegasos, SweepCV
from pegasos.kernels import Gaussian, Polynomial
from pegasos.program.pages import report
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.named_sets import read_set
from pegasos.studies import Figure, Study, judge, run_study
from pegasos.studies.results import central_interval, tail_probability


def load_or_skip(name: str):
    """Return a named set, or skip the test where its data are missing."""
    try:
        return read_set(name)
    except BadData as error:
        pytest.skip(f"the published rows are not here: {error}")


# verdicts


@pytest.mark.parametrize(
    ("printed", "ours", "verdict"),
    [
        ("0.043", 0.0432, "exact"),
        ("0.043", 0.0439, "exact"),  # truncated
        ("0.043", 0.0421, "differs"),
        ("0.043", [0.0421], "undecided"),
        ("0.3521666", 2113 / 6000, "exact"),
        ("-2.587", -2.5874, "exact"),
        ("-2.587", -2.5861, "differs"),
    ],
)
def test_one_value_is_exact_or_not(printed: str, ours, verdict: str) -> None:
    assert judge("a", printed, ours).verdict == verdict


def test_verdicts_follow_student_t() -> None:
    from scipy.stats import t

    values = np.array([0.10, 0.12, 0.11, 0.13, 0.14])
    scale = values.std(ddof=1) * np.sqrt(1 + 1 / 5)
    for probability, verdict in ((0.06, "within noise"), (0.03, "undecided"), (0.005, "differs")):
        printed = values.mean() + scale * t.isf(probability / 2, 4)
        assert judge("a", printed, values).verdict == verdict
        assert tail_probability(printed, values) == pytest.approx(probability)
    low, high = central_interval(values)
    assert high - values.mean() == pytest.approx(scale * t.ppf(0.975, 4))
    assert values.mean() - low == pytest.approx(high - values.mean())


def test_many_runs_are_judged_by_their_ranks() -> None:
    values = np.random.default_rng(0).exponential(size=400)  # skewed: not a normal distribution
    low, high = central_interval(values)
    assert judge("a", float(np.quantile(values, 0.01)), values).verdict == "undecided"
    assert judge("a", float(values.max()) + 1, values).verdict == "differs"
    assert judge("a", (low + high) / 2, values).verdict == "within noise"


def test_impossible_numbers_are_flagged_and_reasons_belong_to_differences() -> None:
    values = [0.279, 0.281, 0.2835]
    assert judge("a", "0.2807", values, rows=2000).reason.startswith("impossible: 0.2807")
    assert judge("a", "0.2805", values, rows=2000, reason="why").reason == ""
    found = judge("a", "0.9", values, rows=2000, reason="why", note="also")
    assert (found.verdict, found.reason) == ("differs", "also; why")


def test_one_run_decides_nothing_and_unknown_figures_are_refused() -> None:
    assert judge("a", "0.043", [0.0432]).verdict == "undecided"
    with pytest.raises(ValueError, match="kind must be one of table"):
        Figure("intervals", "title", [])


def test_runs_that_all_agree_are_exact() -> None:
    assert judge("a", "0.0", [0.0, 0.0, 0.0]).verdict == "exact"
    assert judge("a", "0.5", [0.0, 0.0, 0.0]).verdict == "differs"


# runs


def moons_study(calls: list[str]) -> Study:
    """Return a study that uses every part of a run."""

    def run(run):
        calls.append("run")
        grid = {"lam": [0.1, 1.0], "n_iter": [50, 100]}
        search = run.sweep("grid", Pegasos(), grid, 3, seed=0)
        errors = 1 - search.cv_results_["mean_test_score"]
        run.number("first", f"{errors[0]:.6f}", float(errors[0]))
        run.number("second", "0.9", [0.1, 0.11, 0.12], reason="a reason")
        rows = [{"λ": lam, "T": T, "error": 0.1} for lam in (0.1, 1.0) for T in (50, 100)]
        run.figure("heatmap", "Errors", rows, x="T", y="λ", color="error")
        run.figure("lines", "Curves", rows, x="T", y="error", color="λ", caption="a caption")
        run.figure("bars", "Bars", rows, x="T", y="error")
        run.figure(
            "points", "Map", [{"x": 0.0, "y": 1.0, "class": "a"}], x="x", y="y", color="class"
        )
        run.figure("images", "Digits", [{"label": "0", "pixels": [0, 255, 128, 3]}], shape=[2, 2])
        run.figure("table", "Rows", [{"a": 1, "b": "two"}])
        run.claim("it works", search.best_score_ > 0, "see above", source="ours")
        run.note("A note.")
        run.best("nothing", 0.01, 100, 0.1)

    return Study("moons_study", "Moons", "moons", "One protocol.", run)


def test_a_run_collects_results_and_resumes(tmp_path: Path) -> None:
    X, y = make_moons(60, noise=0.2, random_state=0)
    lines: list[str] = []
    result = run_study(moons_study([]), X, y, folder=tmp_path, log=lines.append)
    assert [number.verdict for number in result.numbers] == ["exact", "differs"]
    assert result.counts() == {"exact": 1, "within noise": 0, "undecided": 0, "differs": 1}
    assert result.numbers[1].reason == "a reason"
    assert [claim.verdict for claim in result.claims] == ["holds"]
    assert lines[0].startswith("moons_study: grid, seed 1 of 5")
    stored = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.sqlite"))
    again = run_study(moons_study([]), X, y, folder=tmp_path)
    assert again.numbers == result.numbers
    assert sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.sqlite")) == stored


def test_compare_chooses_on_training_rows_and_reports_both_errors(tmp_path: Path) -> None:
    X, y = make_moons(120, noise=0.3, random_state=0)
    found = []

    def run(run):
        grid = {"kernel": [Gaussian(0.1), Gaussian(10.0)]}
        found.extend(
            run.compare(
                {"kernel": (Pegasos(n_iter=200), grid), "linear": (Pegasos(n_iter=200), {})}
            )
        )

    result = run_study(Study("s", "S", "moons", "p", run), X, y, folder=tmp_path, seeds=2)
    assert [row["model"] for row in found] == ["kernel", "linear"]
    for row in found:
        assert 0 <= row["training error"] <= 0.5 and 0 <= row["test error"] <= 0.5
    assert [figure.kind for figure in result.figures] == ["table", "bars"]
    # The choice is that of a sweep which never sees the test rows.
    from sklearn.model_selection import StratifiedKFold, train_test_split

    train, test = train_test_split(np.arange(120), test_size=0.2, random_state=0, stratify=y)
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    grid = {"kernel": [Gaussian(0.1), Gaussian(10.0)]}
    search = SweepCV(Pegasos(n_iter=200, random_state=0), grid, cv=cv).fit(X[train], y[train])
    assert found[0]["setting"] == f"kernel={search.best_params_['kernel']!r}"
    one = run_study(Study("s", "S", "moons", "p", run), X, y, folder=tmp_path / "one", seeds=1)
    row = next(row for row in one.figures[0].rows if row["model"] == "kernel")
    assert row["test error"] == pytest.approx(1 - search.score(X[test], y[test]), abs=1e-5)
    assert row["± over seeds"] is None


# the command


def write_study(folder: Path) -> Path:
    """Write a study's file that uses the moons study."""
    path = folder / "mine.py"
    path.write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "from test_studies import moons_study\n\n"
        "@dataclass\nclass Options:\n    seed: int = 0\n\n"
        "STUDY = moons_study([])\n",
        encoding="utf-8",
    )
    return path


def test_the_command_writes_numbers_claims_and_a_page(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.chdir(tmp_path)
    answer = call("study", str(write_study(tmp_path)), "-o", "run")
    assert answer.code == 0 and "1 exact, 1 differs" in answer.out
    with Path("run/numbers.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "printed", "ours", "noise", "verdict", "reason"]
    assert rows[1]["verdict"] == "differs" and rows[1]["reason"] == "a reason"
    assert (
        Path("run/claims.csv").read_text(encoding="utf-8").splitlines()[1]
        == "it works,holds,see above,ours"
    )
    page = report("run")
    for words in ("Moons", "One protocol.", "A note.", "see above", "a reason"):
        assert words in page.html
    assert {"figure-1", "figure-2", "figure-3", "figure-4"} <= set(page.charts())
    as_json = call("study", "mine.py", "-o", "run", "--json")
    assert '"verdict": "differs"' in as_json.out


def test_published_names_say_where_the_studies_live(tmp_path: Path) -> None:
    answer = call("study", "usps_kernels")
    assert answer.code == 2 and "python -m studies usps_kernels" in answer.err
    answer = call("study", "no_such_study")
    assert answer.code == 2 and "pegasos study new" in answer.err


def test_from_a_csv_to_a_page_in_two_commands(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    lines = ["a,b,word,y"]
    for _ in range(60):
        a, b = random.normal(size=2)
        lines.append(f"{a:.4f},{b:.4f},{random.choice(['x', 'z'])},{'yes' if a + b > 0 else 'no'}")
    Path("my.csv").write_text("\n".join(lines), encoding="utf-8")
    answer = call("study", "new", "mine.py", "--data", "my.csv")
    assert answer.code == 0
    answer = call("study", "mine.py", "-o", "run", "--seeds", "1")
    assert answer.code == 0, answer.err
    assert "kernel pegasos" in answer.out and "training error" in answer.out
    assert "before the study's splits" in answer.err
    assert Path("run/report.html").is_file()
    assert call("study", "new", "mine.py", "--data", "my.csv").code == 2


def test_a_name_cannot_break_out_of_the_template(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = 'a"""\nraise SystemExit(7)\n"""'
    assert call("study", "new", "mine.py", "--data", name).code == 0
    answer = call("study", "mine.py")
    assert answer.code == 3 and "is neither a file, nor a folder, nor a named set" in answer.err


# explicit draws, frozen


def count_updates(K: np.ndarray, signs: np.ndarray, drawn: np.ndarray, lam: float) -> np.ndarray:
    """Return α of kernel Pegasos: row i is counted if y_i/(λt) Σ α_j y_j K_ij < 1."""
    alpha = np.zeros(len(signs))
    for t, i in enumerate(drawn, start=1):
        if signs[i] / (lam * t) * np.sum(alpha * signs * K[i]) < 1:
            alpha[i] += 1
    return alpha


def test_a_grid_with_explicit_draws_equals_plain_loops() -> None:
    """Compare a small grid with loops over examples, cell by cell."""
    random = np.random.default_rng(5)
    X = random.integers(-4, 5, size=(60, 3)) / 4
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int) + (X[:, 2] > 0.5)
    fold = np.arange(60) % 3
    cv = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    draws = usps_kernels.SeededDraws(seed=42, size=120)
    grid = {"kernel": [Polynomial(2), Gaussian(0.5)], "lam": [1e-3, 0.1], "n_iter": [40, 120]}
    learner = Pegasos(sampling=draws, average=False, fit_intercept=False)
    ours = SweepCV(learner, grid, cv=cv, refit=False).fit(X, y).cv_results_["mean_test_score"]
    for score, (kernel, lam, steps) in zip(ours, itertools.product(*grid.values()), strict=True):
        accuracies = []
        for train, test in cv:
            K, drawn = kernel(X[train], X[train]), draws(len(train))[:steps]
            signs = np.where(y[train] == np.arange(3)[:, None], 1.0, -1.0)
            alphas = np.array([count_updates(K, each, drawn, lam) for each in signs])
            scores = kernel(X[test], X[train]) @ (alphas * signs).T
            accuracies.append((scores.argmax(axis=1) == y[test]).mean())
        assert score == pytest.approx(np.mean(accuracies))


# the published numbers


def test_printed_numbers_are_complete() -> None:
    assert len(read_printed("binary_ladder")) == 180
    assert len(read_printed("binary_ladder_weights")) == 99
    assert len(read_printed("usps_iterations")) == 64
    sizes = [len(test) for _, test in usps_kernels.read_folds()]
    assert sizes == [1854, 1860, 1860, 1860, 1864]


def test_ten_cells_of_usps_kernels_are_exact() -> None:
    dataset = load_or_skip("usps")
    published = usps_kernels.read_published()
    if not published:
        pytest.skip("usps_kernels_cells.csv is not in the data folder")
    kernels = {name: usps_kernels.KERNELS[name] for name in ("polynomial 2", "gaussian 2")}
    lams, steps = (1e-5, 1e-3, 0.1, 1.0, 10.0), [1000]
    grid = {"kernel": list(kernels.values()), "lam": list(lams), "n_iter": steps}
    search = SweepCV(usps_kernels.make_learner(), grid, cv=usps_kernels.read_folds(), refit=False)
    search.fit(np.asarray(dataset.X, dtype=np.float64), dataset.labels)
    ours = iter(1 - search.cv_results_["mean_test_score"])
    for name in kernels:
        for lam in lams:
            assert next(ours) == pytest.approx(published[name, lam, 1000], abs=1e-12)


def test_perceptron_counts_of_binary_ladder_are_exact() -> None:
    dataset = load_or_skip("binary10")

    class Rows:
        X, y = dataset.X, dataset.labels

    data = binary_ladder_protocol.Data(Rows)  # type: ignore[arg-type]
    expected = {("standardize", False): (2581, 652), ("standardize", True): (683, 174)}
    expected |= {("none", False): (None, 1014), ("normalize", False): (None, 964)}
    for (scaling, squares), counts in expected.items():
        Z = data.rows(scaling, squares)
        wrong = (
            binary_ladder_protocol.fit_perceptron(Z, data.y, data.splits["whole"][0]).predict(Z)
            != data.y
        )
        for rows, count in zip(data.splits["whole"], counts, strict=True):
            assert count is None or int(wrong[rows].sum()) == count
    weights = [
        float(row["weight"])
        for row in read_printed("binary_ladder_weights")
        if row["model"] == "perceptron"
    ]
    fitted = binary_ladder_protocol.fit_perceptron(
        data.rows("standardize"), data.y, data.splits["whole"][0]
    )
    np.testing.assert_allclose(fitted.coef_[0], weights, rtol=0, atol=6e-9)


def test_perceptron_of_the_report_equals_scikit_learn() -> None:
    """Compare the Perceptron of the report with an independent implementation."""
    random = np.random.default_rng(2)
    Z = np.column_stack([random.normal(size=(200, 4)), np.ones(200)])
    y = np.where(Z[:, 0] + 0.3 * random.normal(size=200) > 0, 1.0, -1.0)
    ours = binary_ladder_protocol.fit_perceptron(Z, y, np.arange(200), epochs=5)
    theirs = SklearnPerceptron(fit_intercept=False, shuffle=False, max_iter=5, tol=None).fit(Z, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_)


def test_python_m_studies_shows_its_help() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "studies", "--help"], capture_output=True, text=True, check=True
    )
    assert "usps_kernels" in done.stdout


@pytest.mark.slow
def test_all_cells_of_usps_kernels() -> None:
    dataset = load_or_skip("usps")
    published = usps_kernels.read_published()
    if not published:
        pytest.skip("usps_kernels_cells.csv is not in the data folder")
    lams, steps = list(usps_kernels.LAMS), list(usps_kernels.STEPS)
    grid = {"kernel": list(usps_kernels.KERNELS.values()), "lam": lams, "n_iter": steps}
    search = SweepCV(usps_kernels.make_learner(), grid, cv=usps_kernels.read_folds(), refit=False)
    search.fit(np.asarray(dataset.X, dtype=np.float64), dataset.labels)
    errors = collect_errors([search], "test", usps_kernels.KERNELS)
    assert set(errors) == set(published)
    apart = np.array([abs(errors[cell][0] - published[cell]) for cell in published])
    assert np.sum(apart * len(dataset.labels) < 1e-6) >= 240
    assert apart.max() * len(dataset.labels) <= 3 + 1e-6
