// Which example comes when: a pure function of (sampling, m, seed, position), as in engine/walk/draws.py.

import { Random } from "./random.js";

export const SAMPLINGS = ["permutation", "uniform", "fixed-permutation", "in-order"];
const UNIFORM_PAGE = 65536;

export class Draws {
  constructor(sampling, m, seed) {
    this.sampling = sampling;
    this.m = m;
    this.seed = seed;
    this.pages = new Map();
    this.order = { number: -1, page: null }; // the permutation that was asked for last
  }

  at(position) {
    if (this.sampling === "in-order") return position % this.m;
    if (this.sampling === "uniform") return this.uniform(Math.floor(position / UNIFORM_PAGE), position % UNIFORM_PAGE);
    const number = this.sampling === "permutation" ? Math.floor(position / this.m) : 0;
    if (number !== this.order.number) this.order = { number, page: this.permutation(number) };
    return this.order.page[position % this.m];
  }

  permutation(number) {
    if (!this.pages.has(number)) this.pages.set(number, this.random(number).permutation(this.m));
    return this.pages.get(number);
  }

  // A page of independent draws is made as far as it is asked for.
  uniform(number, offset) {
    if (!this.pages.has(number)) this.pages.set(number, { random: this.random(number), drawn: [] });
    const page = this.pages.get(number);
    while (page.drawn.length <= offset) page.drawn.push(page.random.below(this.m));
    return page.drawn[offset];
  }

  random(number) {
    return new Random(this.seed, [0, number]);
  }
}

// Draws do not depend on anything that a slider moves: the last few sequences are kept.
const kept = new Map();

export function sharedDraws(sampling, m, seed) {
  const name = `${sampling} ${m} ${seed}`;
  if (!kept.has(name)) {
    if (kept.size >= 8) kept.delete(kept.keys().next().value);
    kept.set(name, new Draws(sampling, m, seed));
  }
  return kept.get(name);
}
