// How far from the best possible: P(w) of a predictor, and a bound below every P that its own coefficients and margins prove.
//
//   P(w) = λ/2 ‖w‖² + Σ ℓ(y_i w·x_i)/m  >=  D(a) = λ (Σ d(a_i, C) - ‖Σ a_i y_i x_i‖²/2)   for all 0 <= a_i <= C = 1/(λ m)

import { product } from "./kernels.js";
import { LOSSES } from "./losses.js";

// D at a, for the hinge loss shrunk to its best length; `own` are the scores of Σ a_i y_i x_i.
function dual(loss, lam, signs, a, own) {
  const m = a.length;
  const bound = 1 / (lam * m);
  let length = 0;
  let total = 0;
  for (let i = 0; i < m; i++) {
    length += a[i] * signs[i] * own[i];
    total += a[i];
  }
  const factor = loss.linearDual && length > 0 ? Math.min(Math.max(total / length, 0), 1) : 1;
  let terms = 0;
  for (let i = 0; i < m; i++) terms += loss.dualTerm(a[i] * factor, bound);
  return lam * (terms - 0.5 * factor * factor * length);
}

// The candidates that regularized.py tries: the coefficients clipped into the box, and a_i = -C ℓ'(y_i w·x_i).
export function certify(lossName, lam, K, signs, c, scores) {
  const loss = LOSSES[lossName];
  const m = c.length;
  const bound = 1 / (lam * m);
  let squared = 0;
  let cost = 0;
  let feasible = true;
  const clipped = new Float64Array(m);
  const sloped = new Float64Array(m);
  for (let i = 0; i < m; i++) {
    const own = signs[i] * c[i];
    const margin = signs[i] * scores[i];
    squared += c[i] * scores[i];
    cost += loss.value(margin);
    clipped[i] = Math.min(Math.max(own, 0), bound);
    feasible = feasible && clipped[i] === own;
    sloped[i] = -bound * loss.slope(margin, 1);
  }
  const signed = (a) => a.map((value, i) => value * signs[i]);
  const bounds = [
    dual(loss, lam, signs, clipped, feasible ? scores : product(K, signed(clipped))),
    dual(loss, lam, signs, sloped, product(K, signed(sloped))),
  ];
  return { primal: 0.5 * lam * squared + cost / m, bound: Math.max(...bounds) };
}
