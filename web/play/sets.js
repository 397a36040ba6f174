// Sets of points in the plane, drawn anew for every seed; the window of the plane shows -2.7 to 2.7.

import { Random } from "./random.js";

const FRESH = 200;
const THIRDS = [[-1.4, -0.75], [1.4, -0.75], [0, 1.25]];

// Each gives one point of a class around 0, without noise, and how much noise it usually has.
const DRAWN = {
  moons: {
    title: "Moons",
    noise: 0.25,
    classes: 2,
    place: (c, random) => {
      const angle = Math.PI * random.uniform();
      return c ? [0.6 - 1.2 * Math.cos(angle), 0.3 - 1.2 * Math.sin(angle)] : [1.2 * Math.cos(angle) - 0.6, 1.2 * Math.sin(angle) - 0.3];
    },
  },
  circles: {
    title: "Circles",
    noise: 0.15,
    classes: 2,
    place: (c, random) => {
      const angle = 2 * Math.PI * random.uniform();
      const radius = c ? 0.85 : 1.75;
      return [radius * Math.cos(angle), radius * Math.sin(angle)];
    },
  },
  xor: {
    title: "Xor",
    noise: 0.1,
    classes: 2,
    place: (c, random) => {
      const [x, y] = [1.8 * random.uniform(), 1.8 * random.uniform()];
      const turned = random.uniform() < 0.5 ? -1 : 1;
      return [turned * x, (c ? -turned : turned) * y];
    },
  },
  pair: { title: "Two blobs", noise: 0.55, classes: 2, place: (c) => (c ? [1, 0.7] : [-1, -0.7]) },
  blobs: { title: "Three blobs", noise: 0.55, classes: 3, place: (c) => THIRDS[c] },
};

export const SETS = {
  ...Object.fromEntries(Object.entries(DRAWN).map(([name, { title, noise }]) => [name, { title, noise }])),
  empty: { title: "Empty", noise: 0 },
};

// Coordinates have three decimals: so an address restores them exactly.
export const rounded = (value) => Math.round(value * 1000) / 1000;

function draw(set, count, noise, random) {
  return Array.from({ length: count }, (_, k) => {
    const c = k % set.classes;
    const [x, y] = set.place(c, random);
    return { x: rounded(x + noise * random.normal()), y: rounded(y + noise * random.normal()), c };
  });
}

// The points of a set, and others from the same source that take no part in learning. `given` is the table of this page.
export function makeSet({ set, n, noise, sample }, given) {
  if (set === "data" && given) return { points: given.points.slice(0, n), fresh: given.points.slice(n, n + FRESH) };
  if (!DRAWN[set]) return { points: [], fresh: [] };
  const points = draw(DRAWN[set], n, noise, new Random(sample, [1]));
  return { points, fresh: draw(DRAWN[set], FRESH, noise, new Random(sample, [2])) };
}
