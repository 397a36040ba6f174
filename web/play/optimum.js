// The exact optimum of a problem: epochs of SDCA in slices of time, until the duality gap proves that it is near enough.

import { certify } from "./certificate.js";
import { Walk } from "./walk.js";

const TOLERANCE = 1e-3;
const MOST_SECONDS = 6;

export class Optimum {
  constructor(problem, spec) {
    this.problem = problem;
    this.spec = { ...spec, model: "sdca", sampling: "permutation" };
    this.walk = new Walk(problem, this.spec, 0);
    this.seconds = 0;
    this.epochs = 0;
    this.best = { primal: Infinity, bound: -Infinity };
    this.coefficients = null;
  }

  get gap() {
    return (this.best.primal - this.best.bound) / this.best.primal;
  }

  get reached() {
    return this.gap <= TOLERANCE;
  }

  get done() {
    return this.reached || this.seconds > MOST_SECONDS;
  }

  // Work for some milliseconds; certificates become rarer, as they cost more than an epoch.
  work(milliseconds) {
    const start = performance.now();
    while (!this.done && performance.now() - start < milliseconds) {
      for (let k = 0; k < this.problem.m; k++) this.walk.step();
      this.epochs += 1;
      if (this.epochs % Math.ceil(Math.sqrt(this.epochs)) === 0) this.look();
    }
    this.seconds += (performance.now() - start) / 1000;
  }

  look() {
    const { K, signs } = this.problem;
    const { coefficients, scores } = this.walk;
    const all = signs.map((y, j) => certify(this.spec.loss, this.spec.lam, K, y, coefficients[j], scores[j]));
    const primal = all.reduce((sum, each) => sum + each.primal, 0);
    if (primal < this.best.primal) this.coefficients = coefficients.map((c) => c.slice());
    this.best.primal = Math.min(this.best.primal, primal);
    this.best.bound = Math.max(this.best.bound, all.reduce((sum, each) => sum + each.bound, 0));
  }
}
