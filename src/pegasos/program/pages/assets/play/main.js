// The start; and a door for those who want to look behind it: window.play.

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
  const found = new Run(problem, spec, seed, [], 1);
  found.goTo(plannedSteps(spec, problem.m));
  const coefficients = found.predictor();
  const { primal, bound, training } = found.evaluate(coefficients);
  return { coefficients: coefficients.map((c) => [...c]), steps: found.t, primal, bound, training };
}

const draws = ({ sampling, m, seed, count }) => Array.from({ length: count }, (_, k) => sharedDraws(sampling, m, seed).at(k));

window.play = { app: page.app, page, run, draws };
