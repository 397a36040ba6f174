// NumPy's PCG64 with its SeedSequence, bit for bit: the page draws the examples that the library draws.

const TWO_32 = 4294967296;

// 128-bit numbers are eight limbs of 16 bits, the lowest first: sums of their products are exact in a double.
const limbs = (words) => words.flatMap((word) => [word & 0xffff, word >>> 16]);
const MULTIPLIER = limbs([0x9fccf645, 0x4385df64, 0x1fc65da4, 0x2360ed05]);
const NOTHING = limbs([0, 0, 0, 0]);

function timesPlus(number, factor, more) {
  const result = new Array(8);
  let carry = 0;
  for (let k = 0; k < 8; k++) {
    let total = carry + more[k];
    for (let i = 0; i <= k; i++) total += number[i] * factor[k - i];
    result[k] = total & 0xffff;
    carry = Math.floor(total / 65536);
  }
  return result;
}

const plus = (one, other) => timesPlus(one, limbs([1, 0, 0, 0]), other);

// Eight words of 32 bits from a seed and a spawn key, as numpy.random.SeedSequence(seed, spawn_key=key) makes them.
function seedWords(seed, key) {
  const entropy = [seed % TWO_32, Math.floor(seed / TWO_32), 0, 0, ...key];
  let constant = 0x43b0d7e5;
  const hash = (word) => {
    let value = word ^ constant;
    constant = Math.imul(constant, 0x931e8875);
    value = Math.imul(value, constant);
    return value ^ (value >>> 16);
  };
  const mix = (one, other) => {
    const value = Math.imul(0xca01f9dd, one) - Math.imul(0x4973f715, other);
    return value ^ (value >>> 16);
  };
  const pool = entropy.slice(0, 4).map(hash);
  for (let from = 0; from < 4; from++) {
    for (let to = 0; to < 4; to++) if (from !== to) pool[to] = mix(pool[to], hash(pool[from]));
  }
  for (const word of entropy.slice(4)) for (let to = 0; to < 4; to++) pool[to] = mix(pool[to], hash(word));
  constant = 0x8b51f9dd;
  return Array.from({ length: 8 }, (_, k) => {
    let value = pool[k % 4] ^ constant;
    constant = Math.imul(constant, 0x58f38ded);
    value = Math.imul(value, constant);
    return (value ^ (value >>> 16)) >>> 0;
  });
}

export class Random {
  constructor(seed, key = []) {
    const [a, b, c, d, e, f, g, h] = seedWords(seed, key);
    const start = limbs([c, d, a, b]);
    this.increment = timesPlus(limbs([g, h, e, f]), limbs([2, 0, 0, 0]), limbs([1, 0, 0, 0]));
    this.state = plus(timesPlus(NOTHING, MULTIPLIER, this.increment), start);
    this.state = timesPlus(this.state, MULTIPLIER, this.increment);
    this.upper = null;
  }

  // 32 bits; every second call gives the upper half of the 64 bits before.
  word() {
    if (this.upper !== null) {
      const kept = this.upper;
      this.upper = null;
      return kept;
    }
    const s = (this.state = timesPlus(this.state, MULTIPLIER, this.increment));
    let low = ((s[0] ^ s[4]) | ((s[1] ^ s[5]) << 16)) >>> 0;
    let high = ((s[2] ^ s[6]) | ((s[3] ^ s[7]) << 16)) >>> 0;
    let turn = s[7] >>> 10;
    if (turn >= 32) [low, high, turn] = [high, low, turn - 32];
    if (turn > 0) [low, high] = [(low >>> turn) | (high << (32 - turn)), (high >>> turn) | (low << (32 - turn))];
    this.upper = high >>> 0;
    return low >>> 0;
  }

  // A whole number below `count`, as Generator.integers draws it (Lemire's method).
  below(count) {
    if (count === 1) return 0;
    let product = this.word() * count;
    if (product % TWO_32 < count) {
      const threshold = (TWO_32 - count) % count;
      while (product % TWO_32 < threshold) product = this.word() * count;
    }
    return Math.floor(product / TWO_32);
  }

  // A whole number from 0 to `most`, as Generator.permutation draws it (by a mask).
  upTo(most) {
    let mask = most;
    for (const shift of [1, 2, 4, 8, 16]) mask |= mask >>> shift;
    let value = (this.word() & mask) >>> 0;
    while (value > most) value = (this.word() & mask) >>> 0;
    return value;
  }

  permutation(count) {
    const order = Int32Array.from({ length: count }, (_, k) => k);
    for (let last = count - 1; last > 0; last--) {
      const other = this.upTo(last);
      [order[last], order[other]] = [order[other], order[last]];
    }
    return order;
  }

  uniform() {
    return (this.word() + 0.5) / TWO_32;
  }

  normal() {
    return Math.sqrt(-2 * Math.log(this.uniform())) * Math.cos(2 * Math.PI * this.uniform());
  }
}
