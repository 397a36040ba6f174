"use strict";
// The chosen cell: its setting, command line, confusion matrix and worst mistakes, as far as they were kept.
const names = R.classes;
let current = null;

function confusionRows(flat) {
  const rows = [];
  for (let i = 0; i < flat.length; i += 3) rows.push({ tr: flat[i], gr: flat[i + 1], count: flat[i + 2] });
  return rows;
}

function confusionTable(rows) {
  const table = byId("confusion-table");
  table.replaceChildren();
  const head = table.createTHead().insertRow(), body = table.createTBody();
  if (names.length <= 20) {
    headings(head, ["true \\ predicted", ...names], "col", (_, at) => (at ? "n" : ""));
    const counts = new Map(rows.map((row) => [`${row.tr} ${row.gr}`, row.count]));
    names.forEach((name, t) => {
      const line = body.insertRow();
      headings(line, [name], "row");
      names.forEach((_, g) => line.append(make("td", counts.get(`${t} ${g}`) || 0, t === g ? "n diagonal" : "n")));
    });
    return;
  }
  headings(head, ["true", "predicted", "rows", "share of the true class"], "col", (_, at) => (at > 1 ? "n" : ""));
  const totals = names.map((_, t) => rows.filter((row) => row.tr === t).reduce((sum, row) => sum + row.count, 0));
  const wrong = rows.filter((row) => row.tr !== row.gr).sort((a, b) => b.count - a.count).slice(0, 100);
  for (const { tr, gr, count } of wrong) {
    const line = body.insertRow(), share = ((100 * count) / totals[tr]).toFixed(1) + " %";
    line.append(make("td", names[tr]), make("td", names[gr]), make("td", count, "n"), make("td", share, "n"));
  }
}

function classTable(rows) {
  const table = byId("class-table");
  table.replaceChildren();
  const head = table.createTHead().insertRow(), body = table.createTBody();
  headings(head, ["class", "rows", "error", "most often taken for"], "col", (_, at) => (at === 1 || at === 2 ? "n" : ""));
  names.forEach((name, t) => {
    const mine = rows.filter((row) => row.tr === t), wrong = mine.filter((row) => row.gr !== t).sort((a, b) => b.count - a.count);
    const total = mine.reduce((sum, row) => sum + row.count, 0), missed = wrong.reduce((sum, row) => sum + row.count, 0);
    if (!total) return;
    const line = body.insertRow();
    headings(line, [name], "row");
    line.append(make("td", total, "n"), make("td", ((100 * missed) / total).toFixed(1) + " %", "n"));
    line.append(make("td", wrong.slice(0, 2).map((row) => `${names[row.gr]} (${row.count})`).join(", ")));
  });
  sorts(table);
}

function scoreBars(mistake) {
  const most = Math.max(...mistake.scores.map(Math.abs)) || 1;
  return mistake.codes.map((code, at) => {
    const score = mistake.scores[at], length = (50 * Math.abs(score)) / most;
    const line = make("div", null, "score" + (code === mistake.guess ? " guess" : code === mistake.true ? " truth" : ""));
    const axis = make("b"), bar = make("i");
    bar.style.width = `${length}%`;
    bar.style.left = `${score < 0 ? 50 - length : 50}%`;
    axis.append(bar);
    line.append(make("span", names[code]), axis, make("span", score.toFixed(2)));
    return line;
  });
}

function mistakeCards(mistakes) {
  const list = make("ul", null, "mistakes");
  for (const mistake of mistakes) {
    const item = make("li"), words = `true ${names[mistake.true]}, predicted ${names[mistake.guess]}`, row = R.rows[mistake.row];
    item.append(picture(row.picture, R.shape, `Row ${row.number}: ${words}`), make("strong", words));
    item.append(make("div", `row ${row.number}`, "remark"));
    if (mistake.scores.length) item.append(...scoreBars(mistake));
    list.append(item);
  }
  return list;
}

