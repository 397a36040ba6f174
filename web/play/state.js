// The state of the page: what is drawn and who learns it (undone and shared), and where one looks (shared only).

import { SAMPLINGS } from "./draws.js";
import { KERNELS } from "./kernels.js";
import { rounded, SETS } from "./sets.js";

export const MODELS = {
  perceptron: "Perceptron",
  "pegasos hinge": "Pegasos, hinge loss",
  "pegasos logistic": "Pegasos, logistic loss",
  "sdca hinge": "SDCA, hinge loss",
  "sdca logistic": "SDCA, logistic loss",
};

export const LEARNER = {
  model: "pegasos",
  loss: "hinge",
  kernel: "gaussian",
  degree: 3,
  coef0: 1,
  variance: 0.3,
  scale: 0.7,
  lam: 0.01,
  unit: "epochs",
  count: 20,
  average: 0.5,
  batch: 1,
  sampling: "permutation",
};

export const SCENE = { set: "moons", n: 120, noise: 0.25, sample: 1, points: null, seed: 0, compare: false, a: LEARNER, b: LEARNER };
export const VIEW = { t: Infinity, optimum: false, speed: 30, column: 0 };

export const MOST_POINTS = 1000;
const NUMBERS = {
  lam: [1e-7, 100],
  variance: [1e-3, 100],
  scale: [1e-3, 100],
  degree: [1, 9],
  coef0: [0, 10],
  count: [1, 100000],
  batch: [1, 100],
};
const WHOLE = new Set(["degree", "count", "batch"]);
const WORDS = {
  model: ["perceptron", "pegasos", "sdca"],
  loss: ["hinge", "logistic"],
  kernel: Object.keys(KERNELS),
  unit: ["epochs", "steps"],
  sampling: SAMPLINGS,
};

const within = (value, [low, high]) => Math.min(Math.max(value, low), high);

// What each model can do, as the library has it: a wish that it cannot fulfil becomes the nearest one that it can.
export function sensible(spec) {
  const found = { ...spec };
  for (const [name, range] of Object.entries(NUMBERS)) {
    const value = Number(found[name]);
    found[name] = within(Number.isFinite(value) ? value : LEARNER[name], range);
    if (WHOLE.has(name)) found[name] = Math.round(found[name]);
  }
  for (const [name, words] of Object.entries(WORDS)) if (!words.includes(found[name])) found[name] = LEARNER[name];
  found.average = [0, 0.5, 1].includes(Number(found.average)) ? Number(found.average) : LEARNER.average;
  if (found.model !== "pegasos") Object.assign(found, { unit: "epochs", batch: 1 });
  if (found.unit === "epochs") found.count = Math.min(found.count, 1000);
  if (found.model === "perceptron") {
    if (found.average) found.average = 1;
    if (!["permutation", "in-order"].includes(found.sampling)) found.sampling = "permutation";
  } else if (found.sampling === "in-order") found.sampling = "permutation";
  return found;
}

// -- undo ------------------------------------------------------------------------------------------------------------

// Changes with the same name one after another (a slider that moves, a point that is dragged) are undone as one.
export class History {
  constructor(first) {
    [this.past, this.now, this.future, this.name] = [[], first, [], null];
  }

  change(next, name) {
    if (name !== this.name || name === null) this.past.push(this.now);
    if (this.past.length > 300) this.past.shift();
    [this.now, this.future, this.name] = [next, [], name];
  }

  // The next change is one of its own, whatever it is called.
  close() {
    this.name = null;
  }

  undo() {
    if (!this.past.length) return false;
    this.future.push(this.now);
    [this.now, this.name] = [this.past.pop(), null];
    return true;
  }

  redo() {
    if (!this.future.length) return false;
    this.past.push(this.now);
    [this.now, this.name] = [this.future.pop(), null];
    return true;
  }
}

// -- addresses -------------------------------------------------------------------------------------------------------

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const HALF = 131072; // coordinates are thousandths from -131.072 on, as three digits

const coordinate = (value) => {
  const whole = within(Math.round(value * 1000) + HALF, [0, 2 * HALF - 1]);
  return DIGITS[whole >> 12] + DIGITS[(whole >> 6) & 63] + DIGITS[whole & 63];
};

const packed = (points) => points.map(({ x, y, c }) => coordinate(x) + coordinate(y) + DIGITS[c]).join("");

function unpacked(text) {
  const digits = [...text].map((letter) => DIGITS.indexOf(letter));
  if (text.length % 7 || digits.includes(-1)) throw new Error("these are no points");
  const value = (at) => rounded(((digits[at] << 12) + (digits[at + 1] << 6) + digits[at + 2] - HALF) / 1000);
  const points = [];
  for (let at = 0; at < digits.length; at += 7) points.push({ x: value(at), y: value(at + 3), c: digits[at + 6] % 10 });
  return points.slice(0, MOST_POINTS);
}

const packedLearner = (spec) =>
  Object.keys(LEARNER)
    .filter((name) => spec[name] !== LEARNER[name])
    .map((name) => `${name}:${spec[name]}`)
    .join(",");

const unpackedLearner = (text) =>
  sensible({ ...LEARNER, ...Object.fromEntries((text || "").split(",").filter(Boolean).map((pair) => pair.split(":"))) });

// A state as the part of an address after its #.
export function encode(scene, view) {
  const { set, n, noise, sample, points, seed, compare, a, b } = scene;
  const parts = { set: [set, n, noise, sample].join(","), seed, a: packedLearner(a) };
  if (compare) parts.b = packedLearner(b);
  if (points) parts.points = packed(points);
  if (Number.isFinite(view.t)) parts.t = view.t;
  if (view.optimum) parts.optimum = 1;
  parts.speed = view.speed;
  return Object.entries(parts).map(([name, value]) => `${name}=${value}`).join("&");
}

// The state of an address, checked; null where it has none.
export function decode(text, given) {
  const parts = Object.fromEntries(text.replace(/^#/, "").split("&").map((pair) => [pair.split("=")[0], pair.slice(pair.indexOf("=") + 1)]));
  if (parts.set === undefined) return null;
  const [set, n, noise, sample] = decodeURIComponent(parts.set).split(",");
  if (!SETS[set] && !(set === "data" && given)) throw new Error("it is not a state of this page");
  const number = (value, range, usual) => (Number.isFinite(Number(value)) && value !== undefined ? within(Number(value), range) : usual);
  const scene = {
    set,
    n: Math.round(number(n, [2, MOST_POINTS], SCENE.n)),
    noise: number(noise, [0, 2], SCENE.noise),
    sample: Math.round(number(sample, [0, 1e9], 1)),
    points: parts.points === undefined ? null : unpacked(parts.points),
    seed: Math.round(number(parts.seed, [0, 1e9], 0)),
    compare: parts.b !== undefined,
    a: unpackedLearner(decodeURIComponent(parts.a || "")),
    b: unpackedLearner(decodeURIComponent(parts.b || "")),
  };
  const t = parts.t === undefined ? Infinity : Math.round(number(parts.t, [0, 1e9], Infinity));
  return { scene, view: { ...VIEW, t, optimum: parts.optimum === "1", speed: number(parts.speed, [1, 10000], VIEW.speed) } };
}
