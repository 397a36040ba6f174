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
    text: "Each step draws one example. Only if its score is below the threshold does its coefficient change by one; press Space, or step with the full stop.",
    scene: { set: "pair", n: 40, noise: 0.5 },
    a: { kernel: "linear", lam: 0.05, average: 0, count: 10 },
    view: { t: 4, speed: 2 },
  },
  {
    title: "Why the Perceptron wanders on xor",
    text: "No line separates xor, so every epoch has mistakes and each of them turns the line: it never settles. The mean of all lines (on the right) stands almost still, and is no better.",
    scene: { set: "xor", n: 80, noise: 0.08 },
    a: { model: "perceptron", kernel: "linear", average: 0, count: 50 },
    b: { model: "perceptron", kernel: "linear", average: 1, count: 50 },
    view: { t: 1600, speed: 20 },
  },
  {
    title: "A kernel bends the line",
    text: "The same Perceptron, the same draws. With a Gaussian kernel every mistake puts a hill or a valley at its example, and soon an epoch passes without one.",
    scene: { set: "xor", n: 80, noise: 0.05 },
    a: { model: "perceptron", kernel: "linear", average: 0, count: 30 },
    b: { model: "perceptron", kernel: "gaussian", variance: 0.15, average: 0, count: 30 },
    view: { speed: 60 },
  },
  {
    title: "What λ does",
    text: "A large λ wants a short w: wide margins (dotted), and half of the examples hold them up. A small λ (large C) pays for each mistake instead, and the boundary follows single points.",
    scene: { set: "moons", n: 120, noise: 0.3 },
    a: { model: "sdca", lam: 0.03, variance: 0.25, count: 100 },
    b: { model: "sdca", lam: 0.0003, variance: 0.25, count: 100 },
  },
  {
    title: "A width that is too narrow",
    text: "Narrow hills touch only their own example: all training points are right, and between them the predictor knows nothing. Widen it and watch the error on fresh points.",
    scene: { set: "moons", n: 120, noise: 0.3 },
    a: { model: "sdca", variance: 0.005, lam: 0.001 },
  },
  {
    title: "Hinge against logistic",
    text: "The hinge loss forgets examples beyond their margin: few coefficients remain. The logistic loss never forgets, all bars stay; both err about equally often.",
    scene: { set: "pair", n: 100, noise: 0.6 },
    a: { model: "sdca", loss: "hinge", kernel: "linear", lam: 0.01 },
    b: { model: "sdca", loss: "logistic", kernel: "linear", lam: 0.01 },
  },
  {
    title: "Uniform draws against permutations",
    text: "After one epoch of independent draws about a third of the examples was never seen. A permutation sees each one once, and here its objective stays ahead.",
    scene: { set: "moons", n: 100, noise: 0.25 },
    a: { sampling: "uniform", lam: 0.01, average: 0, count: 8 },
    b: { sampling: "permutation", lam: 0.01, average: 0, count: 8 },
    view: { t: 100, speed: 50 },
  },
  {
    title: "Averaging",
    text: "The last vector jumps with every example that it saw last. The mean over the last half of all steps hardly moves, and its objective is lower.",
    scene: { set: "pair", n: 120, noise: 0.9 },
    a: { kernel: "linear", average: 0, lam: 0.003, count: 20 },
    b: { kernel: "linear", average: 0.5, lam: 0.003, count: 20 },
    view: { speed: 60 },
  },
  {
    title: "One against all",
    text: "Three classes are three predictors: each wants its own class on one side and all others on the other. The highest score wins, so borders meet where two are equal.",
    scene: { set: "blobs", n: 150, noise: 0.55 },
    a: { model: "sdca", kernel: "linear", lam: 0.01 },
  },
  {
    title: "A label that is wrong",
    text: "One square stands among the circles. A small λ draws an island around it; move λ up until the predictor gives the point up, its coefficient stays at the limit C.",
    scene: { set: "empty", points: WRONG },
    a: { model: "sdca", lam: 0.0005, variance: 0.3, count: 200 },
  },
  {
    title: "Why a duality gap is a proof",
    text: "No predictor can be below the lower line, whatever it is: it comes from the dual. Where both lines meet nothing is left to gain, and the boundary lies on the dashed optimum.",
    scene: { set: "moons", n: 100, noise: 0.3 },
    a: { model: "pegasos", lam: 0.01, count: 40, average: 0.5 },
    b: { model: "sdca", lam: 0.01, count: 40 },
    view: { t: 150, speed: 100, optimum: true },
  },
  {
    title: "Overfitting, seen on fresh points",
    text: "On 40 noisy points A makes no training error and many on fresh points: it has learned the noise. B errs in training, and less on what it has never seen.",
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
