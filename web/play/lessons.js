// The lessons: each is a state and one or two sentences. What a lesson does not say is as in state.js.
//
//   scene   the set of points; a, b: the learners (b: two side by side)
//   view       t: the step to begin with (the end where it says nothing), speed: steps a second, optimum: dashed

import { SCENE, LEARNER, sensible, VIEW } from "./state.js";

// Three clear groups and one label that is wrong, at (-1.1, -0.6).
const WRONG = [
  [-1.6, -0.2], [-1.2, -1.1], [-0.7, -0.9], [-1.5, -0.8], [-0.9, -0.2], [-1.9, -0.6], [-1.1, 0.2], [-0.6, -0.5], [-1.3, -1.5], [-0.4, -1.2],
].map(([x, y]) => ({ x, y, c: 0 })).concat(
  [[1.6, 0.2], [1.2, 1.1], [0.7, 0.9], [1.5, 0.8], [0.9, 0.2], [1.9, 0.6], [1.1, -0.2], [0.6, 0.5], [1.3, 1.5], [0.4, 1.2], [-1.1, -0.6]]
    .map(([x, y]) => ({ x, y, c: 1 })),
);

export const LESSONS = [
  {
    title: "One rule, one example at a time",
    text: "Each step draws one example. If its score is below the threshold, its coefficient changes by one. Press Space to play, or the period key for one step.",
    scene: { set: "pair", n: 40, noise: 0.5 },
    a: { kernel: "linear", lam: 0.05, average: 0, count: 10 },
    view: { t: 4, speed: 2 },
  },
  {
    title: "Why the Perceptron wanders on xor",
    text: "No line separates xor, so every epoch has mistakes, and each one turns the line: it never converges. The average of all lines (on the right) hardly moves, and its error is no lower.",
    scene: { set: "xor", n: 80, noise: 0.08 },
    a: { model: "perceptron", kernel: "linear", average: 0, count: 50 },
    b: { model: "perceptron", kernel: "linear", average: 1, count: 50 },
    view: { t: 1600, speed: 20 },
  },
  {
    title: "A kernel bends the line",
    text: "The same Perceptron, the same draws. With a Gaussian kernel every mistake adds a bump at its example, and soon an epoch has no mistakes.",
    scene: { set: "xor", n: 80, noise: 0.05 },
    a: { model: "perceptron", kernel: "linear", average: 0, count: 30 },
    b: { model: "perceptron", kernel: "gaussian", variance: 0.15, average: 0, count: 30 },
    view: { speed: 60 },
  },
  {
    title: "What λ does",
    text: "A large λ keeps w short: margins (dotted) are wide, and half of the examples are support vectors. A small λ (large C) penalizes each mistake, and the boundary follows single points.",
    scene: { set: "moons", n: 120, noise: 0.3 },
    a: { model: "sdca", lam: 0.03, variance: 0.25, count: 100 },
    b: { model: "sdca", lam: 0.0003, variance: 0.25, count: 100 },
  },
  {
    title: "A width that is too narrow",
    text: "Narrow bumps cover only their own example: all training points are correct, but scores between them are near zero. Increase the width and watch the error on new points.",
    scene: { set: "moons", n: 120, noise: 0.3 },
    a: { model: "sdca", variance: 0.005, lam: 0.001 },
  },
  {
    title: "Hinge against logistic",
    text: "The hinge loss is zero beyond the margin, so few coefficients are nonzero. The logistic loss is never zero, so all of them are. Both errors are about the same.",
    scene: { set: "pair", n: 100, noise: 0.6 },
    a: { model: "sdca", loss: "hinge", kernel: "linear", lam: 0.01 },
    b: { model: "sdca", loss: "logistic", kernel: "linear", lam: 0.01 },
  },
  {
    title: "Uniform draws against permutations",
    text: "After one epoch of independent draws about a third of the examples was never drawn. A permutation draws each one once, and here its objective is lower.",
    scene: { set: "moons", n: 100, noise: 0.25 },
    a: { sampling: "uniform", lam: 0.01, average: 0, count: 8 },
    b: { sampling: "permutation", lam: 0.01, average: 0, count: 8 },
    view: { t: 100, speed: 50 },
  },
  {
    title: "Averaging",
    text: "The last vector changes with every example. The average over the last half of all steps hardly moves, and its objective is lower.",
    scene: { set: "pair", n: 120, noise: 0.9 },
    a: { kernel: "linear", average: 0, lam: 0.003, count: 20 },
    b: { kernel: "linear", average: 0.5, lam: 0.003, count: 20 },
    view: { speed: 60 },
  },
  {
    title: "One-vs-rest",
    text: "Three classes have three predictors: each separates its class from all others. The highest score wins, so boundaries are where two scores are equal.",
    scene: { set: "blobs", n: 150, noise: 0.55 },
    a: { model: "sdca", kernel: "linear", lam: 0.01 },
  },
  {
    title: "A wrong label",
    text: "One square stands among the circles. A small λ draws an island around it. Increase λ until the point is misclassified and its coefficient stays at the bound C.",
    scene: { set: "empty", points: WRONG },
    a: { model: "sdca", lam: 0.0005, variance: 0.3, count: 200 },
  },
  {
    title: "Why a duality gap is a proof",
    text: "The lower line is the dual objective: no predictor can be below it. Where both lines meet, the boundary has reached the dashed optimum.",
    scene: { set: "moons", n: 100, noise: 0.3 },
    a: { model: "pegasos", lam: 0.01, count: 40, average: 0.5 },
    b: { model: "sdca", lam: 0.01, count: 40 },
    view: { t: 150, speed: 100, optimum: true },
  },
  {
    title: "Overfitting, seen on new points",
    text: "On 40 noisy points A has no training errors but many on new points: it has fitted the noise. B has training errors, and fewer on new points.",
    scene: { set: "circles", n: 40, noise: 0.45, sample: 3 },
    a: { model: "sdca", variance: 0.05, lam: 0.0001, count: 60 },
    b: { model: "sdca", variance: 0.5, lam: 0.02, count: 60 },
  },
];

// A lesson as a state.
export function stateOf(lesson) {
  const learner = (spec) => sensible({ ...LEARNER, ...spec });
  const scene = { ...SCENE, ...lesson.scene, a: learner(lesson.a), b: learner(lesson.b), compare: Boolean(lesson.b) };
  return { scene, view: { ...VIEW, ...lesson.view } };
}
