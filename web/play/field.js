// Scores over a grid of the plane, and lines of equal score in it (marching squares). No canvas here.

// What one kernel value on the grid costs, against one multiplication, which each predictor needs besides.
const COSTS = { gaussian: 0, laplacian: 0, polynomial: 3, exponential: 14 };
const SPACINGS = [5, 6, 8, 10, 12, 16, 20];

// The finest grid (pixels between its lines) whose scores cost no more than the budget.
export function spacing(width, height, support, predictors, kernelName, budget) {
  const each = kernelName === "linear" ? 0 : support * (predictors + COSTS[kernelName]);
  const cost = (pixels) => (width / pixels) * (height / pixels) * each;
  return SPACINGS.find((pixels) => cost(pixels) <= budget) || SPACINGS[SPACINGS.length - 1];
}

// A grid over a window of the plane: columns x rows points, x to the right, y downwards.
export function makeGrid(view, width, height, pixels) {
  const columns = Math.ceil(width / pixels) + 1;
  const rows = Math.ceil(height / pixels) + 1;
  const xs = Float64Array.from({ length: columns }, (_, k) => view.left + (k * pixels) / view.scale);
  const ys = Float64Array.from({ length: rows }, (_, k) => view.top - (k * pixels) / view.scale);
  return { columns, rows, pixels, xs, ys };
}

// Σ_i c_i K(x_i, ·) on the grid, for each predictor c: the kernel of a point and a place is asked for once for all of them.
export function scoreFields(problem, kernelName, predictors, grid) {
  const { points, kernel, constant } = problem;
  const fields = predictors.map(() => new Float64Array(grid.columns * grid.rows));
  if (kernelName === "linear") {
    predictors.forEach((c, j) => linearField(points, c, grid, fields[j]));
    return fields;
  }
  const hill = kernel.factor ? productHill(kernel.factor, grid) : plainHill(kernel.value, constant, grid);
  points.forEach((point, i) => {
    if (predictors.every((c) => c[i] === 0)) return;
    hill.stand(point);
    predictors.forEach((c, j) => c[i] !== 0 && hill.add(fields[j], c[i]));
  });
  return fields;
}

// The kernel around one point, where it is a product of one factor for each coordinate.
function productHill(factor, { columns, rows, xs, ys }) {
  const [across, down] = [new Float64Array(columns), new Float64Array(rows)];
  const stand = ({ x, y }) => {
    for (let k = 0; k < columns; k++) across[k] = factor(xs[k] - x);
    for (let row = 0; row < rows; row++) down[row] = factor(ys[row] - y);
  };
  const add = (field, weight) => {
    for (let row = 0, at = 0; row < rows; row++) {
      const height = weight * down[row];
      if (down[row] < 1e-150) at += columns;
      else for (let k = 0; k < columns; k++, at++) field[at] += height * across[k];
    }
  };
  return { stand, add };
}

// The kernel around one point, any kernel.
function plainHill(value, constant, { columns, rows, xs, ys }) {
  const values = new Float64Array(columns * rows);
  const stand = ({ x, y }) => {
    for (let row = 0, at = 0; row < rows; row++) {
      for (let k = 0; k < columns; k++, at++) values[at] = value(x, y, xs[k], ys[row]) + constant;
    }
  };
  const add = (field, weight) => {
    for (let at = 0; at < field.length; at++) field[at] += weight * values[at];
  };
  return { stand, add };
}

function linearField(points, c, { columns, rows, xs, ys }, field) {
  let [a, b, bias] = [0, 0, 0];
  points.forEach(({ x, y }, i) => {
    a += c[i] * x;
    b += c[i] * y;
    bias += c[i];
  });
  for (let row = 0, at = 0; row < rows; row++) for (let k = 0; k < columns; k++, at++) field[at] = a * xs[k] + b * ys[row] + bias;
}

// How far the score of class j is above all others: its region is where this is positive.
export function lead(fields, j) {
  return fields[j].map((value, at) => {
    let other = -Infinity;
    for (let k = 0; k < fields.length; k++) if (k !== j) other = Math.max(other, fields[k][at]);
    return value - other;
  });
}

// The corners of a square whose score is above the level, as a number, and the sides that the line crosses.
const CROSSED = [[], [[3, 0]], [[0, 1]], [[3, 1]], [[1, 2]], [[3, 0], [1, 2]], [[0, 2]], [[3, 2]]];

// Lines [x, y, x, y, ...] in pixels on which the field has this level.
export function contour(field, { columns, rows, pixels }, level) {
  const places = new Map(); // from a side of a square, by its number, to the place where a line crosses it
  const links = new Map(); // and to the one or two sides that a line reaches from there
  const link = (from, to) => (links.has(from) ? links.get(from).push(to) : links.set(from, [to]));
  for (let row = 0; row + 1 < rows; row++) {
    for (let k = 0; k + 1 < columns; k++) {
      const at = row * columns + k;
      const a = field[at] - level;
      const b = field[at + 1] - level;
      const c = field[at + columns + 1] - level;
      const d = field[at + columns] - level;
      const inside = (a > 0 ? 1 : 0) | (b > 0 ? 2 : 0) | (c > 0 ? 4 : 0) | (d > 0 ? 8 : 0);
      if (inside === 0 || inside === 15) continue;
      const numbers = [2 * at, 2 * at + 3, 2 * (at + columns), 2 * at + 1];
      const cross = (side) => {
        if (side === 0) return [k + a / (a - b), row];
        if (side === 1) return [k + 1, row + b / (b - c)];
        if (side === 2) return [k + d / (d - c), row + 1];
        return [k, row + a / (a - d)];
      };
      for (const ends of CROSSED[inside < 8 ? inside : 15 - inside]) {
        for (const side of ends) places.set(numbers[side], cross(side));
        link(numbers[ends[0]], numbers[ends[1]]);
        link(numbers[ends[1]], numbers[ends[0]]);
      }
    }
  }
  return joined(places, links, pixels);
}

// Whole lines, so that dashes run along them: first those with two ends, then those that are closed.
function joined(places, links, pixels) {
  const lines = [];
  const follow = (start) => {
    const line = [];
    let at = start;
    while (at !== undefined) {
      const [x, y] = places.get(at);
      line.push(x * pixels, y * pixels);
      const next = links.get(at).pop();
      if (next !== undefined) links.get(next).splice(links.get(next).indexOf(at), 1);
      at = next;
    }
    lines.push(line);
  };
  for (const [side, ends] of links) if (ends.length === 1) follow(side);
  for (const [side, ends] of links) if (ends.length) follow(side);
  return lines;
}
