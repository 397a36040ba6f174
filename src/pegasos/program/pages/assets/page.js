"use strict";
// The script of a page: draws its charts, sorts tables, and shows single settings and thresholds. All text from data goes
// through textContent.
const R = JSON.parse(document.getElementById("report-data").textContent);
const byId = (id) => document.getElementById(id);

function make(tag, text, kind) {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

function headings(row, texts, scope = "col", kind = () => "") {
  texts.forEach((text, at) => row.append(Object.assign(make("th", text, kind(text, at)), { scope })));
}

// -- charts ---------------------------------------------------------------------------------------------------------------

// Colors are the page's own (currentColor), so dark mode and print need no second drawing.
const ink = "currentColor";
const THEME = {
  background: "transparent",
  font: 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif',
  view: { stroke: null },
  axis: {
    labelColor: ink, titleColor: ink, domainColor: ink, tickColor: ink, gridColor: ink, gridOpacity: 0.12, domainOpacity: 0.4,
    tickOpacity: 0.4, labelFontSize: 11, titleFontSize: 12, titleFontWeight: 500, titlePadding: 8,
  },
  axisBand: { grid: false },
  legend: { labelColor: ink, titleColor: ink, labelFontSize: 11, titleFontSize: 11, titleFontWeight: 500 },
  title: { color: ink },
  text: { fill: ink },
  rule: { color: ink, opacity: 0.5 },
};

function draw(element, spec) {
  const copy = JSON.parse(JSON.stringify(spec));
  if (copy.width === "container") {
    copy.autosize = { type: "fit-x", contains: "padding" };
    // Beside a legend a narrow screen would leave no room for the chart.
    if (element.clientWidth < 430) copy.config = { legend: { orient: "bottom", columns: 3 } };
  }
  const look = { actions: false, renderer: "svg", config: THEME, mode: "vega-lite", logLevel: 1 };
  return vegaEmbed(element, copy, look).then((result) => {
    const box = element.closest(".box");
    markWidth(box);
    const choice = [...element.querySelectorAll("path")].find((path) => path.__data__?.datum?.mark === "choice");
    if (choice) box.scrollLeft += choice.getBoundingClientRect().left - box.getBoundingClientRect().left - box.clientWidth / 2;
    result.view.addEventListener("click", (event, item) => { if (item?.datum && "cell" in item.datum) pick(item.datum.cell); });
    return result;
  });
}

// What is wider than its box shows it, and can be reached by the keyboard.
function markWidth(box) {
  const wide = box.scrollWidth > box.clientWidth + 1;
  box.classList.toggle("wide", wide);
  if (!wide || box.hasAttribute("tabindex")) return;
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", (box.closest("figure") || box.closest("section")).querySelector("figcaption strong, h3, h2").textContent);
}
const watched = new ResizeObserver((entries) => { for (const { target } of entries) markWidth(target); });
for (const box of document.querySelectorAll(".box")) watched.observe(box);
for (const element of document.querySelectorAll("[data-chart]")) draw(element, R.charts[element.dataset.chart]);

// Pictures are gray bytes in base64, drawn pixel by pixel.
function paint(canvas, text) {
  const bytes = atob(text), context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  for (let i = 0; i < bytes.length && 4 * i + 3 < image.data.length; i++) {
    const gray = bytes.charCodeAt(i);
    image.data.set([gray, gray, gray, 255], 4 * i);
  }
  context.putImageData(image, 0, 0);
}
for (const canvas of document.querySelectorAll("canvas[data-picture]")) paint(canvas, canvas.dataset.picture);

function picture(text, shape, spoken) {
  const canvas = make("canvas", null, "picture");
  [canvas.height, canvas.width] = shape;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", spoken);
  paint(canvas, text);
  return canvas;
}

// -- theme, links, lines to copy --------------------------------------------------------------------------------------------

const themeSwitch = byId("theme-switch");
const nameTheme = (now) => { themeSwitch.textContent = now === "dark" ? "Light" : "Dark"; };
themeSwitch.addEventListener("click", () => window.theme.toggle());
window.theme.listen(nameTheme);
nameTheme(window.theme.now);

// In a notebook the page is a frame without an address, where a link to "#..." would leave it.
for (const link of document.querySelectorAll("a[href^='#']")) {
  link.addEventListener("click", (event) => {
    const target = byId(link.getAttribute("href").slice(1));
    if (!target || location.protocol !== "about:") return;
    event.preventDefault();
    target.scrollIntoView();
  });
}

// Lines to copy end between words: browsers would also end them after the dashes of an option.
function showCode(pre, text) {
  pre.replaceChildren(...text.split(/(\s+)/).map((word) => (word.startsWith("-") ? make("span", word, "whole") : word)));
}
for (const pre of document.querySelectorAll(".code pre")) showCode(pre, pre.textContent);

for (const button of document.querySelectorAll(".copy")) {
  button.addEventListener("click", () => {
    const pre = button.closest(".code").querySelector("pre");
    const done = () => { button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy"; }, 1500); };
    const select = () => { getSelection().selectAllChildren(pre); button.textContent = "Selected"; };
    if (navigator.clipboard) navigator.clipboard.writeText(pre.textContent).then(done, select); else select();
  });
}

// Tables behind charts are opened for print, so that nothing is lost on paper.
addEventListener("beforeprint", () => { for (const each of document.querySelectorAll("figure details")) each.open = each.querySelectorAll("tr").length < 60; });

// -- tables -----------------------------------------------------------------------------------------------------------------

// Every column sorts: a click or Enter on its title, once more for the other direction. Empty values stay last.
function sorts(table) {
  const body = table.tBodies[0], heads = table.tHead ? [...table.tHead.rows[0].cells] : [];
  if (!body || body.rows.length < 2) return;
  const numeric = (text) => (/^[-+]?[.\d]/.test(text) ? Number.parseFloat(text.replace(/,/g, "")) : NaN);
  heads.forEach((head, column) => {
    if (!head.textContent) return;
    const button = make("button", head.textContent, "sort");
    button.type = "button";
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const falls = head.getAttribute("aria-sort") === "ascending";
      const keyed = [...body.rows].map((row) => ({ row, text: row.cells[column].textContent.trim() }));
      const byNumber = keyed.some((each) => !Number.isNaN(numeric(each.text)));
      const compare = (a, b) => {
        const one = byNumber ? numeric(a.text) : a.text, two = byNumber ? numeric(b.text) : b.text;
        const empty = (value) => value === "" || Number.isNaN(value);
        if (empty(one) || empty(two)) return empty(one) - empty(two);
        return (falls ? -1 : 1) * (byNumber ? one - two : one.localeCompare(two, undefined, { numeric: true }));
      };
      body.append(...keyed.sort(compare).map((each) => each.row));
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", falls ? "descending" : "ascending");
    });
  });
}
for (const table of document.querySelectorAll("table.sorts")) sorts(table);
for (const button of document.querySelectorAll("button[data-cell]")) button.addEventListener("click", () => pick(Number(button.dataset.cell)));

