// The pictures beside the plane: objective and bound, errors, coefficients; and what they say in words.

import { brief, drawBars, drawCurves } from "./charts.js";
import { short } from "./formula.js";
import { classColour, THEMES } from "./palette.js";

const percent = (share) => {
  if (share > 0 && share < 1e-5) return "below 0.001\u00a0%";
  return `${Number((100 * Math.max(share, 0)).toPrecision(share > 0.1 ? 3 : 2))}\u00a0%`;
};
const DASHES = [6, 5];
const NEAR_STEPS = 16;

// How far the axis of steps goes: all of them in the end, and few for few, so that the first steps can be seen.
export function horizon(t, total) {
  let most = NEAR_STEPS;
  while (most < t) most *= 2;
  return Math.max(1, 2 * most > total ? total : most);
}

// The records of a run up to now, and now itself.
const curveOf = (run, now) => [...run.records.filter(({ t }) => t < now.t), now];

// The top of the chart of objectives: that of w = 0 matters, and where a run is now, unless that is far above it.
function topOf(all, optima) {
  const nothing = Math.max(...all.map(({ run }) => run.problem.signs.length * (run.spec.loss === "logistic" && run.certified ? Math.LN2 : 1)));
  const least = Math.max(...all.map(({ run, now }, k) => Math.min((optima[k] || now).primal ?? now.primal, now.primal)));
  const here = Math.max(...all.map(({ now }) => now.primal));
  return Math.max(Math.min(1.25 * nothing, Math.max(2.5 * least, 0.02 * nothing)), here <= 4 * nothing ? 1.1 * here : 0);
}

// `all`: [{run, now (its record), c, colour, name}], `optima`: what is known of each optimum or null.
export function drawObjective(canvas, theme, all, optima, total) {
  const curves = [];
  const best = optima.map((optimum) => (optimum && Number.isFinite(optimum.best.primal) ? optimum.best : null));
  all.forEach(({ run, now, colour }, k) => {
    const records = curveOf(run, now);
    const bound = records.filter((each) => each.bound !== null).map(({ t, bound: value }) => [t, Math.max(0, value)]);
    const points = records.map(({ t, primal }) => [t, primal]);
    curves.push({ points, colour, down: bound.length ? bound : null });
    if (bound.length) curves.push({ points: bound, colour, width: 1.5, dashes: [2, 4] });
    if (best[k]) curves.push({ points: [[0, best[k].primal], [total, best[k].primal]], colour: THEMES[theme].optimum, dashes: [9, 6], width: 2 });
  });
  drawCurves(canvas, THEMES[theme], { curves, mostX: total, mostY: topOf(all, best), now: all[0].now.t });
}

export function objectiveWords({ run, now }, optimum) {
  if (!run.certified) return `loss ${brief(now.primal)} · no bound without λ`;
  const gap = percent((now.primal - now.bound) / now.primal);
  const words = `${brief(now.primal)} · bound ${brief(Math.max(0, now.bound))} · gap <strong>${gap}</strong>`;
  if (!optimum || !Number.isFinite(optimum.best.primal)) return words;
  const how = optimum.reached ? "" : optimum.done ? ` (±${percent(optimum.gap)})` : " …";
  return `${words} · best ${brief(optimum.best.primal)}${how}`;
}

export function drawErrors(canvas, theme, all, total) {
  const curves = [];
  let most = 0.04;
  for (const { run, now, colour } of all) {
    const records = curveOf(run, now);
    curves.push({ points: records.map(({ t, training }) => [t, training]), colour });
    if (now.fresh !== null) curves.push({ points: records.map(({ t, fresh }) => [t, fresh]), colour, dashes: DASHES });
    const settled = records.filter(({ t }) => t === now.t || t > total / 50); // the first steps know nothing yet
    most = Math.max(most, ...settled.flatMap(({ training, fresh }) => [training, fresh ?? 0]));
  }
  const form = (value) => `${brief(100 * value)}\u00a0%`;
  drawCurves(canvas, THEMES[theme], { curves, mostX: total, mostY: 1.08 * most, now: all[0].now.t, form });
}

const errors = ({ now }) => [["training", now.training], ...(now.fresh === null ? [] : [["new points", now.fresh]])];

export const errorWords = (shown) => errors(shown).map(([name, share]) => `${name} <strong>${percent(share)}</strong>`).join(", ");

// The same to be said, without marks.
export const saidErrors = (shown) => errors(shown).map(([name, share]) => `${name} ${percent(share)}`).join(", ");

// Of several predictors the coefficients of the j-th.
export function drawCoefficients(canvas, theme, { run, c }, j) {
  const { points, signs } = run.problem;
  const bars = points.map((point, i) => ({ value: signs[j][i] * c[j][i], colour: classColour(point.c, theme) }));
  const limit = run.certified ? 1 / (run.spec.lam * points.length) : null;
  drawBars(canvas, THEMES[theme], { bars, limit, marked: run.lead.last ? run.lead.last.drawn : [] });
}

export function coefficientWords({ run, c }, j) {
  const support = c[j].filter((value) => Math.abs(value) > 0).length;
  const limit = run.certified ? `, <i>C</i> = ${short(1 / (run.spec.lam * run.problem.m))}` : "";
  return `${support} of ${run.problem.m} are not zero${limit}`;
}
