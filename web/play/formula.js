// The rule, typeset, with the numbers of the last step under its symbols. Numbers are the only text from outside.

import { sigmoid } from "./losses.js";

// Three digits, a real minus sign, and powers of ten where they are needed.
export function short(value) {
  if (value === null || value === undefined) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  let text = size !== 0 && (size < 1e-4 || size >= 1e5) ? value.toExponential(1).replace(".0e", "e") : String(Number(value.toPrecision(3)));
  text = text.replace(/e\+?(-?)(\d+)$/, (_, sign, digits) => `·10<sup>${sign ? "−" : ""}${digits}</sup>`);
  return text.replace(/^(-?)1·10/, "$110").replace(/^-/, "−");
}

// A whole number with commas; toLocaleString would look up the language each time.
const whole = new Intl.NumberFormat("en");
export const counted = (value) => whole.format(value);

const signed = (value) => (value > 0 ? "+1" : "−1");
const plain = (text) => `<span class="word">${text}</span>`;
const stack = (symbol, number, mark = "") =>
  `<span class="stack ${mark}"><span class="symbol">${symbol}</span><span class="number">${number}</span></span>`;
const after = (answer) => (answer ? `${short(answer.y * answer.own)} → ${short(answer.y * answer.own + answer.u)}` : "–");
const of = (answer, form) => (answer ? form(answer) : "–");

const A = "<i>a</i><sub>i</sub>";
const Y = "<i>y</i><sub>i</sub>";
const S = "<i>s</i><sub>i</sub>";
const K = "<i>K</i><sub>ii</sub>";

const threshold = (walk, t) =>
  stack("<i>λ</i>", short(walk.param / walk.batch)) + (walk.batch > 1 ? stack("<i>k</i>", walk.batch) : "") + stack("<i>t</i>", t || "–");

const margin = (answer) => stack(Y, of(answer, ({ y }) => signed(y))) + stack(S, of(answer, ({ s }) => short(s)));

const RULES = {
  perceptron: (walk, answer) => {
    const wrong = answer && answer.y * answer.s <= 0;
    const rule = plain("if") + margin(answer) + plain("≤ 0:") + stack(A, after(answer), "result") + plain("←&ensp;") + plain(`${A} + ${Y}`);
    return [rule, answer && `${short(answer.y * answer.s)} ${wrong ? "≤ 0: a mistake, its coefficient changes" : "> 0: right, nothing changes"}`];
  },
  "pegasos hinge": (walk, answer, t) => {
    const level = walk.param * t;
    const inside = answer && answer.y * answer.s < level;
    const rule = plain("if") + margin(answer) + plain("&lt;") + threshold(walk, t) + plain(":") + stack(A, after(answer), "result") + plain("←&ensp;") + plain(`${A} + ${Y}`);
    const verdict = inside ? "within the margin, its coefficient changes" : "beyond the margin, only <i>t</i> grows";
    return [rule, answer && `${short(answer.y * answer.s)} ${inside ? "&lt;" : "≥"} ${short(level)}: ${verdict}`];
  },
  "pegasos logistic": (walk, answer, t) => {
    const level = walk.param * t;
    const share = answer && sigmoid((-answer.y * answer.s) / level);
    const inner = plain("−") + margin(answer) + plain("/ (") + threshold(walk, t) + plain(")");
    const rule = stack(A, after(answer), "result") + plain("←&ensp;") + plain(`${A} +`) + stack(Y, of(answer, ({ y }) => signed(y))) + plain("<i>σ</i>(") + inner + plain(")");
    return [rule, answer && `<i>σ</i>(${short((-answer.y * answer.s) / level)}) = ${short(share)}: so much is still wrong with it`];
  },
  "sdca hinge": (walk, answer) => {
    const step = plain("(1 −") + margin(answer) + plain(") /") + stack(K, of(answer, ({ kii }) => short(kii)));
    const own = stack(`${Y}${A}`, of(answer, (each) => short(each.own)));
    const rule = stack(`${Y}${A}`, of(answer, (each) => `${short(each.own)} → ${short(each.own + each.y * each.u)}`), "result") + plain("←&ensp;") + plain("clip(") + own + plain("+") + step + plain(", 0,") + stack("<i>C</i>", short(walk.param)) + plain(")");
    const wanted = answer && answer.own + (1 - answer.y * answer.s) / answer.kii;
    const verdict = answer && (wanted < 0 ? "below 0, so 0" : wanted > walk.param ? "above C, so C" : "within 0 and C");
    return [rule, answer && `the best value alone is ${short(wanted)}: ${verdict}`];
  },
  "sdca logistic": (walk, answer) => {
    const bound = stack("<i>C</i>", short(walk.param));
    const own = stack(`${Y}${A}`, of(answer, (each) => short(each.own)));
    const rule = stack(`${Y}${A}`, of(answer, (each) => `${short(each.own)} → ${short(each.own + each.y * each.u)}`), "result") + plain("←&ensp;") + plain("<i>z</i> with&ensp;log <i>z</i>/(") + bound + plain("− <i>z</i>) +") + stack(K, of(answer, ({ kii }) => short(kii))) + plain("(<i>z</i> −") + own + plain(") +") + margin(answer) + plain("= 0");
    return [rule, answer && `<i>z</i> = ${short(answer.own + answer.y * answer.u)}, never quite 0 and never quite C`];
  },
};

const PREDICTORS = {
  perceptron: "<i>f</i>(<i>x</i>) = Σ <i>a</i><sub>i</sub> <i>K</i>(<i>x</i><sub>i</sub>, <i>x</i>)",
  pegasos: "<i>f</i>(<i>x</i>) = Σ <i>a</i><sub>i</sub> <i>K</i>(<i>x</i><sub>i</sub>, <i>x</i>) / (<i>λt</i>)",
  sdca: "<i>f</i>(<i>x</i>) = Σ <i>a</i><sub>i</sub> <i>K</i>(<i>x</i><sub>i</sub>, <i>x</i>),&ensp;<i>C</i> = 1/(<i>λm</i>)",
};

// HTML of the rule, of what it decided, and of the predictor that it makes; `j`: which predictor's answer is shown.
export function ruleOf(run, j) {
  const walk = run.lead;
  const { model, loss } = run.spec;
  const step = walk.last;
  const answer = step ? step.answers.find((each) => each.j === j) || null : null;
  const [rule, verdict] = RULES[model === "perceptron" ? model : `${model} ${loss}`](walk, answer, walk.t);
  const waiting = walk.t === 0 ? "no example was drawn yet" : "this predictor rests: an epoch passed without a mistake";
  const mean = { 0: "", 0.5: "; shown: the mean over the last half of the steps", 1: "; shown: the mean over all steps" }[run.share];
  const predictor = PREDICTORS[model].replace("<i>λt</i>", walk.batch > 1 ? "<i>λkt</i>" : "<i>λt</i>") + mean;
  return { rule, verdict: verdict || waiting, changed: Boolean(answer && answer.u !== 0), predictor };
}
