// The page: puts what the application shows into canvases and elements, and takes what controls say.

import { keyName, listenToKeys, makeActions, PLANE_KEYS } from "./actions.js";
import { App } from "./app.js";
import { controlsOf, LEARNER_LISTS, LEARNER_SLIDERS, makeList, makeSlider, SCENE_SLIDERS, sliderOf } from "./controls.js";
import { listenToPointer } from "./editing.js";
import { counted, ruleOf, short } from "./formula.js";
import { LESSONS } from "./lessons.js";
import { icon, THEMES } from "./palette.js";
import { coefficientWords, drawCoefficients, drawErrors, drawObjective, errorWords, horizon, objectiveWords, saidErrors } from "./pictures.js";
import { Plane } from "./plane.js";
import { SETS } from "./sets.js";
import { watchSizes } from "./sizes.js";

const byId = (id) => document.getElementById(id);
const SPEEDS = [1, 2, 5, 10, 20, 30, 50, 100, 200, 500, 1000, 2000, 5000];
const LEAST_CLASSES = 4;
const escaped = (text) => new Option(text).innerHTML;

export class Page {
  constructor(given) {
    this.given = given;
    this.classes = Math.max(LEAST_CLASSES, given ? given.classes.length : 0);
    window.theme.listen((theme) => this.setTheme(theme));
    this.planes = ["a", "b"].map((name) => new Plane(byId(`plane-${name}`)));
    this.app = new App(given, () => this.show(), (words) => this.say(words));
    this.actions = makeActions(this.app, this);
    this.buildButtons();
    this.buildControls();
    for (const plane of this.planes) listenToPointer(plane, this.app);
    listenToKeys(this.app, this.actions);
    this.setTheme(window.theme.now);
    this.listenToWindow();
  }

  listenToWindow() {
    watchSizes(document.querySelectorAll("canvas"), () => this.app.wake());
    window.addEventListener("hashchange", () => {
      if (location.hash !== this.ownAddress) this.app.restore(location.hash);
    });
    // Paper is white, and must show the present: draw at once, not with the next frame.
    window.addEventListener("beforeprint", () => {
      this.onScreen = this.theme;
      this.setTheme("light");
      this.show();
    });
    window.addEventListener("afterprint", () => this.setTheme(this.onScreen));
    for (const plane of this.planes) plane.canvas.addEventListener("blur", () => this.app.hideCursor());
  }

  // -- building ------------------------------------------------------------------------------------------------------

  buildButtons() {
    const sets = [...Object.keys(SETS), ...(this.given ? ["data"] : [])];
    byId("sets").innerHTML = sets.map((set) => `<button type="button" data-action="set-${set}"></button>`).join("");
    sets.forEach((set, k) => (byId("sets").children[k].textContent = set === "data" ? this.given.name : SETS[set].title));
    byId("classes").innerHTML = Array.from({ length: this.classes }, (_, c) => `<button type="button" data-action="class-${c}"></button>`).join("");
    byId("lesson").replaceChildren(new Option("A lesson …", ""), ...LESSONS.map(({ title }, k) => new Option(`${k + 1}. ${title}`, k)));
    byId("lesson").addEventListener("change", (event) => event.target.value !== "" && this.app.openLesson(Number(event.target.value)));
    this.buttons = {};
    for (const button of document.querySelectorAll("[data-action]")) {
      this.buttons[button.dataset.action] = button;
      const { key, title, run } = this.actions[button.dataset.action];
      Object.assign(button, { title: `${title} (${keyName(key)})` });
      button.setAttribute("aria-keyshortcuts", key === " " ? "Space" : /^[A-Z]$/.test(key) ? `Shift+${key}` : key);
      if (!button.textContent.trim()) button.setAttribute("aria-label", title);
      button.addEventListener("click", run);
    }
    const rows = [...Object.values(this.actions).map(({ key, title }) => [keyName(key), title]), ...PLANE_KEYS.map(([key, title]) => [key, `${title} (on the plane)`])];
    byId("key-table").innerHTML = rows.map(() => "<div><dt><kbd></kbd></dt><dd></dd></div>").join("");
    rows.forEach(([key, title], k) => {
      const row = byId("key-table").children[k];
      row.querySelector("kbd").textContent = key;
      row.querySelector("dd").textContent = title;
    });
    for (const name of ["a", "b"]) byId(`tab-${name}`).addEventListener("click", () => this.setLearner(name));
    byId("keys").addEventListener("click", (event) => event.target === byId("keys") && byId("keys").close());
  }

