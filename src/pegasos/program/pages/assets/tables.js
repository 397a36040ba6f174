"use strict";
// Pick rows of a table by their group, such as the verdict.
for (const select of document.querySelectorAll("select.filter")) {
  const rows = select.closest(".pickers").nextElementSibling.querySelectorAll("tbody tr");
  select.addEventListener("change", () => {
    for (const row of rows) row.hidden = select.value !== "" && row.dataset.group !== select.value;
  });
}

// Every column sorts: a click or Enter on its title, once more for the other way round. What is empty stays last.
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

// What is wider than its place shows it, and can be reached by the keyboard.
const watched = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const box = target.closest(".box"), wide = box.scrollWidth > box.clientWidth + 1;
    box.classList.toggle("wide", wide);
    if (wide && !box.hasAttribute("tabindex")) {
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", box.closest("figure")?.querySelector("figcaption strong")?.textContent || "wider than the screen");
    }
  }
});
for (const content of document.querySelectorAll(".box > *")) watched.observe(content);
