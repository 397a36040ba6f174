"use strict";
// The grid of cells: pickers choose two axes and the values of the others; the charts are filled with the rows that remain.
// A cell is {cell: number, p: [place of its value on each axis], setting, mark, command, test and train: value with its texts}.
const grid = R.grid;
const listeners = [];
let shown = { across: "", down: "", anchor: null, columns: false, byHand: false };

const copy = (thing) => JSON.parse(JSON.stringify(thing));
const axisOf = (name) => grid.axes.findIndex((axis) => axis.name === name);
const known = (cell) => Boolean(cell.test) && cell.test.value !== null;
const valueOf = (cell) => (known(cell) ? (R.least ? cell.test.value : -cell.test.value) : Infinity);
const better = (a, b) => (valueOf(a) === valueOf(b) ? 0 : valueOf(a) - valueOf(b));
const distinct = (list) => new Set(list).size;

function firstAxes() {
  const family = shown.anchor.p.filter((_, at) => !grid.axes[at].numeric).join(" ");
  [shown.across, shown.down] = grid.first[family] || [shown.across, shown.down];
}

function pickedCells() {
  // As Grid._shown in grid_views.py: equal to the anchor in all axes that are not shown. Where the number of a kernel is shown,
  // kernels that have none are left out, and the others may differ in it.
  const shownParts = grid.axes.map((axis, at) => (axis.part && isShown(axis) ? at : -1)).filter((at) => at >= 0);
  const rest = grid.axes.map((axis, at) => (isAsked(axis) ? at : -1)).filter((at) => at >= 0);
  const has = (cell) => shownParts.every((at) => grid.axes[at].numbers[cell.p[at]] !== null);
  return grid.cells.filter((cell) => has(cell) && rest.every((at) => cell.p[at] === shown.anchor.p[at]));
}

const isShown = (axis) => [shown.across, shown.down].includes(axis.name);
// Whether an axis that is not shown has one value: not a kernel's number, and not the kernel beside its number.
const isAsked = (axis) => !isShown(axis) && !axis.part && !(axis.name === "kernel" && grid.axes.some((each) => each.part && isShown(each)));

// λ·C where all cells have the same, as _product in grid_views.py.
function productOf(cells) {
  const products = cells.filter((cell) => "product" in cell).map((cell) => cell.product), most = Math.max(0, ...products);
  return most > 0 && most < 1.01 * Math.min(...products) ? products[0] : null;
}

function rowsOf(cells, one, two, part) {
  // As Grid._rows in grid_views.py: labels, places and numbers of the two axes beside what a cell has anyway.
  const a = axisOf(one), b = axisOf(two), oneCost = productOf(cells) !== null;
  const label = (cell, at, name) => grid.axes[at].labels[cell.p[at]] + (name === "lam" && oneCost && cell.C ? `\n${cell.C}` : "");
  return cells.filter((cell) => cell[part]).map((cell) => ({
    ...cell[part], cell: cell.cell, setting: cell.setting, mark: cell.mark,
    x: one ? label(cell, a, one) : "", xr: one ? cell.p[a] : 0, at: one && grid.axes[a].numeric ? grid.axes[a].numbers[cell.p[a]] : null,
    y: two ? label(cell, b, two) : "", yr: two ? cell.p[b] : 0,
  }));
}

