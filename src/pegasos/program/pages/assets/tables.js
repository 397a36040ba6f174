"use strict";
// Pick rows of a table by their group, such as the verdict.
for (const select of document.querySelectorAll("select.filter")) {
  const rows = select.closest(".pickers").nextElementSibling.querySelectorAll("tbody tr");
  select.addEventListener("change", () => {
    for (const row of rows) row.hidden = select.value !== "" && row.dataset.group !== select.value;
  });
}
