// Start the page; window.play gives access to its state.

import { sharedDraws } from "./draws.js";
import { Page } from "./page.js";
import { plannedSteps, Run } from "./run.js";
import { makeProblem } from "./walk.js";

const given = JSON.parse(document.getElementById("play-data").textContent);
const page = new Page(given);
if (!page.app.restore(location.hash) && !given) page.app.openLesson(0);
page.app.wake();

// Coefficients, objective and bound of a learner on points [[x, y, class], ...]: what the page would show.
function run({ points, spec, seed = 0 }) {
  const problem = makeProblem(points.map(([x, y, c]) => ({ x, y, c })), spec);
  const found = new Run(problem, spec, seed, 1);
  found.goTo(plannedSteps(spec, problem.m));
  const coefficients = found.predictor();
  found.bound = -Infinity; // that of these coefficients alone
  const { primal, bound, training } = found.evaluate(coefficients);
  return { coefficients: coefficients.map((c) => [...c]), steps: found.t, primal, bound, training };
}

const draws = ({ sampling, m, seed, count }) => Array.from({ length: count }, (_, k) => sharedDraws(sampling, m, seed).at(k));

// Frames a second while a slider moves to and fro.
function frames(id = "learner-lam", seconds = 3) {
  const input = document.getElementById(id);
  const [low, high] = [Number(input.min), Number(input.max)];
  const times = [];
  return new Promise((resolve) => {
    const tick = (now) => {
      times.push(now);
      input.value = low + (high - low) * (0.5 + 0.4 * Math.sin(times.length / 25));
      input.dispatchEvent(new Event("input", { bubbles: true }));
      if (now - times[0] < 1000 * seconds) return requestAnimationFrame(tick);
      input.dispatchEvent(new Event("change"));
      const gaps = times.slice(1).map((time, k) => time - times[k]).sort((a, b) => a - b);
      return resolve({ persecond: (1000 * gaps.length) / (now - times[0]), median: gaps[gaps.length >> 1], longest: gaps[gaps.length - 1] });
    };
    requestAnimationFrame(tick);
  });
}

window.play = { app: page.app, page, run, draws, frames };
