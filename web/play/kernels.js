// The kernels of points in the plane, as in engine/kernels/standard.py.
//
// `build` gives value(a, b, c, d) of the points (a, b) and (c, d), and, where the kernel is a product of one factor for each
// coordinate, that factor: then a grid needs no exponential for each of its cells.

// base^degree by squaring, from the second highest bit of the degree on.
function power(base, degree) {
  let result = base;
  for (let bit = 30 - Math.clz32(degree); bit >= 0; bit--) {
    result *= result;
    if ((degree >> bit) & 1) result *= base;
  }
  return result;
}

export const KERNELS = {
  linear: {
    title: "Linear",
    formula: "x·z + 1",
    parameters: [],
    constant: 1, // the constant feature; the other kernels are those of fit_intercept=False
    build: () => ({ value: (a, b, c, d) => a * c + b * d }),
  },
  polynomial: {
    title: "Polynomial",
    formula: "(coef0 + x·z)^degree",
    parameters: ["degree", "coef0"],
    build: ({ degree, coef0 }) => ({ value: (a, b, c, d) => power(a * c + b * d + coef0, degree) }),
  },
  gaussian: {
    title: "Gaussian",
    formula: "exp(−‖x − z‖² / (2 variance))",
    parameters: ["variance"],
    build: ({ variance }) => {
      const rate = -1 / (2 * variance);
      const value = (a, b, c, d) => Math.exp(((a - c) * (a - c) + (b - d) * (b - d)) * rate);
      return { value, factor: (distance) => Math.exp(distance * distance * rate) };
    },
  },
  exponential: {
    title: "Exponential",
    formula: "exp(−‖x − z‖ / scale)",
    parameters: ["scale"],
    build: ({ scale }) => {
      const rate = -1 / scale;
      return { value: (a, b, c, d) => Math.exp(Math.sqrt((a - c) * (a - c) + (b - d) * (b - d)) * rate) };
    },
  },
  laplacian: {
    title: "Laplacian",
    formula: "exp(−‖x − z‖₁ / scale)",
    parameters: ["scale"],
    build: ({ scale }) => {
      const rate = -1 / scale;
      const value = (a, b, c, d) => Math.exp((Math.abs(a - c) + Math.abs(b - d)) * rate);
      return { value, factor: (distance) => Math.exp(Math.abs(distance) * rate) };
    },
  },
};

// K(x_i, x_r) of all points, with the constant feature: m x m, row by row.
export function gram(points, kernel, constant) {
  const m = points.length;
  const K = new Float64Array(m * m);
  for (let i = 0; i < m; i++) {
    const { x, y } = points[i];
    for (let r = 0; r <= i; r++) K[i * m + r] = K[r * m + i] = kernel.value(x, y, points[r].x, points[r].y) + constant;
  }
  return K;
}

// K between other points and these: others x m.
export function crossGram(others, points, kernel, constant) {
  const m = points.length;
  const K = new Float64Array(others.length * m);
  others.forEach(({ x, y }, i) => {
    for (let r = 0; r < m; r++) K[i * m + r] = kernel.value(x, y, points[r].x, points[r].y) + constant;
  });
  return K;
}

// Σ_r c_r K(r, ·), for a symmetric K; most coefficients are zero.
export function product(K, c) {
  const m = c.length;
  const result = new Float64Array(m);
  for (let r = 0; r < m; r++) {
    const weight = c[r];
    if (weight === 0) continue;
    for (let i = 0, at = r * m; i < m; i++, at++) result[i] += weight * K[at];
  }
  return result;
}

// The scores of other points: K (others x m) times c.
export function scoresOf(K, c) {
  const m = c.length;
  const count = m ? K.length / m : 0;
  const result = new Float64Array(count);
  for (let i = 0, at = 0; i < count; i++) {
    let total = 0;
    for (let r = 0; r < m; r++, at++) total += K[at] * c[r];
    result[i] = total;
  }
  return result;
}