function drawHeat(element, cells, part) {
  const spec = copy(grid.heat), rows = rowsOf(cells, shown.across, shown.down, part);
  const across = grid.axes[axisOf(shown.across)], down = grid.axes[axisOf(shown.down)];
  const columns = distinct(rows.map((row) => row.xr)), lines = distinct(rows.map((row) => row.yr));
  const step = (direction, count) => grid.sizes[direction].find(([most]) => count <= most)[1];
  spec.data.values = rows;
  // As wide as its place allows, but no cell wider than is good to read, which is wider where nothing stands beside it; where
  // cells would be too narrow the chart scrolls.
  const alone = document.querySelectorAll("#explorer .halves > figure:not([hidden])").length === 1, most = 300 + (alone ? 190 : 110) * columns;
  const labels = 70 + Math.min(230, 6.2 * Math.max(0, ...rows.map((row) => row.y.length)));
  const fits = columns <= grid.sizes.numbers && element.parentElement.clientWidth - labels >= 38 * columns;
  spec.width = fits ? "container" : { step: step("across", columns) };
  element.style.width = fits ? `min(100%, ${most}px)` : "";
  spec.height = fits ? step("down", lines) * lines : { step: step("down", lines) };
  const column = fits ? (Math.min(element.parentElement.clientWidth, most) - labels) / columns : step("across", columns);
  const longest = 6.2 * Math.max(0, ...rows.flatMap((row) => row.x.split("\n")).map((line) => line.length));
  const settings = { values: rows.map((row) => row.value).filter((value) => value !== null), logarithmic: grid.logarithmic[part], columns: shown.columns };
  for (const param of spec.params) if (param.name in settings) param.value = settings[param.name];
  for (const layer of spec.layer) {
    layer.encoding.x.title = across ? across.title : null;
    layer.encoding.y.title = down ? down.title : null;
    layer.encoding.x.axis.labelAngle = longest > column ? -40 : 0;
  }
  if (columns > grid.sizes.numbers) spec.layer.pop();
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

function showLines(name, along, other, cells) {
  // Points alone are no curve: at least one line has two of them.
  const rows = rowsOf(cells, along, other, "test").filter((row) => row.at !== null && row.value !== null);
  byId(`lines-${name}-figure`).hidden = !rows.some((one) => rows.some((two) => two.yr === one.yr && two.at !== one.at));
  return { name, along, other, rows, product: along === "lam" ? productOf(cells) : null };
}

function fillHalves() {
  // A last figure without a neighbour has the whole width.
  const figures = [...byId("explorer").querySelectorAll(".halves > figure")];
  const seen = figures.filter((figure) => !figure.hidden);
  for (const figure of figures) figure.classList.toggle("alone", seen.length > 1 && seen.length % 2 === 1 && figure === seen[seen.length - 1]);
}

function drawLines({ name, along, other, rows, product }) {
  if (byId(`lines-${name}-figure`).hidden) return;
  const spec = copy(grid.lines), axis = grid.axes[axisOf(along)];
  spec.data.values = rows;
  spec.params.find((param) => param.name === "product").value = product;
  for (const layer of spec.layer) {
    layer.encoding.x.title = axis.title;
    layer.encoding.x.scale = axis.scale;
    if (axis.ticks) layer.encoding.x.axis.values = axis.ticks;
    layer.encoding.color.title = other ? grid.axes[axisOf(other)].title : null;
    if (!other) layer.encoding.color.legend = null;
  }
  const title = `${grid.against} against ${axis.title}`;
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
    if (!isAsked(axis)) return;
    // A number that does not vary for these words, such as T where there are no steps, is not asked for.
    const alike = grid.cells.filter((cell) => cell.p.every((each, k) => grid.axes[k].numeric || each === shown.anchor.p[k]));
    if (axis.numeric && distinct(alike.map((cell) => cell.p[at])) < 2) return;
    const options = axis.labels.map((label, index) => [String(index), label.replace("\n", " ")]);
    picker(form, `pick-${axis.name}`, axis.title, options, String(shown.anchor.p[at]), (value) => {
      // The nearest cell that has this value: agreeing in as many other axes as can be, then the best.
      const agree = (cell) => cell.p.filter((each, k) => each === shown.anchor.p[k]).length;
      const having = grid.cells.filter((cell) => cell.p[at] === Number(value));
      shown.anchor = having.sort((a, b) => agree(b) - agree(a) || better(a, b))[0];
      if (!shown.byHand) firstAxes();
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
  const colours = [["all", "over all"], ["columns", "by column"]];
  picker(form, "pick-colour", "colour", colours, shown.columns ? "columns" : "all", (value) => { shown.columns = value === "columns"; });
  form.addEventListener("submit", (event) => event.preventDefault());
}

function refresh() {
  pickers();
  const cells = pickedCells(), training = cells.some((cell) => cell.train);
  byId("heat-title").textContent = grid.title;
  const ended = cells.filter((cell) => !known(cell)).length;
  byId("heat-remark").textContent = `${cells.length} of ${grid.cells.length} cells${ended ? `; ${ended} ended early: grey, with what they had then` : ""}.`;
  byId("train-figure").hidden = !training;
  const curves = [showLines("x", shown.across, shown.down, cells), showLines("y", shown.down, shown.across, cells)];
  fillHalves();
  window.drawnGrid = Promise.all([
    drawHeat(byId("heat-test"), cells, "test"),
    training ? drawHeat(byId("heat-train"), cells, "train") : null,
  ]);
  curves.forEach(drawLines);
}

if (byId("explorer")) {
  shown.anchor = grid.cells.find((cell) => cell.cell === grid.best) || grid.cells[0];
  firstAxes();
  refresh();
}
