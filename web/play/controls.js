// The controls: sliders and lists made from tables. A control reads the scene, and hands over what it was moved to.

import { KERNELS } from "./kernels.js";
import { MODELS } from "./state.js";
import { counted, short } from "./formula.js";

const powers = (low, high) => ({ low, high, step: 0.02, read: (x) => Number((10 ** x).toPrecision(2)), place: Math.log10, form: short });
const wholes = (low, high) => ({ low, high, step: 1, read: Number, place: Number, form: String });

// Counts that grow by about a fifth: 1, 2, 3, ... 10, 12, 15, ...
const COUNTS = [];
for (let value = 1; value <= 100000; value = Math.max(value + 1, Number((value * 1.2).toPrecision(2)))) COUNTS.push(value);
const counts = (most) => {
  const list = COUNTS.filter((value) => value <= most);
  const nearest = (count) => list.reduce((best, value, k) => (Math.abs(value - count) < Math.abs(list[best] - count) ? k : best), 0);
  return { low: 0, high: list.length - 1, step: 1, read: (k) => list[k], place: nearest, form: counted };
};

export const SCENE_SLIDERS = {
  n: { title: "points", ...wholes(10, 1000), step: 10 },
  noise: { title: "noise", low: 0, high: 1, step: 0.01, read: Number, place: Number, form: short },
};

export const LEARNER_SLIDERS = {
  variance: { title: "variance", ...powers(-2.6, 1.5) },
  scale: { title: "scale (width)", ...powers(-1.6, 1.5) },
  degree: { title: "degree", ...wholes(1, 9) },
  coef0: { title: "coef0", low: 0, high: 3, step: 0.1, read: Number, place: Number, form: short },
  lam: { title: "<i>λ</i>", ...powers(-6, 1) },
  count: { title: "epochs", ...counts(1000) },
  batch: { title: "batch size <i>k</i>", ...wholes(1, 50) },
};
export const STEPS_SLIDER = { title: "steps <i>T</i>", ...counts(100000) };

const AVERAGES = { 0: "last vector", 0.5: "mean, last half", 1: "mean of all" };
const SAMPLING_NAMES = { permutation: "permutations", uniform: "uniform", "fixed-permutation": "one permutation", "in-order": "in order" };

export const LEARNER_LISTS = {
  learner: { title: "learner", options: () => MODELS },
  kernel: { title: "kernel", options: () => Object.fromEntries(Object.entries(KERNELS).map(([name, { title }]) => [name, title])) },
  unit: { title: "length in", options: () => ({ epochs: "epochs", steps: "steps" }) },
  average: { title: "predictor", options: ({ model }) => (model === "perceptron" ? { 0: AVERAGES[0], 1: AVERAGES[1] } : AVERAGES) },
  sampling: {
    title: "draws",
    options: ({ model }) => {
      const { "in-order": order, ...others } = SAMPLING_NAMES;
      return model === "perceptron" ? { permutation: others.permutation, "in-order": order } : others;
    },
  },
};

// Which controls a learner has, in order.
export function controlsOf({ model, kernel }) {
  const own = { perceptron: ["count", "average", "sampling"], pegasos: ["lam", "count", "unit", "batch", "average", "sampling"], sdca: ["lam", "count", "sampling"] };
  return ["learner", "kernel", ...KERNELS[kernel].parameters, ...own[model]];
}

export const sliderOf = (name, spec) => (name === "count" && spec.unit === "steps" ? STEPS_SLIDER : LEARNER_SLIDERS[name] || SCENE_SLIDERS[name]);

// A slider with its label and its number: {row, show(value, beside)}; moved(value) while it moves, settled() after it.
export function makeSlider(id, moved, settled) {
  const row = document.createElement("div");
  row.className = "slider";
  row.innerHTML = `<label for="${id}"></label><output for="${id}" aria-live="off"></output><input type="range" id="${id}">`;
  const [label, output, input] = row.children;
  let declared = null;
  input.addEventListener("input", () => moved(declared.read(Number(input.value))));
  input.addEventListener("change", settled);
  const show = (slider, value, beside = "") => {
    if (declared !== slider) {
      declared = slider;
      label.innerHTML = slider.title;
      Object.assign(input, { min: slider.low, max: slider.high, step: slider.step });
    }
    // A slider that is held keeps its place: what it means may be rounded.
    if (declared.read(Number(input.value)) !== value) input.value = slider.place(value);
    const html = slider.form(value) + beside;
    if (output.shown === html) return;
    output.innerHTML = output.shown = html;
    input.setAttribute("aria-valuetext", output.textContent);
  };
  return { row, show };
}

// A list with its label.
export function makeList(id, title, chosen) {
  const row = document.createElement("div");
  row.className = "list";
  row.innerHTML = `<label for="${id}">${title}</label><select id="${id}"></select>`;
  const list = row.children[1];
  list.addEventListener("change", () => chosen(list.value));
  let shown = "";
  const show = (options, value) => {
    const names = JSON.stringify(options);
    if (names !== shown) {
      shown = names;
      list.replaceChildren(...Object.entries(options).map(([name, text]) => new Option(text, name)));
    }
    if (list.value !== String(value)) list.value = String(value);
  };
  return { row, show };
}
