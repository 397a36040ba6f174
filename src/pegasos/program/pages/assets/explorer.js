"use strict";
// The grid of cells: pickers choose two axes and the values of the others; the charts are filled with the rows that remain.
// A cell is {c: number, p: [place of its value on each axis], v: value, s: deviation, t, ts: the same on training rows}.
const grid = R.grid;
const listeners = [];
let shown = { across: "", down: "", anchor: null, columns: false, byHand: false };

const axisOf = (name) => grid.axes.findIndex((axis) => axis.name === name);
const better = (a, b) => (a.v === null) - (b.v === null) || (R.measure === "error" ? a.v - b.v : b.v - a.v);
const distinct = (cells, place) => new Set(cells.map((cell) => cell.p[place])).size;

function firstAxes(anchor) {
  // T across and λ down where both vary around the anchor, else what varies, numbers first. As in views.py.
  const names = (numeric) => grid.axes.filter((axis) => axis.numeric === numeric).map((axis) => axis.name);
  const numeric = names(true), words = names(false);
  const near = grid.cells.filter((cell) => words.every((name) => cell.p[axisOf(name)] === anchor.p[axisOf(name)]));
  const varying = numeric.filter((name) => distinct(near, axisOf(name)) > 1);
  if (varying.length >= 2) {
    const across = varying.find((name) => ["n_iter", "epochs", "T"].includes(name)) || varying[1];
    return [across, varying.find((name) => name !== across)];
  }
  const model = axisOf("model");
  const same = grid.cells.filter((cell) => model < 0 || cell.p[model] === anchor.p[model]);
  const rest = ["kernel", ...words].filter((name) => words.includes(name) && distinct(same, axisOf(name)) > 1);
  const order = [...new Set([...varying, ...rest, ...words])];
  return [order[0] || "", order[1] || ""];
}

function pickedCells() {
  const rest = grid.axes.map((axis, place) => place).filter((place) => ![shown.across, shown.down].includes(grid.axes[place].name));
  return grid.cells.filter((cell) => rest.every((place) => cell.p[place] === shown.anchor.p[place]));
}

function setting(cell) {
  const words = [], numbers = [];
  grid.axes.forEach((axis, place) => {
    const label = axis.labels[cell.p[place]], parts = axis.numeric ? numbers : words;
    if (label !== "–") parts.push(["model", "kernel"].includes(axis.name) ? label : `${axis.title.split(" ")[0]} = ${label}`);
  });
  return [...grid.fixed, ...words, ...numbers].join(", ");
}

const place = (cell, name) => (name ? cell.p[axisOf(name)] : 0);
const labelAt = (name, at) => (name ? grid.axes[axisOf(name)].labels[at] : "–");

function numberIn(value) {
  if (R.measure === "error") return value < 0.0995 ? (100 * value).toFixed(2) : (100 * value).toFixed(1);
  return value >= 0 && value < 1 ? value.toFixed(3).replace("0.", ".") : String(Number(value.toPrecision(3)));
}

function scaleOf(values) {
  const low = Math.min(...values), high = Math.max(...values), logarithmic = low > 0 && high / low > 5;
  const share = (v) => (high <= low ? 0 : logarithmic ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low));
  return { low, high, logarithmic, share };
}