  buildControls() {
    const { app } = this;
    const settled = () => {
      app.closeChange();
      this.toTell = true;
      app.wake();
    };
    this.sceneControls = Object.fromEntries(
      Object.keys(SCENE_SLIDERS).map((name) => [name, makeSlider(`scene-${name}`, (value) => app.change({ [name]: value, points: null }, name), settled)]),
    );
    byId("scene-sliders").append(...Object.values(this.sceneControls).map(({ row }) => row));
    this.learnerControls = {};
    for (const name of ["learner", "kernel", ...Object.keys(LEARNER_SLIDERS), "unit", "average", "sampling"]) {
      this.learnerControls[name] = LEARNER_LISTS[name]
        ? makeList(`learner-${name}`, LEARNER_LISTS[name].title, (value) => this.chooseLearner(name, value))
        : makeSlider(`learner-${name}`, (value) => app.changeLearner({ [name]: value }), settled);
    }
    byId("learner-controls").append(...Object.values(this.learnerControls).map(({ row }) => row));
    byId("position").addEventListener("input", (event) => {
      app.pause();
      app.goTo(Number(event.target.value));
    });
    byId("speed").max = SPEEDS.length - 1;
    byId("speed").addEventListener("input", (event) => {
      app.view.speed = SPEEDS[event.target.value];
      app.wake();
    });
  }

  chooseLearner(name, value) {
    const part = { [name]: name === "average" ? Number(value) : value };
    if (name === "learner") {
      const [model, loss = "hinge"] = value.split(" ");
      Object.assign(part, { model, loss });
      delete part.learner;
    }
    this.app.closeChange();
    this.app.changeLearner(part);
    this.app.closeChange();
    this.toTell = true;
  }

  // -- what actions ask for ------------------------------------------------------------------------------------------

  setSpeed(direction) {
    const { view } = this.app;
    const place = SPEEDS.findIndex((speed) => speed >= view.speed);
    view.speed = SPEEDS[Math.min(Math.max(place + direction, 0), SPEEDS.length - 1)];
    this.say(`${view.speed} steps a second.`);
    this.app.wake();
  }

  setTool(tool) {
    this.app.tool = tool;
    this.say({ add: "Click adds a point, dragging moves one.", paint: "Brush: dragging paints points.", erase: "Click removes a point." }[tool]);
    this.app.wake();
  }

  setClass(c) {
    this.app.klass = c;
    this.say(`New points are ${this.app.named(c)}.`);
    this.app.wake();
  }

  newSample() {
    this.app.closeChange();
    this.app.change({ sample: this.app.scene.sample + 1, points: null }, null);
    this.say("New points.");
  }

  newDraws() {
    this.app.closeChange();
    this.app.change({ seed: this.app.scene.seed + 1 }, null);
    this.say(`Draws with seed ${this.app.scene.seed}.`);
  }

  compare() {
    const { app } = this;
    const compare = !app.scene.compare;
    app.closeChange();
    app.change({ compare, ...(compare ? { b: app.scene.a } : {}) }, null);
    app.learner = compare ? "b" : "a";
    this.say(compare ? "Two learners side by side; the controls are those of learner B." : "One learner.");
  }

  setLearner(name) {
    if (name === "b" && !this.app.scene.compare) return this.compare();
    this.app.learner = name;
    this.say(`The controls are those of learner ${name.toUpperCase()}.`);
    return this.app.wake();
  }

  toggleOptimum() {
    this.app.view.optimum = !this.app.view.optimum;
    this.say(this.app.view.optimum ? "The optimum is drawn dashed." : "Without the optimum.");
    this.app.wake();
  }

  nextPredictor() {
    const [run] = this.app.runs;
    const owners = run ? run.problem.owners : [];
    this.app.view.column += 1;
    this.say(owners.length > 1 ? `${this.app.named(owners[this.app.view.column % owners.length])} against all.` : "Two classes have one predictor.");
    this.app.wake();
  }

  async share() {
    const { address } = this.app;
    this.ownAddress = address;
    try {
      history.replaceState(null, "", address);
    } catch {
      // in a notebook's frame the page has no address of its own
    }
    byId("address").value = location.protocol === "about:" ? address : location.href;
    byId("sharing").showModal();
    byId("address").select();
    try {
      await navigator.clipboard.writeText(byId("address").value);
      this.say("The address of this state was copied.");
    } catch {
      this.say("The address of this state is chosen: copy it.");
    }
  }

  toggleTheme() {
    window.theme.toggle();
    this.say(this.theme === "dark" ? "Dark." : "Light.");
  }

