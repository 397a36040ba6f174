// A walk: one step after another of all predictors (one a class, or one in all for two classes) over the same draws.

import { sharedDraws } from "./draws.js";
import { crossGram, gram, KERNELS } from "./kernels.js";
import { change, tick } from "./rules.js";

// Points, their kernel matrix, that of fresh points with them, and the labels ±1 of each predictor; null where there are not
// two classes.
export function makeProblem(points, spec, fresh = []) {
  const classes = [...new Set(points.map((point) => point.c))].sort((a, b) => a - b);
  if (classes.length < 2) return null;
  const declared = KERNELS[spec.kernel];
  const kernel = declared.build(spec);
  const constant = declared.constant || 0;
  const owners = classes.length === 2 ? [classes[1]] : classes;
  const signs = owners.map((owner) => Float64Array.from(points, (point) => (point.c === owner ? 1 : -1)));
  const [K, freshK] = [gram(points, kernel, constant), crossGram(fresh, points, kernel, constant)];
  return { points, fresh, classes, owners, signs, kernel, constant, m: points.length, K, freshK };
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
    this.past = zeros(); // each change times the clock at its time, for means
    this.clock = signs.map(() => 0);
    this.mistakes = signs.map(() => 0);
    this.resting = signs.map(() => false);
    this.drawn = new Int32Array(this.batch);
    [this.tested, this.own, this.answers] = [0, 1, 2].map(() => new Float64Array(this.batch * signs.length));
  }

  // One step: the answers of all predictors at the drawn examples, all against the same vectors; then the changes.
  step() {
    const { m, K, signs } = this.problem;
    const { batch, drawn, tested, own, answers } = this;
    const columns = signs.length;
    const t = ++this.t;
    for (let k = 0; k < batch; k++) {
      const i = (drawn[k] = this.draws.at((t - 1) * batch + k));
      for (let j = 0, at = k * columns; j < columns; j++, at++) {
        const y = signs[j][i];
        tested[at] = this.scores[j][i];
        own[at] = y * this.coefficients[j][i];
        answers[at] = this.resting[j] ? NaN : change(this.model, this.loss, tested[at], y, own[at], K[i * m + i], t, this.param);
      }
    }
    for (let at = 0; at < batch * columns; at++) {
      if (answers[at]) this.add(at % columns, drawn[Math.floor(at / columns)], answers[at]);
    }
    for (let j = 0; j < columns; j++) if (!this.resting[j]) this.clock[j] += tick(this.model, t);
    if (this.model === "perceptron" && t % m === 0) this.rest();
  }

  // The last step: which examples were drawn, and for each predictor that did not rest what it read and answered.
  get last() {
    if (!this.t) return null;
    const { m, K, signs } = this.problem;
    const answers = [];
    this.answers.forEach((u, at) => {
      const [i, j] = [this.drawn[Math.floor(at / signs.length)], at % signs.length];
      if (!Number.isNaN(u)) answers.push({ i, j, y: signs[j][i], s: this.tested[at], own: this.own[at], kii: K[i * m + i], u });
    });
    return { t: this.t, drawn: [...this.drawn], answers };
  }

  add(j, i, u) {
    const { m, K } = this.problem;
    const scores = this.scores[j];
    this.coefficients[j][i] += u;
    this.past[j][i] += u * this.clock[j];
    this.mistakes[j] += 1;
    for (let r = 0, at = i * m; r < m; r++, at++) scores[r] += u * K[at];
  }

  // A Perceptron that made no mistake in an epoch rests from then on.
  rest() {
    this.resting = this.resting.map((resting, j) => resting || this.mistakes[j] === 0);
    this.mistakes.fill(0);
  }

  get finished() {
    return this.resting.every(Boolean);
  }

  // Σ c_τ V_τ over the steps so far, c_τ = 1/τ (Pegasos) or 1 (Perceptron).
  sums(j) {
    return this.coefficients[j].map((value, i) => this.clock[j] * value - this.past[j][i]);
  }
}