function drawHeat(element, cells, value, deviation) {
  const known = cells.filter((cell) => cell[value] !== null && cell[value] !== undefined);
  const spec = JSON.parse(JSON.stringify(R.templates.heat));
  const all = scaleOf(known.map((cell) => cell[value]));
  const byColumn = new Map();
  if (shown.columns) {
    for (const at of new Set(known.map((cell) => place(cell, shown.across)))) {
      byColumn.set(at, scaleOf(known.filter((cell) => place(cell, shown.across) === at).map((cell) => cell[value])));
    }
  }
  const columns = new Set(known.map((cell) => place(cell, shown.across))).size;
  const lines = new Set(known.map((cell) => place(cell, shown.down))).size;
  const rows = known.map((cell) => {
    const share = (byColumn.get(place(cell, shown.across)) || all).share(cell[value]);
    const spread = cell[deviation] === null || cell[deviation] === undefined ? "" : "± " + told(cell[deviation]);
    const mark = cell.c === grid.best ? grid.mark : cell.c === grid.simplest ? "one standard error" : "";
    return {
      cell: cell.c, x: labelAt(shown.across, place(cell, shown.across)), y: labelAt(shown.down, place(cell, shown.down)),
      xr: place(cell, shown.across), yr: place(cell, shown.down), shade: R.measure === "error" ? share : 1 - share,
      label: columns > 24 ? "" : numberIn(cell[value]), told: told(cell[value]), spread, mark, setting: setting(cell),
      spoken: `${setting(cell)}: ${told(cell[value])} ${spread} ${mark}`,
    };
  });
  spec.data.values = rows;
  const long = rows.some((row) => row.x.length > 7);
  spec.width = { step: columns <= 12 ? 52 : columns <= 24 ? 40 : 16 };
  spec.height = { step: lines <= 12 ? 32 : lines <= 30 ? 26 : 16 };
  const settings = { low: all.low, high: all.high, logarithmic: all.logarithmic, columns: shown.columns };
  for (const param of spec.params) if (param.name in settings) param.value = settings[param.name];
  for (const layer of spec.layer) {
    layer.encoding.x.title = shown.across ? grid.axes[axisOf(shown.across)].title : null;
    layer.encoding.y.title = shown.down ? grid.axes[axisOf(shown.down)].title : null;
    layer.encoding.x.axis.labelAngle = long || columns > 12 ? -40 : 0;
  }
  return draw(element, spec).then((result) => {
    result.view.addEventListener("click", (event, item) => { if (item && item.datum && "cell" in item.datum) choose(item.datum.cell); });
    keys(element);
  });
}

function keys(element) {
  // One stop for the tab key; arrows move from cell to cell, Enter opens one.
  const paths = [...element.querySelectorAll("path[aria-roledescription='rect mark'], .mark-rect path")].filter((path) => datumOf(path));
  const at = new Map(paths.map((path) => [`${datumOf(path).xr} ${datumOf(path).yr}`, path]));
  const order = (axis) => [...new Set(paths.map((path) => datumOf(path)[axis]))].sort((a, b) => a - b);
  const across = order("xr"), down = order("yr");
  paths.forEach((path) => {
    path.setAttribute("tabindex", "-1");
    path.setAttribute("role", "button");
    path.addEventListener("keydown", (event) => {
      const datum = datumOf(path);
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(datum.cell); }
      if (!(event.key in moves)) return;
      event.preventDefault();
      const [dx, dy] = moves[event.key];
      const next = at.get(`${across[across.indexOf(datum.xr) + dx]} ${down[down.indexOf(datum.yr) + dy]}`);
      if (next) { path.setAttribute("tabindex", "-1"); next.setAttribute("tabindex", "0"); next.focus(); }
    });
  });
  const first = paths.find((path) => datumOf(path).cell === shown.chosen) || paths.find((path) => datumOf(path).cell === grid.best) || paths[0];
  if (first) first.setAttribute("tabindex", "0");
  ring();
}

function datumOf(path) {
  const item = path.__data__;
  return item && item.datum && "cell" in item.datum && item.mark.marktype === "rect" && item.fill ? item.datum : null;
}

function ring() {
  for (const path of document.querySelectorAll("#heat-test path, #heat-train path")) {
    const datum = datumOf(path);
    if (datum) path.classList.toggle("picked", datum.cell === shown.chosen);
  }
}

function choose(number) {
  shown.chosen = number;
  ring();
  for (const listener of listeners) listener(number);
}

