// The rules: at one drawn example a learner reads a score and answers one change of one coefficient, as in engine/walk/rules.py.
//
//   perceptron   param 1             change  -y ℓ'(y s)
//   pegasos      param λ k           change  -y ℓ'(y s/(λ k t))
//   sdca         param C = 1/(λ m)   change  y (z - own), z the best dual coefficient, all others as they are

import { LOSSES } from "./losses.js";

export function change(model, loss, s, y, own, kii, t, param) {
  const ys = y * s;
  if (model === "pegasos") return y * -LOSSES[loss].slope(ys, param * t);
  if (model === "perceptron") return y * param * -LOSSES[loss].slope(ys, 1);
  return y * (LOSSES[loss].dualStep(ys, own, kii, param) - own);
}

// What step t adds to the clock of averages.
export const tick = (model, t) => (model === "pegasos" ? 1 / t : 1);