  setTheme(theme) {
    this.theme = theme;
    byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
    const { style } = document.documentElement;
    style.colorScheme = theme;
    for (const [name, colour] of Object.entries(THEMES[theme])) style.setProperty(`--${name}`, colour);
    [...byId("classes").children].forEach((button, c) => {
      button.innerHTML = icon(c, theme);
      if (this.given && this.given.classes[c]) button.append(this.given.classes[c]);
    });
    this.app.wake();
  }

  goToPlane() {
    const [plane] = this.planes;
    this.app.moveCursor(this.app.cursor || { x: 0, y: 0 }, null);
    plane.canvas.focus();
  }

  showKeys() {
    byId("keys").showModal();
  }

  say(words) {
    byId("said").textContent = words;
  }

  // -- showing -------------------------------------------------------------------------------------------------------

  show() {
    const { app } = this;
    this.showControls();
    const { compare } = app.scene;
    byId("planes").classList.toggle("two", compare);
    byId("figure-b").hidden = !compare;
    byId("too-few").hidden = app.runs.length > 0;
    const shown = app.runs.map((run, k) => {
      const c = run.predictor();
      return { run, c, colour: THEMES[this.theme][k ? "other" : "ink"] };
    });
    this.planes.forEach((plane, k) => (k === 0 || compare) && this.showPlane(plane, shown[k], k));
    if (app.brief) return;
    byId("pictures").classList.toggle("nothing", !shown.length);
    byId("rule").hidden = !shown.length;
    for (const each of shown) each.now = each.run.evaluate(each.c);
    if (shown.length) this.showRun(shown);
    if (this.toTell && app.full) this.tellErrors(shown);
  }

  // After a control was moved: what came of it.
  tellErrors(shown) {
    this.toTell = false;
    const texts = shown.map(({ now }, k) => `${shown[1] ? `${k ? "B" : "A"}: ` : ""}${saidErrors({ now })}`);
    if (texts.length) this.say(`Errors ${texts.join("; ")}.`);
  }

  showPlane(plane, shown, k) {
    const { app } = this;
    const optimum = shown && app.optimumOf(shown.run, k);
    const step = shown && shown.run.lead.last;
    plane.draw({
      theme: this.theme,
      points: app.points,
      run: shown ? shown.run : null,
      c: shown ? shown.c : [],
      optimum: optimum ? optimum.coefficients : null,
      moving: app.moving || (app.playing && app.view.speed > 15),
      stepped: app.stepped,
      drawn: step ? step.drawn.slice(0, 50) : [],
      changed: new Set(step ? step.answers.filter(({ u }) => u !== 0).map(({ i }) => i) : []),
      cursor: app.cursor,
      selected: app.selected,
    });
  }

  captionOf({ run, now }, k) {
    const { spec } = run;
    const words = { perceptron: "Perceptron", pegasos: "Pegasos", sdca: "SDCA" }[spec.model];
    const loss = spec.model === "perceptron" ? "" : `, ${spec.loss}`;
    const letter = this.app.scene.compare ? `<b class="letter ${k ? "other" : ""}">${k ? "B" : "A"}</b> ` : "";
    const strength = spec.model === "perceptron" ? "" : `, <span class="whole"><i>λ</i> = ${short(spec.lam)}</span>`;
    return `<span>${letter}${words}${loss}, ${spec.kernel}${strength}</span><span class="errors">${errorWords({ now })}</span>`;
  }

  showRun(shown) {
    const { app } = this;
    const active = shown[app.learner === "b" && shown[1] ? 1 : 0];
    const optima = shown.map(({ run }, k) => app.optimumOf(run, k));
    const columns = active.run.problem.owners;
    const j = app.view.column % columns.length;
    shown.forEach((each, k) => this.put(`caption-${k ? "b" : "a"}`, this.captionOf(each, k)));
    const steps = horizon(app.t, app.total);
    drawObjective(byId("objective"), this.theme, shown, optima, steps);
    drawErrors(byId("errors"), this.theme, shown, steps);
    drawCoefficients(byId("coefficients"), this.theme, active, j);
    const words = (form) => shown.map((each, k) => (shown[1] ? `<b class="letter ${k ? "other" : ""}">${k ? "B" : "A"}</b> ` : "") + form(each, k)).join("<br>");
    this.put("objective-words", words((each, k) => objectiveWords(each, optima[k])));
    this.put("error-words", words(errorWords));
    const whose = columns.length > 1 ? `<button type="button" class="small" data-next>${escaped(app.named(columns[j]))} against all</button> ` : "";
    const letter = shown[1] ? `<b class="letter ${app.learner === "b" ? "other" : ""}">${app.learner.toUpperCase()}</b> ` : "";
    this.put("coefficient-words", letter + coefficientWords(active, j));
    const { rule, verdict, changed, predictor } = ruleOf(active.run, j);
    this.put("rule-formula", rule);
    this.put("rule-verdict", `${letter}${whose}step ${active.run.t}: ${verdict}`);
    byId("rule-verdict").classList.toggle("changed", changed);
    this.put("rule-predictor", predictor);
    const next = byId("rule-verdict").querySelector("[data-next]");
    if (next) next.onclick = () => this.nextPredictor();
  }