function drawLines(name, along, other, cells) {
  const figure = byId(`lines-${name}-figure`), axis = grid.axes[axisOf(along)];
  const known = cells.filter((cell) => cell.v !== null && axis && axis.numeric && axis.numbers[place(cell, along)] !== null);
  const at = known.map((cell) => axis.numbers[place(cell, along)]);
  figure.hidden = !along || new Set(at).size < 2;
  if (figure.hidden) return;
  const values = scaleOf(known.map((cell) => cell.v));
  const spec = JSON.parse(JSON.stringify(R.templates.lines));
  spec.data.values = known.map((cell, i) => ({
    at: at[i], line: labelAt(other, place(cell, other)), order: place(cell, other), value: cell.v,
    low: values.logarithmic ? Math.max(cell.v - (cell.s || 0), cell.v / 10) : cell.v - (cell.s || 0), high: cell.v + (cell.s || 0),
    told: told(cell.v), spread: cell.s === null ? "" : "± " + told(cell.s), setting: setting(cell),
  }));
  const kind = Math.min(...at) > 0 && Math.max(...at) / Math.min(...at) > 20 ? "log" : "linear";
  for (const layer of spec.layer) {
    layer.encoding.x.title = axis.title;
    layer.encoding.x.axis.values = new Set(at).size <= 12 ? [...new Set(at)].sort((a, b) => a - b) : undefined;
    layer.encoding.x.scale = kind === "log" ? { type: "log", nice: false } : { zero: false, nice: false };
    layer.encoding.color.title = other ? grid.axes[axisOf(other)].title : null;
    if (!other) layer.encoding.color.legend = null;
    if (layer.encoding.y.scale) layer.encoding.y.scale = values.logarithmic ? { type: "log", nice: false } : { nice: true };
  }
  const title = `${R.measure === "error" ? "Error" : R.measure} against ${axis.title}`;
  byId(`lines-${name}-title`).textContent = title;
  byId(`lines-${name}`).setAttribute("aria-label", title);
  draw(byId(`lines-${name}`), spec);
}

function option(value, text, chosen) {
  const element = make("option", text);
  element.value = value;
  element.selected = chosen;
  return element;
}

function picker(form, id, title, options, value, change) {
  const label = make("label", title), select = make("select");
  select.id = id;
  for (const [each, text] of options) select.append(option(each, text, each === value));
  select.addEventListener("change", () => { change(select.value); refresh(); byId(id)?.focus(); });
  label.append(select);
  form.append(label);
}

function pickers() {
  const form = byId("pickers");
  form.replaceChildren();
  grid.axes.forEach((axis, at) => {
    if ([shown.across, shown.down].includes(axis.name)) return;
    // A number that does not vary for these words, such as T where there are no steps, is not asked for.
    const alike = grid.cells.filter((cell) => cell.p.every((each, k) => grid.axes[k].numeric || each === shown.anchor.p[k]));
    if (axis.numeric && distinct(alike, at) < 2) return;
    const options = axis.labels.map((label, index) => [String(index), label]);
    picker(form, `pick-${axis.name}`, axis.title, options, String(shown.anchor.p[at]), (value) => {
      // The nearest cell that has this value: agreeing in as many other axes as can be, then the best.
      const agree = (cell) => cell.p.filter((each, k) => each === shown.anchor.p[k]).length;
      const having = grid.cells.filter((cell) => cell.p[at] === Number(value));
      shown.anchor = having.sort((a, b) => agree(b) - agree(a) || better(a, b))[0];
      if (!shown.byHand) [shown.across, shown.down] = firstAxes(shown.anchor);
    });
  });
  if (grid.axes.length > 1) {
    const names = grid.axes.map((axis) => [axis.name, axis.title]);
    const swap = (one, other) => (value) => {
      if (shown[other] === value) shown[other] = shown[one];
      shown[one] = value;
      shown.byHand = true;
    };
    picker(form, "pick-across", "across", names, shown.across, swap("across", "down"));
    picker(form, "pick-down", "down", names, shown.down, swap("down", "across"));
  }
  const ways = [["all", "over all"], ["columns", "by column"]];
  picker(form, "pick-colour", "colour", ways, shown.columns ? "columns" : "all", (value) => { shown.columns = value === "columns"; });
  form.addEventListener("submit", (event) => event.preventDefault());
}

function refresh() {
  pickers();
  const cells = pickedCells();
  const training = cells.some((cell) => cell.t !== undefined && cell.t !== null);
  byId("heat-title").textContent = R.measure === "error" ? `Error in % on ${grid.tested}` : `${R.measure} on ${grid.tested}`;
  byId("heat-remark").textContent = `${cells.length} of ${grid.cells.length} cells.`;
  byId("train-figure").hidden = !training;
  window.drawnGrid = Promise.all([
    drawHeat(byId("heat-test"), cells, "v", "s"),
    training ? drawHeat(byId("heat-train"), cells, "t", "ts") : null,
  ]);
  drawLines("x", shown.across, shown.down, cells);
  drawLines("y", shown.down, shown.across, cells);
}

if (byId("explorer")) {
  shown.anchor = grid.cells.find((cell) => cell.c === grid.best) || grid.cells[0];
  [shown.across, shown.down] = firstAxes(shown.anchor);
  refresh();
}
