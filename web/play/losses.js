// The losses: value, slope, dual term and dual step, as in engine/walk/losses.py.

export const sigmoid = (z) => {
  if (z >= 0) return 1 / (1 + Math.exp(-z));
  const e = Math.exp(z);
  return e / (1 + e);
};

const softplus = (z) => Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z)));

// z = C σ(θ) by Newton on the logit θ, kept inside a bracket: θ + kii (C σ(θ) - own) + y s is increasing.
function logisticStep(ys, own, kii, bound) {
  let low = -ys - kii * (bound - own);
  let high = -ys + kii * own;
  let theta = own > 0 && own < bound ? Math.log(own) - Math.log(bound - own) : 0.5 * (low + high);
  theta = Math.min(Math.max(theta, low), high);
  let last = high - low;
  for (let round = 0; round < 200; round++) {
    const p = sigmoid(theta);
    const h = theta + kii * (bound * p - own) + ys;
    if (h > 0) high = theta;
    else low = theta;
    const step = h / (1 + kii * bound * p * (1 - p));
    let next = theta - step;
    const newton = low < next && next < high && Math.abs(step) <= 0.5 * last;
    if (!newton) next = 0.5 * (low + high);
    last = Math.abs(next - theta);
    theta = next;
    // Here |h''| <= h', so a step of Newton's leaves no more than half its square to go.
    if (last <= (newton ? 1e-8 : 1e-15) * Math.max(1, Math.abs(theta))) break;
  }
  return bound * sigmoid(theta);
}

function logisticTerm(a, bound) {
  if (!(a > 0 && a < bound)) return 0;
  const share = a / bound;
  return -(bound * (share * Math.log(share) + (1 - share) * Math.log1p(-share)));
}

// value(m); slope at m = ys/scale; dualTerm(a, C); dualStep(ys, own, kii, C); whether d(a, C) = a.
export const LOSSES = {
  hinge: {
    value: (m) => Math.max(0, 1 - m),
    slope: (ys, scale) => (ys < scale ? -1 : 0),
    dualTerm: (a) => a,
    dualStep: (ys, own, kii, bound) => {
      if (kii > 0) return Math.min(Math.max(own + (1 - ys) / kii, 0), bound);
      return ys < 1 ? bound : 0;
    },
    linearDual: true,
  },
  logistic: {
    value: (m) => softplus(-m),
    slope: (ys, scale) => -sigmoid(-ys / scale),
    dualTerm: logisticTerm,
    dualStep: (ys, own, kii, bound) => (bound > 0 ? logisticStep(ys, own, kii, bound) : own),
    linearDual: false,
  },
  perceptron: {
    value: (m) => Math.max(0, -m),
    slope: (ys) => (ys <= 0 ? -1 : 0),
  },
};
