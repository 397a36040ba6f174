// Small charts on a canvas: curves over the steps, and coefficients as bars.

import { fitted } from "./sizes.js";

const FONT = '13px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
const MARGIN = { left: 46, right: 12, top: 10, bottom: 24 };

function open(canvas, colours) {
  const { width, height, ratio } = fitted(canvas);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  Object.assign(context, { font: FONT, fillStyle: colours.soft, lineCap: "round", lineJoin: "round" });
  return { context, width, height };
}

// About `count` round numbers from 0 to `most`.
export function ticks(most, count) {
  const rough = most / count;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * unit).find((size) => size >= rough * 0.999);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, k) => k * step);
}

export const brief = (value) => String(Number(value.toPrecision(3)));

function axes(context, box, mostX, mostY, colours, form) {
  context.textBaseline = "middle";
  context.textAlign = "right";
  Object.assign(context, { strokeStyle: colours.line, lineWidth: 1 });
  for (const value of ticks(mostY, 4)) {
    const y = box.y(value);
    context.beginPath();
    context.moveTo(box.left, y);
    context.lineTo(box.right, y);
    context.stroke();
    context.fillText(form(value), box.left - 7, y);
  }
  context.textBaseline = "top";
  const all = ticks(mostX, box.right - box.left < 230 ? 2 : 4);
  all.forEach((value, k) => {
    context.textAlign = k === 0 ? "left" : box.x(value) > box.right - 16 ? "right" : "center";
    context.fillText(value >= 10000 ? `${value / 1000} k` : brief(value), box.x(value), box.bottom + 7);
  });
}

function frame(canvas, colours, mostX, mostY, form) {
  const { context, width, height } = open(canvas, colours);
  const box = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
  box.x = (value) => box.left + ((box.right - box.left) * value) / mostX;
  box.y = (value) => box.bottom - ((box.bottom - box.top) * Math.min(value, mostY * 1.2)) / mostY;
  axes(context, box, mostX, mostY, colours, form);
  context.save();
  context.beginPath();
  context.rect(box.left - 4, box.top - 4, box.right - box.left + 8, box.bottom - box.top + 8);
  context.clip();
  return { context, box };
}

// Curves: {points: [[x, y], ...], colour, dashes, width, down: [[x, y], ...] (filled up to there)}; `now`: a line at this x.
export function drawCurves(canvas, colours, { curves, mostX, mostY, now, form = brief }) {
  const { context, box } = frame(canvas, colours, mostX, mostY, form);
  const path = (points) => points.forEach(([x, y], k) => context[k ? "lineTo" : "moveTo"](box.x(x), box.y(y)));
  for (const { points, down, colour } of curves) {
    if (!down || !points.length) continue;
    context.beginPath();
    path(points);
    [...down].reverse().forEach(([x, y]) => context.lineTo(box.x(x), box.y(y)));
    Object.assign(context, { fillStyle: colour, globalAlpha: 0.13 });
    context.fill();
    context.globalAlpha = 1;
  }
  for (const { points, colour, dashes = [], width = 2.2 } of curves) {
    context.beginPath();
    path(points);
    Object.assign(context, { strokeStyle: colour, lineWidth: width });
    context.setLineDash(dashes);
    context.stroke();
    context.setLineDash([]);
  }
  if (now !== null && now < mostX) {
    context.beginPath();
    context.moveTo(box.x(now), box.top);
    context.lineTo(box.x(now), box.bottom);
    Object.assign(context, { strokeStyle: colours.soft, lineWidth: 1 });
    context.stroke();
  }
  context.restore();
}

// One bar for each example: {value, colour}; `limit`: a line at ±limit (C), `marked`: the drawn examples.
export function drawBars(canvas, colours, { bars, limit, marked }) {
  const { context, width, height } = open(canvas, colours);
  const [left, right, top, bottom] = [MARGIN.left, width - MARGIN.right, 8, height - 8];
  const most = Math.max(...bars.map(({ value }) => Math.abs(value)), 1e-12);
  const scale = limit && limit < 4 * most ? Math.max(most, limit) * 1.06 : most * 1.06;
  const both = bars.some(({ value }) => value < 0);
  const y = (value) => (both ? (top + bottom) / 2 - ((bottom - top) / 2) * (value / scale) : bottom - (bottom - top) * (value / scale));
  const step = (right - left) / Math.max(bars.length, 1);
  const gap = step > 4 ? 1 : 0;
  bars.forEach(({ value, colour }, i) => {
    const [from, to] = [Math.round(left + i * step), Math.round(left + (i + 1) * step)]; // whole pixels: no moiré
    context.fillStyle = colour;
    context.fillRect(from, Math.min(y(0), y(value)), Math.max(to - from - gap, 1), Math.abs(y(value) - y(0)));
  });
  context.fillStyle = colours.ink;
  for (const i of marked) {
    const x = left + (i + 0.5) * step;
    context.beginPath();
    context.moveTo(x - 5, y(0) + 8);
    context.lineTo(x + 5, y(0) + 8);
    context.lineTo(x, y(0) + 1);
    context.fill();
  }
  Object.assign(context, { strokeStyle: colours.soft, lineWidth: 1, fillStyle: colours.soft, textBaseline: "middle", textAlign: "right" });
  const line = (value, dashes) => {
    context.setLineDash(dashes);
    context.beginPath();
    context.moveTo(left, y(value));
    context.lineTo(right, y(value));
    context.stroke();
    context.setLineDash([]);
  };
  line(0, []);
  context.fillText("0", left - 7, y(0) - (both ? 0 : 5));
  if (limit && limit <= scale) {
    line(limit, [5, 4]);
    if (y(0) - y(limit) > 16) context.fillText("C", left - 7, y(limit));
  }
  if (!limit || limit > scale || Math.abs(y(most) - y(limit)) > 16) context.fillText(brief(most), left - 7, y(most));
}
