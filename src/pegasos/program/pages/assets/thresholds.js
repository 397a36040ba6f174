"use strict";
// The slider over thresholds: a point on both curves, and the confusion matrix that the threshold would give.
const cuts = R.thresholds;
if (byId("thresholds")) {
  const drawn = ["roc", "precision-recall"].map((name) => draw(byId(`curve-${name}`), cuts.charts[name]));
  const slider = byId("threshold");
  const percent = (value) => (value === null ? "none above" : (100 * value).toFixed(1) + " %");
  const show = () => {
    const place = Number(slider.value), row = cuts.rows[place], missed = cuts.positives - row.hits;
    for (const each of drawn) each.then((result) => result.view.signal("at", place).run());
    const used = place === cuts.chosen ? (cuts.aim ? `, chosen for ${cuts.aim}` : ", in use") : "";
    byId("threshold-words").textContent = `score ${Number(row.threshold.toPrecision(4))}${used}: recall ${percent(row.recall)}, precision ${percent(row.precision)}`;
    slider.setAttribute("aria-valuetext", byId("threshold-words").textContent);
    const table = byId("threshold-table"), lines = [[cuts.positive, row.hits, missed], [cuts.others, row.alarms, cuts.negatives - row.alarms]];
    table.replaceChildren();
    headings(table.createTHead().insertRow(), ["true \\ called", cuts.positive, cuts.others], "col", (_, at) => (at ? "n" : ""));
    const body = table.createTBody();
    for (const [name, ...counts] of lines) {
      const line = body.insertRow();
      headings(line, [name], "row");
      for (const count of counts) line.append(make("td", count.toLocaleString("en"), "n"));
    }
  };
  slider.addEventListener("input", show);
  byId("threshold-back").addEventListener("click", () => { slider.value = cuts.chosen; show(); });
  show();
}
