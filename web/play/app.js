// The application: one scene, one or two runs over it, and one frame at a time. It knows no control; whoever wants to see
// what is, listens to `shown`.

import { plannedSteps, Run } from "./run.js";
import { LESSONS, stateOf } from "./lessons.js";
import { className } from "./palette.js";
import { makeSet } from "./sets.js";
import { decode, encode, History, SCENE, sensible, VIEW } from "./state.js";
import { makeProblem } from "./walk.js";
import { Optimum } from "./optimum.js";

const STILL_AFTER = 160; // milliseconds without a change: then everything is drawn in full
// Points of the curves, and steps at the start that all have one; while something moves as many as cost so much.
const CURVE_POINTS = 80;
const FIRST_STEPS = 10;
const CURVE_COST = 4e5;
// While something moves the plane comes first: pictures and words follow in one of so many frames. Walks have so many
// milliseconds of a frame, more of them for many points, and show where they got to.
const BEATS = 3;
const SHARE = 6;
const USUAL_POINTS = 200;

export class App {
  constructor(given, shown, say) {
    Object.assign(this, { given, shown, say });
    this.history = new History({ ...SCENE, ...(given ? { set: "data", n: Math.min(given.n, given.points.length) } : {}) });
    this.view = { ...VIEW };
    Object.assign(this, { tool: "add", klass: 0, cursor: null, selected: null, lesson: null, playing: false, learner: "a" });
    this.runs = [];
    this.optima = [];
    this.problems = new Map();
    this.lastChange = -Infinity;
    this.waiting = false;
    this.beat = -1;
    this.stepped = false;
    this.next = null;
    this.gather();
    this.rebuild();
  }

  get scene() {
    return this.history.now;
  }

  get points() {
    return this.source.points;
  }

  get total() {
    return Math.max(0, ...this.runs.map((run) => run.total));
  }

  get t() {
    return Math.max(0, ...this.runs.map((run) => run.t));
  }

  // The step where one wants to be; walks that take long are still on their way to it.
  get wanted() {
    return Math.min(this.view.t, this.total);
  }

  // A class in words: its own name where the points have one.
  named(c) {
    return (this.scene.set === "data" && this.given.classes[c]) || className(c);
  }

  get names() {
    return this.scene.compare ? ["a", "b"] : ["a"];
  }

  // -- changes -------------------------------------------------------------------------------------------------------

  // A change of the scene; changes of the same name that follow each other are undone together.
  change(part, name) {
    this.history.change({ ...this.scene, ...part }, name);
    this.touched();
  }

  // The points as they are by now: those of the scene, or of its set.
  gather() {
    const { scene } = this;
    const made = [scene.set, scene.n, scene.noise, scene.sample].join();
    if (made !== this.made) [this.made, this.drawn] = [made, makeSet(scene, this.given)];
    this.source = { points: scene.points || this.drawn.points, fresh: this.drawn.fresh };
  }

  changeLearner(part) {
    const name = this.learner;
    const next = sensible({ ...this.scene[name], ...part });
    if (part.unit && part.unit !== this.scene[name].unit) next.count = this.sameLength(this.scene[name], part.unit);
    this.change({ [name]: next }, `${name} ${Object.keys(part).join()}`);
  }

  sameLength(spec, unit) {
    const { length } = this.points;
    if (unit === "steps") return plannedSteps(spec, length);
    return Math.max(1, Math.round((spec.count * spec.batch) / Math.max(1, length)));
  }

  closeChange() {
    this.history.close();
  }

  edit(points, name, text) {
    if (name === "erase") this.selected = null;
    this.change({ points }, name);
    if (text) this.say(`Point ${text}; ${points.length} points.`);
  }

  // The keyboard's place in the plane, and the point that is chosen there.
  moveCursor(cursor, selected) {
    Object.assign(this, { cursor, selected });
    const chosen = selected === null ? "" : `Point ${selected + 1} of ${this.points.length}, ${this.named(this.points[selected].c)}, `;
    if (cursor) this.say(`${chosen}at ${cursor.x}, ${cursor.y}.`);
    this.wake();
  }

  hideCursor() {
    [this.cursor, this.selected] = [null, null];
    this.wake();
  }

  undo(direction) {
    const done = this.history[direction]();
    if (done) this.touched();
    this.say(done ? `${direction === "undo" ? "Undone" : "Done again"}; ${this.points.length} points.` : `Nothing to ${direction}.`);
  }

  touched() {
    this.lastChange = performance.now();
    this.gather();
    this.stale = true;
    this.next = null;
    this.stepped = false;
    this.wake();
  }

  // Whether this frame shows the plane alone.
  get brief() {
    return this.beat > 0;
  }

  get moving() {
    return performance.now() - this.lastChange < STILL_AFTER;
  }

  open({ scene, view }, lesson) {
    this.pause();
    this.history.change(scene, null);
    this.view = { ...view };
    Object.assign(this, { lesson, learner: "a", cursor: null, selected: null });
    this.touched();
    this.rebuild();
  }

  openLesson(number) {
    const lesson = LESSONS[(number + LESSONS.length) % LESSONS.length];
    this.open(stateOf(lesson), LESSONS.indexOf(lesson));
    this.say(`Lesson ${this.lesson + 1}: ${lesson.title}. ${lesson.text}`);
  }

  get address() {
    return `#${encode(this.scene, { ...this.view, t: this.wanted < this.total ? this.wanted : Infinity })}`;
  }

  // What an address holds; answers whether it held something.
  restore(address) {
    try {
      const found = decode(address, this.given);
      if (found) this.open(found, null);
      return Boolean(found);
    } catch (error) {
      this.say(`This address cannot be read: ${error.message}.`);
      return false;
    }
  }