function mistakeTable(mistakes) {
  const box = make("div", null, "box"), table = make("table"), head = table.createTHead().insertRow(), body = table.createTBody();
  const scored = mistakes.some((mistake) => mistake.scores.length), one = mistakes.every((mistake) => mistake.scores.length === 1);
  const rows = mistakes.map((mistake) => R.rows[mistake.row]);
  const numbers = R.columns.map((_, at) => rows.some((row) => typeof row.values[at] === "number"));
  const short = R.columns.map((_, at) => rows.every((row) => String(row.values[at]).length <= 16)); // dates stay on one line
  const kinds = ["n", "", "", one || !scored ? "n" : "s", ...numbers.map((is, at) => (is ? "n" : short[at] ? "s" : ""))];
  const what = one ? `score of ${names[mistakes[0].codes[0]]}` : scored ? "scores" : "cells that err";
  headings(head, ["row", "true", "predicted", what, ...R.columns], "col", (_, at) => kinds[at]);
  mistakes.forEach((mistake, at) => {
    const scores = one ? mistake.scores[0].toFixed(2)
      : scored ? mistake.codes.map((code, k) => `${names[code]}: ${mistake.scores[k].toFixed(2)}`).join(", ")
        : mistake.share === null ? "" : `${(100 * mistake.share).toFixed(0)} %`;
    const small = (value) => typeof value === "number" && value !== 0 && Math.abs(value) < 0.001;
    const values = rows[at].values.map((value) => (value === null ? "missing" : small(value) ? value.toExponential() : value));
    const texts = [rows[at].number, names[mistake.true], names[mistake.guess], scores, ...values];
    body.insertRow().append(...texts.map((text, k) => make("td", text, kinds[k])));
  });
  sorts(table);
  box.append(table);
  watched.observe(box);
  return box;
}

function showCell(number) {
  current = number;
  const kept = R.kept[number], alone = byId("panel").dataset.alone;
  if (!alone) {
    const cell = grid.cells.find((each) => each.cell === number), found = cell.test || { shown: "not known", spread: "" };
    byId("panel-setting").textContent = `${cell.setting}: ${R.measure} ${found.shown}${found.spread && " " + found.spread + " over " + grid.spread}.`
      + (kept ? "" : " The predictions of this cell were not kept: only those of leading cells are, as far as the page's size allows.");
    const select = byId("panel-cell");
    if (![...select.options].some((each) => each.value === String(number))) select.append(option(String(number), cell.setting, false));
    select.value = String(number);
    const lines = cell.command || "", code = byId("panel-command").closest(".code");
    showCode(byId("panel-command"), lines);
    code.hidden = !lines;
    byId("panel-no-command").hidden = cell.command !== null || Boolean(lines);
  }
  byId("panel-kept").hidden = !kept;
  if (!kept) return;
  const rows = confusionRows(kept.confusion), spec = copy(R.confusion);
  spec.data.values = rows;
  // Where smaller squares let all classes be on the screen, they are smaller.
  const room = Math.floor((byId("panel-kept").clientWidth - 42 - Math.min(90, 6.2 * Math.max(...names.map((name) => name.length)))) / names.length);
  if (room >= 26 && room < spec.width.step) spec.width.step = spec.height.step = room;
  spec.params.find((param) => param.name === "rates").value = byId("panel-numbers").value === "rates";
  window.drawnConfusion = draw(byId("confusion"), spec);
  confusionTable(rows);
  classTable(rows);
  const mistakes = kept.mistakes || [], wrong = rows.filter((row) => row.tr !== row.gr).reduce((sum, row) => sum + row.count, 0);
  const scored = mistakes.some((each) => each.scores.length);
  const which = scored ? "those in which the wrong class leads the right one by most" : "those on which most cells err";
  const bars = scored && R.shape ? " Bars are scores, from zero in the middle: orange the predicted class, blue the true one." : "";
  byId("mistakes-remark").textContent = kept.mistakes === null ? `${wrong} mistakes; rows were kept for leading cells only.`
    : `${mistakes.length} of ${wrong} mistakes: ${which}.${bars}`;
  byId("mistakes").replaceChildren(...(mistakes.length ? [R.shape ? mistakeCards(mistakes) : mistakeTable(mistakes)] : []));
}

if (byId("panel")) {
  const first = grid ? grid.best : 0;
  if (byId("panel-cell")) {
    const listed = grid.cells.filter((cell) => R.kept[cell.cell]).sort(better).slice(0, 40);
    for (const cell of listed) byId("panel-cell").append(option(String(cell.cell), cell.setting, false));
    byId("panel-cell").addEventListener("change", () => choose(Number(byId("panel-cell").value)));
    listeners.push(showCell);
    choose(first);
  } else {
    showCell(first);
  }
  byId("panel-numbers").addEventListener("change", () => showCell(current));
}
