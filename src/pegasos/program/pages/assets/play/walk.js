// A walk: one step after another of all predictors (one a class, or one in all for two classes) over the same draws.

import { sharedDraws } from "./draws.js";
import { gram, KERNELS } from "./kernels.js";
import { change, tick } from "./rules.js";

// Points, their kernel matrix and the labels ±1 of each predictor; null where there are not two classes.
export function makeProblem(points, spec) {
  const classes = [...new Set(points.map((point) => point.c))].sort((a, b) => a - b);
  if (classes.length < 2) return null;
  const declared = KERNELS[spec.kernel];
  const kernel = declared.build(spec);
  const constant = declared.constant || 0;
  const owners = classes.length === 2 ? [classes[1]] : classes;
  const signs = owners.map((owner) => Float64Array.from(points, (point) => (point.c === owner ? 1 : -1)));
  return { points, classes, owners, signs, kernel, constant, m: points.length, K: gram(points, kernel, constant) };
}

export class Walk {
  constructor(problem, spec, seed) {
    const { m, signs } = problem;
    this.problem = problem;
    this.model = spec.model;
    this.loss = spec.model === "perceptron" ? "perceptron" : spec.loss;
    this.batch = spec.model === "pegasos" ? spec.batch : 1;
    this.param = { perceptron: 1, pegasos: spec.lam * this.batch, sdca: 1 / (spec.lam * m) }[spec.model];
    this.draws = sharedDraws(spec.sampling, m, seed);
    this.t = 0;
    const zeros = () => signs.map(() => new Float64Array(m));
    [this.coefficients, this.scores] = [zeros(), zeros()];
    // For means: each change times the clock at its time, of coefficients and of scores.
    this.averages = spec.model !== "sdca" && spec.average > 0;
    [this.past, this.pastScores] = this.averages ? [zeros(), zeros()] : [[], []];
    this.clock = signs.map(() => 0);
    this.mistakes = signs.map(() => 0);
    this.resting = signs.map(() => false);
    this.last = null;
  }

  // One step: the answers of all predictors at the drawn examples, all against the same vectors; then the changes.
  step() {
    const { m, K, signs } = this.problem;
    const t = ++this.t;
    const drawn = [];
    const answers = [];
    for (let k = 0; k < this.batch; k++) {
      const i = this.draws.at((t - 1) * this.batch + k);
      drawn.push(i);
      for (let j = 0; j < signs.length; j++) {
        if (this.resting[j]) continue;
        const [y, s, kii] = [signs[j][i], this.scores[j][i], K[i * m + i]];
        const own = y * this.coefficients[j][i];
        const u = change(this.model, this.loss, s, y, own, kii, t, this.param);
        answers.push({ i, j, y, s, own, kii, u });
      }
    }
    for (const { i, j, u } of answers) if (u !== 0) this.add(j, i, u);
    for (let j = 0; j < signs.length; j++) if (!this.resting[j]) this.clock[j] += tick(this.model, t);
    if (this.model === "perceptron" && t % m === 0) this.rest();
    this.last = { t, drawn, answers };
  }

  add(j, i, u) {
    const { m, K } = this.problem;
    const scores = this.scores[j];
    this.coefficients[j][i] += u;
    this.mistakes[j] += 1;
    for (let r = 0, at = i * m; r < m; r++, at++) scores[r] += u * K[at];
    if (!this.averages) return;
    const before = this.pastScores[j];
    const weight = u * this.clock[j];
    this.past[j][i] += weight;
    for (let r = 0, at = i * m; r < m; r++, at++) before[r] += weight * K[at];
  }

  // A Perceptron that made no mistake in an epoch rests from then on.
  rest() {
    this.resting = this.resting.map((resting, j) => resting || this.mistakes[j] === 0);
    this.mistakes.fill(0);
  }

  get finished() {
    return this.resting.every(Boolean);
  }

  // Σ c_τ V_τ over the steps so far, c_τ = 1/τ (Pegasos) or 1 (Perceptron), of the coefficients or of the scores.
  sums(j, ofScores) {
    const [now, past] = ofScores ? [this.scores[j], this.pastScores[j]] : [this.coefficients[j], this.past[j]];
    return now.map((value, i) => this.clock[j] * value - past[i]);
  }
}