  // -- runs ----------------------------------------------------------------------------------------------------------

  // All runs anew, to the step at which they stood; one that stood at its end goes to its end. Where there are only so many
  // milliseconds they may not get there.
  rebuild(milliseconds = Infinity) {
    this.runs = this.makeRuns();
    this.full = this.goAll(this.runs, milliseconds) && !this.moving;
    this.stale = false;
    this.sketched = this.brief;
  }

  // What was sketched while something moved in full, a slice in each frame; the sketch is seen until it is there.
  refine() {
    this.next ||= this.makeRuns();
    if (!this.goAll(this.next, this.slice)) return;
    [this.runs, this.next, this.full, this.sketched] = [this.next, null, true, false];
  }

  makeRuns() {
    return this.names.map((name) => this.makeRun(this.scene[name])).filter(Boolean);
  }

  get slice() {
    return SHARE * Math.max(1, this.points.length / USUAL_POINTS);
  }

  // Whether all of them got where one wants to be.
  goAll(runs, milliseconds) {
    const start = performance.now();
    const ends = runs.map((_, k) => start + ((k + 1) / runs.length) * milliseconds);
    return runs.map((run, k) => run.goTo(this.view.t, ends[k])).every(Boolean);
  }

  makeRun(spec) {
    const problem = this.problemOf(spec);
    if (!problem) return null;
    if (!this.moving) return new Run(problem, spec, this.scene.seed, CURVE_POINTS, FIRST_STEPS);
    const cost = problem.signs.length * problem.m * (problem.m / 2 + problem.fresh.length) * this.names.length;
    const points = this.brief ? 1 : Math.min(Math.max(Math.floor(CURVE_COST / cost), 4), CURVE_POINTS);
    return new Run(problem, spec, this.scene.seed, points);
  }

  // Kernel matrices are kept as long as points and kernel stay what they are.
  problemOf(spec) {
    const { source } = this;
    if (this.kept !== source.points) [this.kept, this.problems] = [source.points, new Map()];
    const { kernel, degree, coef0, variance, scale } = spec;
    const name = [kernel, degree, coef0, variance, scale].join();
    if (!this.problems.has(name)) {
      if (this.problems.size > 2) this.problems.delete(this.problems.keys().next().value);
      this.problems.set(name, makeProblem(source.points, spec, source.fresh));
    }
    return this.problems.get(name);
  }

  // The optimum of each run, as far as it is known by now.
  optimumOf(run, k) {
    if (!this.view.optimum || !run.certified) return null;
    const { problem, spec } = run;
    const kept = this.optima[k];
    if (kept && kept.problem === problem && kept.spec.lam === spec.lam && kept.spec.loss === spec.loss) return kept;
    return (this.optima[k] = new Optimum(problem, spec));
  }

  // -- time ----------------------------------------------------------------------------------------------------------

  goTo(t, stepped = false) {
    for (const run of this.runs) run.goTo(t);
    this.view.t = this.t < this.total ? this.t : Infinity;
    this.stepped = stepped;
    this.wake();
  }

  step(count) {
    this.pause();
    this.goTo(Math.max(0, this.wanted + count), Math.abs(count) === 1);
    this.tellStep();
  }

  epoch() {
    const [run] = this.runs;
    if (!run) return;
    const size = Math.ceil(run.problem.m / run.lead.batch);
    this.pause();
    this.goTo((Math.floor(this.wanted / size) + 1) * size);
    this.tellStep();
  }

  play() {
    if (this.wanted >= this.total) this.goTo(0);
    this.playing = true;
    this.owed = 0;
    this.lastFrame = null;
    this.say("Playing.");
    this.wake();
  }

  pause() {
    if (this.playing) this.say(`Paused at step ${this.t}.`);
    this.playing = false;
    this.wake();
  }

  tellStep() {
    const [run] = this.runs;
    const step = run && run.lead.last;
    if (!step) return this.say(`Step 0 of ${this.total}: nothing was drawn yet.`);
    const [first] = step.answers;
    const what = first ? `score ${first.s.toPrecision(3)}, ${first.u === 0 ? "no change" : "changed"}` : "all predictors rest";
    this.say(`Step ${step.t} of ${this.total}: example ${step.drawn[0] + 1}, ${this.named(this.points[step.drawn[0]].c)}, ${what}.`);
  }

  // -- frames --------------------------------------------------------------------------------------------------------

  wake() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame((now) => this.frame(now));
  }

  frame(now) {
    this.waiting = false;
    this.beat = this.moving ? (this.beat + 1) % BEATS : -1;
    if (this.playing) this.advance(now);
    if (this.stale || (this.moving && this.sketched && !this.brief)) this.rebuild(this.slice);
    else if (!this.full && !this.moving) this.refine();
    this.shown(this);
    const open = this.runs.map((run, k) => this.optimumOf(run, k)).find((optimum) => optimum && !optimum.done);
    if (open && !this.moving) open.work(9);
    if (this.playing || open || (!this.full && !this.moving)) this.wake();
    else if (!this.full) setTimeout(() => this.wake(), STILL_AFTER);
  }

  advance(now) {
    const seconds = this.lastFrame === null ? 0 : Math.min((now - this.lastFrame) / 1000, 0.1);
    this.lastFrame = now;
    this.owed += seconds * this.view.speed;
    const steps = Math.floor(this.owed);
    this.owed -= steps;
    if (steps) this.goTo(this.wanted + steps, this.view.speed <= 15);
    if (this.t >= this.total || this.runs.every((run) => run.lead.finished)) {
      this.playing = false;
      this.say(`Finished at step ${this.t}.`);
    }
  }
}