// An empty table with a head and rows of texts; `kinds` are the classes of its columns, a first column of `names` are headings.
function fill(table, head, rows, kinds, names = false) {
  table.replaceChildren();
  headings(table.createTHead().insertRow(), head, "col", (_, at) => kinds[at]);
  const body = table.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    row.forEach((value, at) => {
      if (names && at === 0) headings(line, [value], "row"); else line.append(value instanceof Node ? value : make("td", value, kinds[at]));
    });
  }
  return table;
}

// -- one setting: its command line, confusion matrix and mistakes -----------------------------------------------------------

const panel = R.panel;
const share = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(1)} %` : "");

function confusionTable(counts, rates) {
  const { classes } = panel, n = classes.length, totals = counts.map((row) => row.reduce((a, b) => a + b, 0));
  if (n > panel.most) {
    const pairs = counts.flatMap((row, t) => row.map((count, g) => [t, g, count])).filter(([t, g, count]) => t !== g && count);
    const rows = pairs.sort((a, b) => b[2] - a[2]).slice(0, 100).map(([t, g, count]) => [classes[t], classes[g], count, share(count, totals[t])]);
    fill(byId("confusion-table"), ["true", "predicted", "rows", "share of the true class"], rows, ["", "", "n", "n"]);
    return;
  }
  const rows = classes.map((name, t) => [name, ...classes.map((_, g) => {
    const count = counts[t][g], rate = totals[t] ? count / totals[t] : 0;
    const cell = make("td", rates ? (100 * rate).toFixed(rate && rate < 0.0995 ? 1 : 0) : count, `n${t === g ? " diagonal" : ""}${rate > 0.6 ? " high" : ""}`);
    cell.style.setProperty("--rate", Math.sqrt(rate).toFixed(3));
    if (count) cell.title = `${count} of ${totals[t]} rows of ${name} predicted as ${classes[g]} (${share(count, totals[t])})`;
    return cell;
  })]);
  fill(byId("confusion-table"), ["true \\ predicted", ...classes], rows, ["", ...classes.map(() => "n")], true);
}

function classTable(counts) {
  const rows = panel.classes.map((name, k) => {
    const total = counts[k].reduce((a, b) => a + b, 0), called = counts.reduce((sum, row) => sum + row[k], 0);
    const others = counts[k].map((count, g) => [count, g]).filter(([count, g]) => count && g !== k).sort((a, b) => b[0] - a[0]);
    const taken = others.slice(0, 2).map(([count, g]) => `${panel.classes[g]} (${count})`).join(", ");
    return [name, total, share(counts[k][k], called), share(counts[k][k], total), taken];
  });
  sorts(fill(byId("class-table"), ["class", "rows", "precision", "recall", "most often mistaken for"], rows.filter((row) => row[1]), ["", "n", "n", "n", ""], true));
}

function scoreBars(mistake) {
  const most = Math.max(...mistake.scores.map(Math.abs)) || 1;
  return mistake.codes.map((code, at) => {
    const score = mistake.scores[at], length = (50 * Math.abs(score)) / most;
    const line = make("div", null, "score" + (code === mistake.given ? " guess" : code === mistake.true ? " truth" : ""));
    const axis = make("b"), bar = make("i");
    bar.style.width = `${length}%`;
    bar.style.left = `${score < 0 ? 50 - length : 50}%`;
    axis.append(bar);
    line.append(make("span", panel.classes[code]), axis, make("span", score.toFixed(2)));
    return line;
  });
}

function mistakeCards(mistakes) {
  const list = make("ul", null, "mistakes");
  for (const mistake of mistakes) {
    const item = make("li"), row = panel.rows[mistake.row];
    const words = `true ${panel.classes[mistake.true]}, predicted ${panel.classes[mistake.given]}`;
    item.append(picture(row.picture, panel.shape, `Row ${row.number}: ${words}`), make("strong", words), make("div", `row ${row.number}`, "remark"));
    if (mistake.scores.length) item.append(...scoreBars(mistake));
    list.append(item);
  }
  return list;
}

function mistakeTable(mistakes) {
  const { classes } = panel, scored = mistakes.some((each) => each.scores.length), one = mistakes.every((each) => each.scores.length === 1);
  const values = mistakes.map((each) => panel.rows[each.row].values);
  const small = (value) => typeof value === "number" && value !== 0 && Math.abs(value) < 0.001;
  const text = (value) => (value === null ? "missing" : small(value) ? value.toExponential() : value);
  const score = (each) => (one ? each.scores[0].toFixed(2)
    : scored ? each.codes.map((code, k) => `${classes[code]}: ${each.scores[k].toFixed(2)}`).join(", ") : each.share === null ? "" : share(each.share, 1));
  const kinds = panel.columns.map((_, at) => (values.some((row) => typeof row[at] === "number") ? "n" : values.every((row) => String(row[at]).length <= 16) ? "s" : ""));
  const what = one ? `score of ${classes[mistakes[0].codes[0]]}` : scored ? "scores" : "share of settings that err";
  const rows = mistakes.map((each, at) => [panel.rows[each.row].number, classes[each.true], classes[each.given], score(each), ...values[at].map(text)]);
  const box = make("div", null, "box"), table = fill(make("table"), ["row", "true", "predicted", what, ...panel.columns], rows, ["n", "", "", one || !scored ? "n" : "s", ...kinds]);
  sorts(table);
  box.append(table);
  watched.observe(box);
  return box;
}

function showSetting(number) {
  const kept = panel.kept[number], cell = panel.cells[number];
  if (cell) {
    const missing = kept ? "" : " Its predictions were not kept: a page keeps those of the best settings.";
    byId("panel-setting").textContent = `${cell.setting}: ${cell.value}.${missing}`;
    const select = byId("panel-cell"), code = byId("panel-command").closest(".code");
    if (![...select.options].some((each) => each.value === String(number))) select.add(new Option(cell.setting, number));
    select.value = String(number);
    showCode(byId("panel-command"), cell.command || "");
    code.hidden = !cell.command;
    byId("panel-no-command").hidden = Boolean(cell.command);
  }
  byId("panel-kept").hidden = !kept;
  if (!kept) return;
  const counts = panel.classes.map(() => panel.classes.map(() => 0));
  for (let i = 0; i < kept.confusion.length; i += 3) counts[kept.confusion[i]][kept.confusion[i + 1]] = kept.confusion[i + 2];
  confusionTable(counts, byId("panel-numbers").value === "rates");
  classTable(counts);
  const mistakes = kept.mistakes || [], scored = mistakes.some((each) => each.scores.length);
  const wrong = counts.reduce((sum, row, t) => sum + row.reduce((a, count, g) => a + (t === g ? 0 : count), 0), 0);
  const which = scored ? "those in which the wrong class leads the true one by most" : "those that most settings get wrong";
  const bars = scored && panel.shape ? " Bars are scores, from zero in the middle: orange the predicted class, blue the true one." : "";
  byId("mistakes-remark").textContent = kept.mistakes === null ? `${wrong} mistakes; rows were kept for the best settings only.`
    : mistakes.length ? `${mistakes.length} of ${wrong} mistakes: ${which}.${bars}` : "None.";
  byId("mistakes").replaceChildren(...(mistakes.length ? [panel.shape ? mistakeCards(mistakes) : mistakeTable(mistakes)] : []));
}

function pick(number) {
  if (!panel || !byId("panel-cell")) return;
  showSetting(number);
  byId("section-cell").scrollIntoView();
}

if (panel) {
  const select = byId("panel-cell");
  if (select) {
    for (const number of panel.order) select.add(new Option(panel.cells[number].setting, number));
    select.addEventListener("change", () => showSetting(Number(select.value)));
  }
  byId("panel-numbers").addEventListener("change", () => showSetting(select ? Number(select.value) : panel.best));
  showSetting(panel.best);
}

// -- thresholds: a point on both curves, and the confusion matrix at the threshold ------------------------------------------

const cuts = R.thresholds;
if (cuts) {
  const drawn = ["roc", "precision-recall"].map((name) => draw(byId(`curve-${name}`), cuts.charts[name]));
  const slider = byId("threshold"), words = byId("threshold-words");
  const percent = (value) => (value === null ? "none above" : share(value, 1));
  const show = () => {
    const place = Number(slider.value), row = cuts.rows[place], missed = cuts.positives - row.hits;
    for (const each of drawn) each.then((result) => result.view.signal("at", place).run());
    const used = place === cuts.chosen, aim = used && cuts.aim ? `, chosen for ${cuts.aim}` : "";
    const score = Math.abs(row.threshold) < 0.01 && row.threshold ? row.threshold.toPrecision(2) : row.threshold.toFixed(2);
    const name = used ? "Current threshold" : "Threshold";
    words.textContent = `${name}: ${cuts.positive} if score >= ${score}${aim}: recall ${percent(row.recall)}, precision ${percent(row.precision)}`;
    slider.setAttribute("aria-valuetext", words.textContent);
    const lines = [[cuts.positive, row.hits, missed], [cuts.others, row.alarms, cuts.negatives - row.alarms]];
    const texts = lines.map(([name, ...counts]) => [name, ...counts.map((count) => count.toLocaleString("en"))]);
    fill(byId("threshold-table"), ["true \\ predicted", cuts.positive, cuts.others], texts, ["", "n", "n"], true);
  };
  slider.addEventListener("input", show);
  byId("threshold-back").addEventListener("click", () => { slider.value = cuts.chosen; show(); });
  show();
}
