// A run: a walk together with what turns its raw vectors into predictors, at any step, and the curves on the way.

import { certify } from "./certificate.js";
import { product, scoresOf } from "./kernels.js";
import { LOSSES } from "./losses.js";
import { Walk } from "./walk.js";

// Steps between two looks at the clock.
const LOOK = 64;

// How many steps a specification means for m points.
export function plannedSteps(spec, m) {
  if (spec.model !== "pegasos") return spec.count * m;
  return spec.unit === "steps" ? spec.count : Math.ceil((spec.count * m) / spec.batch);
}

export class Run {
  // `points`: how many points the curves have, `first`: steps that all have one.
  constructor(problem, spec, seed, points, first = 0) {
    this.problem = problem;
    this.spec = spec;
    this.seed = seed;
    this.first = first;
    this.total = plannedSteps(spec, problem.m);
    this.every = Math.max(1, Math.ceil(this.total / points));
    this.restart();
  }

  restart() {
    this.lead = new Walk(this.problem, this.spec, this.seed);
    // A mean over the last part of the steps is a difference of two sums: this one walks behind.
    this.lag = this.share > 0 && this.share < 1 ? new Walk(this.problem, this.spec, this.seed) : null;
    this.records = [];
    this.bound = -Infinity;
    this.record();
  }

  get t() {
    return this.lead.t;
  }

  get share() {
    return this.spec.model === "sdca" ? 0 : this.spec.average;
  }

  get certified() {
    return this.spec.model !== "perceptron" && !(this.spec.kernel === "polynomial" && this.spec.coef0 < 0);
  }

  // Go to a step, or as far as there is time until `end`; answers whether it is there. Going back is going again from the
  // start, which gives the same bits.
  goTo(t, end = Infinity) {
    const goal = Math.min(Math.max(Math.round(t), 0), this.total);
    if (goal < this.t) this.restart();
    while (this.t < goal) {
      this.lead.step();
      const due = this.t % this.every === 0 || this.t <= this.first || this.t === this.total;
      if (due) this.record();
      if (!due && this.t % LOOK) continue;
      this.follow();
      if (performance.now() > end) break;
    }
    return this.t === goal;
  }

  record() {
    this.records.push(this.evaluate(this.predictor()));
  }

  // The step after which the mean begins; the walk behind goes there.
  follow() {
    const start = this.share ? this.t - Math.ceil(this.share * this.t) : this.t;
    if (this.lag) while (this.lag.t < start) this.lag.step();
    return start;
  }

  // The coefficients of each predictor: f_j(x) = Σ_i c_ji K(x_i, x).
  predictor() {
    const { lead } = this;
    const t = lead.t;
    if (t === 0) return lead.coefficients.map((c) => c.slice());
    const start = this.follow();
    return lead.coefficients.map((c, j) => {
      if (!this.share) return lead.model === "pegasos" ? c.map((value) => value / (lead.param * t)) : c.slice();
      const before = this.lag && start > 0 ? this.lag.sums(j) : null;
      const scale = lead.model === "pegasos" ? lead.param * (t - start) : lead.clock[j];
      return lead.sums(j).map((value, i) => (before ? value - before[i] : value) / scale);
    });
  }

  // Objective, bound and errors of a predictor c, summed over the classes; the bound is the best so far.
  evaluate(c) {
    const { problem, spec } = this;
    const scores = c.map((each) => product(problem.K, each));
    const found = { t: this.t, training: this.errors(scores, problem.points), fresh: null, primal: 0, bound: null };
    if (problem.fresh.length) found.fresh = this.errors(c.map((each) => scoresOf(problem.freshK, each)), problem.fresh);
    if (!this.certified) {
      const { value } = LOSSES.perceptron;
      problem.signs.forEach((y, j) => y.forEach((sign, i) => (found.primal += value(sign * scores[j][i]) / problem.m)));
      return found;
    }
    let bound = 0;
    problem.signs.forEach((y, j) => {
      const each = certify(spec.loss, spec.lam, problem.K, y, c[j], scores[j]);
      found.primal += each.primal;
      bound += each.bound;
    });
    found.bound = this.bound = Math.max(this.bound, bound);
    return found;
  }

  // The share of points that get another class than their own.
  errors(scores, points) {
    const { classes } = this.problem;
    let wrong = 0;
    points.forEach((point, i) => (wrong += decide(scores, i, classes) !== point.c));
    return wrong / points.length;
  }
}

// The class that scores mean for row i: the sign of one, or the greatest of several.
export function decide(scores, i, classes) {
  if (scores.length === 1) return classes[scores[0][i] > 0 ? 1 : 0];
  let best = 0;
  for (let j = 1; j < scores.length; j++) if (scores[j][i] > scores[best][i]) best = j;
  return classes[best];
}