  // Text that did not change is left alone: a screen reader, or a selection, may be in it.
  put(id, html) {
    const element = byId(id);
    if (element.lastPut !== html) element.innerHTML = element.lastPut = html;
  }

  showControls() {
    const { app } = this;
    const { scene, view } = app;
    const spec = scene[app.learner];
    for (const [name, control] of Object.entries(this.sceneControls)) {
      control.show(SCENE_SLIDERS[name], scene[name], name === "n" && scene.points ? ` (now ${scene.points.length})` : "");
      control.row.hidden = scene.set === "empty" || (name === "noise" && scene.set === "data");
    }
    const wanted = controlsOf(spec);
    for (const [name, control] of Object.entries(this.learnerControls)) {
      control.row.hidden = !wanted.includes(name);
      if (control.row.hidden) continue;
      const list = LEARNER_LISTS[name];
      const model = spec.model === "perceptron" ? "perceptron" : `${spec.model} ${spec.loss}`;
      if (list) control.show(list.options(spec), name === "learner" ? model : spec[name]);
      else control.show(sliderOf(name, spec), spec[name], this.beside(name, spec));
    }
    byId("tabs").hidden = !scene.compare;
    for (const name of ["a", "b"]) this.mark(byId(`tab-${name}`), app.learner === name);
    const pressed = { add: app.tool === "add", paint: app.tool === "paint", erase: app.tool === "erase", compare: scene.compare, optimum: view.optimum };
    for (let c = 0; c < this.classes; c++) pressed[`class-${c}`] = app.klass === c;
    for (const set of [...Object.keys(SETS), "data"]) pressed[`set-${set}`] = scene.set === set && (!scene.points || !scene.points.length);
    for (const [id, value] of Object.entries(pressed)) if (this.buttons[id]) this.mark(this.buttons[id], value);
    byId("sample").hidden = scene.set === "empty" || scene.set === "data";
    byId("notes").hidden = scene.set !== "data";
    if (scene.set === "data") byId("notes").textContent = this.given.notes.join("; ");
    this.showTime();
    this.showLesson();
  }

  // Elements are touched only where something changed: a frame has better things to do.
  mark(button, pressed) {
    if (button.pressed === pressed) return;
    button.pressed = pressed;
    button.setAttribute("aria-pressed", pressed);
  }

  beside(name, spec) {
    const { length } = this.app.points;
    if (name === "lam" && length) return `<span class="beside"><i>C</i> = ${short(1 / (spec.lam * length))}</span>`;
    if (name === "count" && spec.unit === "epochs") return `<span class="beside"><i>T</i> = ${counted(Math.ceil((spec.count * length) / spec.batch))}</span>`;
    return "";
  }

  showTime() {
    const { app } = this;
    const position = byId("position");
    if (Number(position.max) !== app.total) position.max = app.total;
    if (Number(position.value) !== app.t) position.value = app.t;
    const epochs = app.runs[0] ? (app.t * app.runs[0].lead.batch) / app.runs[0].problem.m : 0;
    this.put("time", `step <b>${counted(app.t)}</b> of ${counted(app.total)}<span class="beside">epoch ${epochs.toFixed(1)}</span>`);
    const words = `step ${app.t} of ${app.total}`;
    if (position.ariaValueText !== words) position.ariaValueText = words;
    byId("play").classList.toggle("playing", app.playing);
    this.put("play-word", app.playing ? "Pause" : "Play");
    const place = SPEEDS.findIndex((speed) => speed >= app.view.speed);
    if (Number(byId("speed").value) !== place) byId("speed").value = place;
    this.put("speed-words", `${counted(app.view.speed)} / s`);
  }

  showLesson() {
    const { lesson } = this.app;
    if (byId("lesson").value !== String(lesson ?? "")) byId("lesson").value = lesson ?? "";
    byId("lesson-line").hidden = lesson === null;
    if (lesson === null) return;
    this.put("lesson-title", `${LESSONS[lesson].title}.`);
    this.put("lesson-text", LESSONS[lesson].text);
  }
}

