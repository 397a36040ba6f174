"use strict";
// Light or dark: what the reader chose, else what the notebook around this page tells, else the system. `theme` is of all pages.
(function () {
  const system = matchMedia("(prefers-color-scheme: dark)"), listeners = [];
  const set = (next) => {
    window.theme.now = next;
    document.documentElement.dataset.theme = next;
    for (const listener of listeners) listener(next);
  };
  const followed = (next) => { if (!window.theme.chosen) set(next); };
  window.theme = {
    now: "light",
    chosen: false,
    listen: (listener) => listeners.push(listener),
    toggle: () => { window.theme.chosen = true; set(window.theme.now === "dark" ? "light" : "dark"); },
  };
  // A frame without an address is a notebook's: it is light unless the notebook says something else.
  const framed = location.protocol === "about:";
  if (!framed) system.addEventListener("change", () => followed(system.matches ? "dark" : "light"));
  addEventListener("message", (event) => { if (event.data && ["dark", "light"].includes(event.data.theme)) followed(event.data.theme); });
  set(!framed && system.matches ? "dark" : "light");
})();
