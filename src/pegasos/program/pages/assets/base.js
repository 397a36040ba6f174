"use strict";
// The data of the page, the look of its charts, and small helpers. All text from data goes through textContent.
const R = JSON.parse(document.getElementById("report-data").textContent);
const byId = (id) => document.getElementById(id);

// Colours are the page's own (currentColor), so dark mode and print need no second drawing.
const THEME = {
  background: "transparent",
  font: 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif',
  view: { stroke: null },
  axis: {
    labelColor: "currentColor", titleColor: "currentColor", domainColor: "currentColor", tickColor: "currentColor",
    gridColor: "currentColor", gridOpacity: 0.12, domainOpacity: 0.4, tickOpacity: 0.4, labelFontSize: 11, titleFontSize: 12,
    titleFontWeight: 500, titlePadding: 8,
  },
  axisBand: { grid: false },
  legend: { labelColor: "currentColor", titleColor: "currentColor", labelFontSize: 11, titleFontSize: 11, titleFontWeight: 500 },
  title: { color: "currentColor" },
  text: { fill: "currentColor" },
  rule: { color: "currentColor", opacity: 0.5 },
};

function draw(element, spec) {
  const copy = JSON.parse(JSON.stringify(spec));
  if (copy.width === "container") copy.autosize = { type: "fit-x", contains: "padding" };
  if (copy.width === "container" && element.clientWidth < 430) {
    // Beside a legend a narrow screen would leave no room for the chart.
    copy.config = { legend: { orient: "bottom", columns: 3 } };
  }
  const look = { actions: false, renderer: "svg", config: THEME, mode: "vega-lite", logLevel: 1 };
  return vegaEmbed(element, copy, look).then((result) => { tellWidth(element.closest(".box")); return result; });
}

// What is wider than its place shows it, and can be reached by the keyboard.
function tellWidth(box) {
  const wide = box.scrollWidth > box.clientWidth + 1;
  box.classList.toggle("wide", wide);
  if (!wide || box.hasAttribute("tabindex")) return;
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", (box.closest("figure") || box.closest("section")).querySelector("figcaption strong, h3, h2").textContent);
}
const watched = new ResizeObserver((entries) => { for (const { target } of entries) tellWidth(target); });
for (const box of document.querySelectorAll(".box")) watched.observe(box);

function make(tag, text, kind) {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

function headings(row, texts, scope = "col", kind = () => "") {
  texts.forEach((text, at) => row.append(Object.assign(make("th", text, kind(text, at)), { scope })));
}

// Lines to copy end between words: browsers would also end them after the dashes of an option.
function showCode(pre, text) {
  pre.replaceChildren(...text.split(/(\s+)/).map((word) => (word.startsWith("-") ? make("span", word, "whole") : word)));
}
for (const pre of document.querySelectorAll(".code pre")) showCode(pre, pre.textContent);

const themeSwitch = byId("theme-switch");
const nameTheme = (now) => { themeSwitch.textContent = now === "dark" ? "Light" : "Dark"; };
themeSwitch.addEventListener("click", () => window.theme.toggle());
window.theme.listen(nameTheme);
nameTheme(window.theme.now);

for (const element of document.querySelectorAll("[data-chart]")) draw(element, R.charts[element.dataset.chart]);

// In a notebook the page is a frame without an address, where a link to "#..." would leave it.
for (const link of document.querySelectorAll("a[href^='#']")) {
  link.addEventListener("click", (event) => {
    const target = byId(link.getAttribute("href").slice(1));
    if (!target || location.protocol !== "about:") return;
    event.preventDefault();
    target.scrollIntoView();
  });
}

for (const button of document.querySelectorAll(".copy")) {
  button.addEventListener("click", () => {
    const pre = button.closest(".code").querySelector("pre");
    const done = () => { button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy"; }, 1500); };
    const mark = () => { getSelection().selectAllChildren(pre); button.textContent = "Marked"; };
    if (navigator.clipboard) navigator.clipboard.writeText(pre.textContent).then(done, mark); else mark();
  });
}

// Tables behind charts are opened for print, so that nothing is lost on paper.
addEventListener("beforeprint", () => { for (const each of document.querySelectorAll("figure details")) each.open = each.querySelectorAll("tr").length < 60; });
