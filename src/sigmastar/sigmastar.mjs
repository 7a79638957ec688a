// Model files of Sigmastar in a browser or in Node: this one file, and nothing else.
//
//   import { load } from "./sigmastar.mjs";
//   const model = await load("model.sigma");
//   model.predictNext(["ab"], 1);
//
// It reads what `sigmastar.runtime` reads: automata, hidden Markov models and n-grams (predictNext,
// predictProbaNext, scoreSamples), taggers (predict, predictProba) and transducers (predict, predictNbest,
// scoreSamples), and gives the same numbers to nine places and more. Files are held against their checksum and
// against what their kind of model declares of its arrays, before anything is computed from them. The formulas
// stand in the modules of the package that have the names of the sections below.

export const END = Symbol("END"); // what follows a string that is over
export class ModelFileError extends Error {}
export class UnknownSymbolError extends Error {}

const SEPARATOR = "\x1f", UNKNOWN_CLASS = "<unk>";
const LARGEST_HEADER = 100_000_000, LARGEST = 1e150, VERSION = 2;

/** A model from an address, a File, a Blob or a Response. */
export async function load(source) {
  let found = source;
  if (typeof source === "string" || source instanceof URL) {
    found = await fetch(source);
  }
  if (typeof Response !== "undefined" && found instanceof Response && !found.ok) {
    throw new ModelFileError(`${found.url}: the server answered ${found.status}; check the address`);
  }
  return read(typeof found.arrayBuffer === "function" ? await found.arrayBuffer() : found);
}

/** A model from the bytes of its file, in an ArrayBuffer or a view of one. */
export function read(data) {
  try {
    const { header, arrays } = unsealed(bytesOf(data));
    const kind = KINDS[header.family];
    if (!kind) {
      const known = Object.keys(KINDS).join(", ");
      throw new ModelFileError(`holds a model of kind "${header.family}", which needs Python; this reads ${known}`);
    }
    const model = kind(arrays, header.model);
    model.kind = header.family;
    model.learned = header.learned;
    return model;
  } catch (problem) {
    if (problem instanceof ModelFileError) throw problem;
    throw new ModelFileError(`does not hold a model of its kind: ${problem.message}; write the model again`);
  }
}

// ---------------------------------------------------------------- core.model_format, core.model_reading

const TYPES = {
  F64: [Float64Array, "<f8"], F32: [Float32Array, "<f4"],
  I64: [BigInt64Array, "<i8"], I32: [Int32Array, "<i4"], I16: [Int16Array, "<i2"], I8: [Int8Array, "|i1"],
  U64: [BigUint64Array, "<u8"], U32: [Uint32Array, "<u4"], U16: [Uint16Array, "<u2"], U8: [Uint8Array, "|u1"],
  BOOL: [Uint8Array, "|b1"],
};

function damaged(what) {
  return new ModelFileError(`is damaged: ${what}; get or write the model again`);
}

function bytesOf(data) {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  throw new ModelFileError("is not an ArrayBuffer, a view of one, a File, a Blob or an address");
}

/** The header and the arrays of a file, held against its checksum. */
function unsealed(bytes) {
  const { metadata, entries, start } = headOf(bytes);
  const text = metadata.sigmastar;
  if (typeof text !== "string") {
    throw new ModelFileError("is a safetensors file, but not a model of sigmastar; use a file that sigmastar wrote");
  }
  let header;
  try {
    header = decoded(JSON.parse(text));
  } catch (problem) {
    throw damaged(`its header cannot be read (${problem.message})`);
  }
  const version = header && header.version;
  if (!Number.isSafeInteger(version) || version < 1) throw damaged("its header lacks a version");
  if (version > VERSION) {
    throw new ModelFileError(`is of format version ${version}, this reads ${VERSION}; use a newer sigmastar.mjs`);
  }
  if (version < VERSION) {
    throw new ModelFileError(`is of format version ${version}, this reads ${VERSION}; load and save it with sigmastar`);
  }
  if (sumOf(text, entries, bytes, start) !== metadata.sha256) throw damaged("its checksum is not that of its content");
  if (typeof header.family !== "string" || !isTable(header.model)) throw damaged("its header does not describe a model");
  return { header, arrays: new Map([...entries].map(([name, entry]) => [name, arrayOf(name, entry, bytes, start)])) };
}

/** The header of the container; what it claims is held against the size of the file. */
function headOf(bytes) {
  if (!bytes.length) throw new ModelFileError("the file is empty; learn and write the model again");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = bytes.length > 8 ? Number(view.getBigUint64(0, true)) : Infinity;
  if (length > LARGEST_HEADER || bytes[8] !== 0x7b) {
    throw new ModelFileError("is not a model file (safetensors); use a file that sigmastar wrote");
  }
  if (8 + length > bytes.length) throw damaged("it was cut short");
  let found, metadata;
  const entries = new Map();
  try {
    found = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(8, 8 + length)));
    metadata = found.__metadata__ || {};
    for (const name of Object.keys(found).sort()) if (name !== "__metadata__") entries.set(name, entryOf(found[name]));
  } catch (problem) {
    throw damaged(`its header cannot be read (${problem.message})`);
  }
  let at = 0;
  for (const entry of [...entries.values()].sort((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (entry.begin !== at || entry.end - at !== entry.size * entry.width) {
      throw damaged("its arrays do not lie one after the other");
    }
    at = entry.end;
  }
  if (8 + length + at > bytes.length) throw damaged("it was cut short");
  if (8 + length + at < bytes.length) throw damaged("it is longer than it says");
  return { metadata, entries, start: 8 + length };
}

function entryOf(entry) {
  const { dtype, shape, data_offsets: [begin, end] } = entry;
  if (!Object.hasOwn(TYPES, dtype)) throw new Error(`arrays of type ${dtype} are not read here`);
  const isRight = Array.isArray(shape) && shape.length <= 16 && [...shape, begin, end].every((n) => Number.isSafeInteger(n) && n >= 0);
  if (!isRight) throw new Error("an array has no possible shape");
  return { type: dtype, shape, begin, end, width: TYPES[dtype][0].BYTES_PER_ELEMENT, size: shape.reduce((a, b) => a * b, 1) };
}

/** An array of a file: its type, its shape, and its numbers; whole numbers of 64 bits as plain ones. */
function arrayOf(name, entry, bytes, start) {
  const Typed = TYPES[entry.type][0], offset = bytes.byteOffset + start + entry.begin;
  const isAligned = offset % entry.width === 0 && IS_LITTLE;
  let data;
  if (isAligned) {
    data = new Typed(bytes.buffer, offset, entry.size);
  } else {
    const copy = bytes.slice(start + entry.begin, start + entry.end);
    if (!IS_LITTLE) for (let k = 0; k < copy.length; k += entry.width) copy.subarray(k, k + entry.width).reverse();
    data = new Typed(copy.buffer, 0, entry.size);
  }
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) {
    const plain = new Float64Array(data.length);
    for (let k = 0; k < data.length; k++) {
      plain[k] = Number(data[k]);
      if (!Number.isSafeInteger(plain[k])) throw new Error(`the array "${name}" holds numbers beyond 2^53`);
    }
    data = plain;
  }
  return { type: entry.type, shape: entry.shape, data };
}

const IS_LITTLE = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** A value of canonical JSON: tuples are arrays, alphabets are objects of their own. */
function decoded(value) {
  if (Array.isArray(value)) return value.map(decoded);
  if (value === null || typeof value !== "object") return value;
  const keys = Object.keys(value);
  if (keys.length === 1) {
    if (keys[0] === "$tuple") return value.$tuple.map(decoded);
    if (keys[0] === "$alphabet") return new Alphabet(value.$alphabet.map(decoded));
    if (keys[0] === "$float") return { inf: Infinity, "-inf": -Infinity }[value.$float];
  }
  const table = Object.create(null);
  for (const key of keys) table[key] = decoded(value[key]);
  return table;
}

function isTable(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Alphabet);
}

function sumOf(text, entries, bytes, start) {
  const digest = new Sha256(), encoder = new TextEncoder();
  digest.update(encoder.encode(text));
  for (const [name, entry] of entries) {
    const shape = entry.shape.length === 1 ? `(${entry.shape[0]},)` : `(${entry.shape.join(", ")})`;
    digest.update(encoder.encode(`\n${name}\n${TYPES[entry.type][1]}\n${shape}\n`));
    digest.update(bytes.subarray(start + entry.begin, start + entry.end));
  }
  return digest.hex();
}

/** SHA-256, piece by piece: what browsers have for it needs all bytes at once, and a page by https. */
class Sha256 {
  constructor() {
    this.state = Int32Array.from(FRACTIONS.roots.subarray(0, 8));
    this.block = new Uint8Array(64);
    this.words = new Int32Array(64);
    this.filled = 0;
    this.length = 0;
  }

  update(bytes) {
    this.length += bytes.length;
    let at = 0;
    while (at < bytes.length) {
      if (this.filled === 0 && bytes.length - at >= 64) {
        this.round(bytes, at);
        at += 64;
        continue;
      }
      this.block[this.filled++] = bytes[at++];
      if (this.filled === 64) {
        this.round(this.block, 0);
        this.filled = 0;
      }
    }
  }

  round(bytes, at) {
    const w = this.words, s = this.state, k = FRACTIONS.cubes;
    for (let t = 0; t < 16; t++, at += 4) w[t] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
    for (let t = 16; t < 64; t++) {
      const x = w[t - 15], y = w[t - 2];
      const low = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const high = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[t] = (w[t - 16] + low + w[t - 7] + high) | 0;
    }
    let a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
    for (let t = 0; t < 64; t++) {
      const high = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const first = (h + high + ((e & f) ^ (~e & g)) + k[t] + w[t]) | 0;
      const low = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const second = (low + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g; g = f; f = e; e = (d + first) | 0; d = c; c = b; b = a; a = (first + second) | 0;
    }
    s[0] += a; s[1] += b; s[2] += c; s[3] += d; s[4] += e; s[5] += f; s[6] += g; s[7] += h;
  }

  hex() {
    const bits = this.length * 8, padding = new Uint8Array(((this.filled < 56 ? 56 : 120) - this.filled) + 8);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    view.setUint32(padding.length - 8, Math.floor(bits / 2 ** 32));
    view.setUint32(padding.length - 4, bits >>> 0);
    this.update(padding);
    return [...this.state].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }
}

/** The first 32 bits behind the point of square and cube roots of primes, which SHA-256 begins with. */
const FRACTIONS = (() => {
  const roots = new Int32Array(64), cubes = new Int32Array(64), primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
  primes.forEach((p, k) => {
    roots[k] = Math.floor((Math.sqrt(p) % 1) * 2 ** 32) | 0;
    cubes[k] = Math.floor((Math.cbrt(p) % 1) * 2 ** 32) | 0;
  });
  return { roots, cubes };
})();

// ---------------------------------------------------------------- core.alphabet

class Alphabet {
  constructor(symbols) {
    this.symbols = symbols;
    this.codes = new Map(symbols.map((symbol, code) => [keyOf(symbol), code]));
    if (this.codes.size !== symbols.length) throw new Error("an alphabet holds each symbol once");
  }

  get length() {
    return this.symbols.length;
  }

  code(symbol) {
    return this.codes.get(keyOf(symbol)) ?? -1;
  }

  /** Codes of the symbols of a string; unknown ones are -1. */
  codesOf(string) {
    const symbols = typeof string === "string" ? Array.from(string) : [...string];
    return Int32Array.from(symbols, (symbol) => this.code(symbol));
  }

  /** Codes of a string whose symbols must be known, but where there is a class of unknown ones. */
  known(string) {
    const codes = this.codesOf(string), unknown = this.code(UNKNOWN_CLASS);
    const at = unknown < 0 ? codes.indexOf(-1) : -1;
    if (at >= 0) {
      const symbol = typeof string === "string" ? Array.from(string)[at] : [...string][at];
      throw new UnknownSymbolError(`${JSON.stringify(symbol)} is not among the ${this.length} symbols of the model`);
    }
    return unknown < 0 ? codes : codes.map((code) => (code < 0 ? unknown : code));
  }
}

/** What a symbol is found by: 1 and true are one symbol, as in Python, and so are equal tuples. */
function keyOf(symbol) {
  if (typeof symbol === "boolean") return Number(symbol);
  if (typeof symbol === "number" && Number.isInteger(symbol) && !Number.isSafeInteger(symbol)) {
    throw new Error(`the symbol ${symbol} is beyond 2^53, and not exact here`);
  }
  return Array.isArray(symbol) ? `\0${JSON.stringify(symbol.map(keyOf))}` : symbol;
}

function stringsOf(given) {
  if (typeof given === "string" || typeof given?.[Symbol.iterator] !== "function") {
    throw new TypeError("give a list of strings, or of lists of symbols");
  }
  return [...given];
}

// ---------------------------------------------------------------- core.stored_parts

const floats = (shape, least = -LARGEST, most = LARGEST) => ({ types: ["F64"], shape, least, most });
const singles = (shape, least = -LARGEST, most = LARGEST) => ({ types: ["F32", "F64"], shape, least, most });
const indices = (shape, of, least = 0, type = "I32") => ({ types: [type], shape, least, of });
const rising = (size, of) => ({ types: ["I64"], shape: [size], least: 0, of, order: "rising" });
const rowStarts = (rows, of) => ({ types: ["I64"], shape: [`${rows}+1`], of, order: "starts" });
const parents = (size) => ({ types: ["I32"], shape: [size], least: 0, of: size, order: "parents" });

const below = (prefix, arrays) => new Map(
  [...arrays].filter(([name]) => name.startsWith(prefix)).map(([name, array]) => [name.slice(prefix.length), array]),
);

/** The numbers of arrays that are as declared, by name, and all sizes; what is not is an Error. */
function checked(arrays, parts, sizes = {}) {
  const known = { ...sizes }, found = { sizes: known };
  for (const [name, part] of Object.entries(parts)) {
    const array = arrays.get(name);
    if (!array) throw new Error(`the array "${name}" is missing`);
    if (!part.types.includes(array.type)) throw new Error(`the array "${name}" is of type ${array.type}`);
    const fits = array.shape.length === part.shape.length && part.shape.every((wanted, axis) => {
      const [base, more] = wanted.split("+");
      known[base] ??= array.shape[axis] - Number(more || 0);
      return known[base] >= 0 && known[base] + Number(more || 0) === array.shape[axis];
    });
    if (!fits) throw new Error(`the array "${name}" of shape (${array.shape}) does not fit (${part.shape})`);
    found[name] = array.data;
  }
  for (const [name, part] of Object.entries(parts)) checkNumbers(name, found[name], part, known);
  return found;
}

function checkNumbers(name, data, part, sizes) {
  const [base, more] = (part.of || "").split("+");
  const size = part.of ? sizes[base] + Number(more || 0) : 0;
  if (part.order === "starts") {
    if (data[0] !== 0 || data[data.length - 1] !== size || data.some((value, k) => k > 0 && value < data[k - 1])) {
      throw new Error(`the array "${name}" must rise from 0 to ${size}`);
    }
    return;
  }
  const most = part.of ? size - 1 : part.most;
  for (let k = 0; k < data.length; k++) {
    const value = data[k];
    if (!(value >= part.least && value <= most)) throw new Error(`the array "${name}" must hold numbers from ${part.least} to ${most}`);
    if (part.order === "rising" && k > 0 && value <= data[k - 1]) throw new Error(`the array "${name}" must rise`);
    if (part.order === "parents" && value >= Math.max(k, 1)) throw new Error(`the array "${name}" must lead to places before`);
  }
}

function risesWithin(data, starts) {
  for (let row = 0; row + 1 < starts.length; row++) {
    for (let k = starts[row] + 1; k < starts[row + 1]; k++) if (data[k] <= data[k - 1]) return false;
  }
  return true;
}

function need(holds, fault) {
  if (!holds) throw new Error(fault);
}

/** The place of a value in sorted numbers `low .. high`, -1 where it is not there. */
function find(sorted, value, low = 0, high = sorted.length) {
  const end = high;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low < end && sorted[low] === value ? low : -1;
}

// ---------------------------------------------------------------- linear algebra, core.scaling

/** X with A X = B, of an n x n matrix and one with some columns, by rows; elimination with pivots. */
function solve(matrix, right, n, columns) {
  const a = Float64Array.from(matrix), x = Float64Array.from(right);
  for (let k = 0; k < n; k++) {
    let pivot = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(a[i * n + k]) > Math.abs(a[pivot * n + k])) pivot = i;
    need(a[pivot * n + k] !== 0, "I - A is singular: this automaton has no next-symbol weights");
    if (pivot !== k) {
      for (let j = 0; j < n; j++) [a[k * n + j], a[pivot * n + j]] = [a[pivot * n + j], a[k * n + j]];
      for (let j = 0; j < columns; j++) [x[k * columns + j], x[pivot * columns + j]] = [x[pivot * columns + j], x[k * columns + j]];
    }
    for (let i = k + 1; i < n; i++) {
      const factor = a[i * n + k] / a[k * n + k];
      if (factor === 0) continue;
      for (let j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
      for (let j = 0; j < columns; j++) x[i * columns + j] -= factor * x[k * columns + j];
    }
  }
  for (let i = n - 1; i >= 0; i--) {
    for (let j = 0; j < columns; j++) {
      let value = x[i * columns + j];
      for (let k = i + 1; k < n; k++) value -= a[i * n + k] * x[k * columns + j];
      x[i * columns + j] = value / a[i * n + i];
    }
  }
  return x;
}

/** Whether powers of a matrix vanish: it is squared until its size tells. */
function vanishes(matrix, n) {
  let power = Float64Array.from(matrix), log = 0; // of what was divided out
  for (let round = 0; round < 50; round++) {
    const size = Math.sqrt(power.reduce((sum, value) => sum + value * value, 0));
    if (size === 0) return true;
    log += Math.log(size);
    if (Math.abs(log) > 700) break;
    const half = power.map((value) => value / size);
    power = new Float64Array(n * n);
    for (let i = 0; i < n; i++) for (let k = 0; k < n; k++) {
      const weight = half[i * n + k];
      if (weight) for (let j = 0; j < n; j++) power[i * n + j] += weight * half[k * n + j];
    }
    log *= 2;
  }
  return log < 0;
}

/** I - A, row by row. */
function identityLess(matrix, n) {
  return Float64Array.from(matrix, (value, at) => (at % (n + 1) === 0 ? 1 : 0) - value);
}

/** vector A, for the matrix that begins at some place of `matrices`. */
function moved(vector, matrices, begin) {
  const n = vector.length, found = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const weight = vector[i], row = begin + i * n;
    if (weight !== 0) for (let j = 0; j < n; j++) found[j] += weight * matrices[row + j];
  }
  return found;
}

function dot(first, second, at = 0) {
  let total = 0;
  for (let k = 0; k < first.length; k++) total += first[k] * second[at + k];
  return total;
}

function largestSize(vector, begin = 0, end = vector.length) {
  let largest = 0;
  for (let k = begin; k < end; k++) largest = Math.max(largest, Math.abs(vector[k]));
  return largest;
}

const powerOfTwo = (exponent) => 2 ** Math.min(Math.max(exponent, -1000), 1000);
const exponentOf = (value) => (value > 0 ? Math.floor(Math.log2(value)) : 0);

function logAdd(first, second) {
  const high = Math.max(first, second);
  return high === -Infinity ? high : high + Math.log(Math.exp(first - high) + Math.exp(second - high));
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
/** Places of values, the largest value first; equal ones in order. */
const best = (values) => Array.from(values.keys()).sort((a, b) => values[b] - values[a] || a - b);

// ---------------------------------------------------------------- automata.data.contexts, automata.model.ngram_smoothing

/** An n-gram: a trie of contexts, newest symbol first, and the outcomes seen in each. */
class Ngram {
  constructor(arrays, alphabet) {
    const n = alphabet.length;
    const found = checked(arrays, {
      context_parent: parents("contexts"),
      context_symbol: indices(["contexts"], "symbols+1", -1),
      row_starts: rowStarts("contexts", "entries"),
      outcomes: indices(["entries"], "symbols+1"),
      own: floats(["entries"], 0, 1 + 1e-6),
      backoff: floats(["contexts"], 0, 1 + 1e-6),
    }, { symbols: n });
    const { context_parent: parent, context_symbol: symbol } = found;
    need(parent.length > 0 && symbol.every((code, k) => k === 0 || code >= 0), "its contexts are no trie of symbols");
    need(risesWithin(found.outcomes, found.row_starts), "the outcomes of each context must be sorted");
    Object.assign(this, { alphabet, parent, symbol, nOutcomes: n + 1, size: parent.length });
    Object.assign(this, { rowStarts: found.row_starts, outcomes: found.outcomes, own: found.own, backoff: found.backoff });
    this.depth = new Int32Array(this.size);
    for (let node = 1; node < this.size; node++) this.depth[node] = this.depth[parent[node]] + 1;
    this.sortChildren();
    this.start = Math.max(this.child(0, n), 0);
  }

  sortChildren() {
    const { parent, symbol, size } = this;
    this.nodes = Int32Array.from({ length: size - 1 }, (_, k) => k + 1).sort((a, b) => parent[a] - parent[b] || symbol[a] - symbol[b]);
    this.symbols = this.nodes.map((node) => symbol[node]);
    this.starts = new Int32Array(size + 1);
    for (let node = 1; node < size; node++) this.starts[parent[node] + 1] += 1;
    for (let node = 0; node < size; node++) this.starts[node + 1] += this.starts[node];
  }

  child(node, code) {
    const at = find(this.symbols, code, this.starts[node], this.starts[node + 1]);
    return at < 0 ? -1 : this.nodes[at];
  }

  /** The longest stored context behind a symbol, after a context. */
  follow(context, code) {
    const length = this.depth[context], symbols = new Array(length + 1);
    for (let k = length, node = context; k > 0; k--, node = this.parent[node]) symbols[k] = this.symbol[node];
    symbols[0] = code;
    let found = 0;
    for (const symbol of symbols) {
      const child = this.child(found, symbol);
      if (child < 0) break;
      found = child;
    }
    return found;
  }

  probability(context, outcome) {
    if (outcome < 0) return 0;
    let total = 0, weight = 1;
    for (let node = context; ; node = this.parent[node]) {
      const at = find(this.outcomes, outcome, this.rowStarts[node], this.rowStarts[node + 1]);
      if (at >= 0) total += weight * this.own[at];
      weight *= this.backoff[node];
      if (node === 0) return total + weight / this.nOutcomes;
    }
  }

  distribution(context) {
    const found = new Float64Array(this.nOutcomes);
    let weight = 1;
    for (let node = context; ; node = this.parent[node]) {
      for (let at = this.rowStarts[node]; at < this.rowStarts[node + 1]; at++) found[this.outcomes[at]] += weight * this.own[at];
      weight *= this.backoff[node];
      if (node === 0) break;
    }
    for (let k = 0; k < found.length; k++) found[k] += weight / this.nOutcomes;
    const total = sum(found);
    return found.map((value) => value / total);
  }

  // A model of strings has a state to begin in, what comes next in a state, and the state behind a symbol.
  begin() {
    return this.start;
  }

  next(context) {
    return this.distribution(context);
  }

  after(context, code) {
    return this.follow(context, code);
  }

  step(context, outcome) {
    return this.probability(context, outcome);
  }

  logProbability(codes) {
    return logOf(this, codes);
  }
}

/** log p of a string of codes, step by step; unknown symbols have none. */
function logOf(model, codes) {
  let state = model.begin(), log = 0;
  for (const code of codes) {
    const probability = code < 0 ? 0 : model.step(state, code);
    if (!(probability > 0)) return -Infinity;
    log += Math.log(probability);
    state = model.after(state, code);
  }
  return log + Math.log(model.step(state, model.alphabet.length));
}

// ---------------------------------------------------------------- automata.model.automaton

class Automaton {
  constructor(arrays, alphabet) {
    const { initial, transitions, final, sizes } = checked(arrays, {
      initial: floats(["states"]), transitions: floats(["symbols", "states", "states"]), final: floats(["states"]),
    }, { symbols: alphabet.length });
    Object.assign(this, { alphabet, initial, transitions, final, n: sizes.states });
  }

  get sumOfTransitions() {
    const { n, transitions } = this, total = new Float64Array(n * n);
    for (let at = 0; at < transitions.length; at++) total[at % (n * n)] += transitions[at];
    return total;
  }

  get isStochastic() {
    const { n, initial, final, transitions } = this, isNegative = (value) => value < 0;
    if (initial.some(isNegative) || final.some(isNegative) || transitions.some(isNegative)) return false;
    const outgoing = Float64Array.from(final), total = this.sumOfTransitions;
    for (let at = 0; at < total.length; at++) outgoing[Math.floor(at / n)] += total[at];
    return [...outgoing, sum(initial)].every((value) => Math.abs(value - 1) <= 1e-9);
  }

  /** What all continuations of a state weigh. */
  get mass() {
    const { n, final } = this;
    return this.isStochastic ? new Float64Array(n).fill(1) : solve(identityLess(this.sumOfTransitions, n), final, n, 1);
  }

  /** Of each outcome the vector that a state is multiplied with: A_y mass, and `final`. */
  get readout() {
    return (this._readout ??= readoutOf(this, this.mass));
  }

  begin() {
    return { vector: this.initial, log: 0 };
  }

  next({ vector }) {
    const weights = this.readout.map((column) => dot(vector, column));
    if (sum(weights) < 0 && (this._vanishes ??= vanishes(this.sumOfTransitions, this.n))) {
      for (let k = 0; k < weights.length; k++) weights[k] = -weights[k];
    }
    const clipped = Float64Array.from(weights, (weight) => Math.max(weight, 0)), total = sum(clipped);
    return total > 0 ? clipped.map((weight) => weight / total) : clipped.fill(1 / clipped.length);
  }

  after({ vector, log }, code) {
    const found = moved(vector, this.transitions, code * this.n * this.n), size = largestSize(found) || 1;
    return { vector: found.map((value) => value / size), log: log + Math.log(size) };
  }

  step(state, outcome) {
    return this.next(state)[outcome];
  }

  logProbability(codes) {
    let state = this.begin();
    for (const code of codes) {
      if (code < 0) return -Infinity;
      state = this.after(state, code);
    }
    const value = dot(state.vector, this.final);
    return value > 0 ? Math.log(value) + state.log : -Infinity;
  }
}

function readoutOf({ n, transitions, final, alphabet }, mass) {
  const columns = [];
  for (let code = 0; code < alphabet.length; code++) {
    columns.push(Float64Array.from({ length: n }, (_, i) => dot(mass, transitions, (code * n + i) * n)));
  }
  return [...columns, final];
}

// ---------------------------------------------------------------- automata.model.restart_filter

const FARTHEST = 10;

class Filtered {
  constructor(arrays, alphabet) {
    this.alphabet = alphabet;
    this.automaton = new Automaton(below("automaton.", arrays), alphabet);
    this.backoff = new Ngram(below("backoff.", arrays), alphabet);
    const { mass, restarts, mixing } = checked(arrays, {
      mass: floats(["states"]), restarts: floats(["contexts", "states"]), mixing: floats(["contexts"], 0, 1),
    }, { states: this.automaton.n, contexts: this.backoff.size });
    this.mixing = mixing;
    this.restarts = restarts;
    this.limit = FARTHEST * Math.max(1, largestSize(restarts));
    this.readout = readoutOf(this.automaton, mass);
    const whole = dot(this.automaton.initial, mass);
    this.start = whole > 0 ? this.automaton.initial.map((value) => value / whole) : this.restart(this.backoff.start);
  }

  restart(context) {
    return this.restarts.subarray(context * this.automaton.n, (context + 1) * this.automaton.n);
  }

  begin() {
    return { vector: this.start, context: this.backoff.start };
  }

  /** Weights of all outcomes in a state, clipped at zero, and their sum; looked at more than once. */
  weights(state) {
    if (!state.weights) {
      state.weights = Float64Array.from(this.readout, (column) => Math.max(dot(state.vector, column), 0));
      state.total = sum(state.weights);
    }
    return state;
  }

  next(state) {
    const { weights, total } = this.weights(state), rate = total > 0 ? this.mixing[state.context] : 1;
    const mixed = this.backoff.distribution(state.context).map(
      (value, k) => (total > 0 ? ((1 - rate) * weights[k]) / total : 0) + rate * value,
    );
    const whole = sum(mixed);
    return mixed.map((value) => value / whole);
  }

  step(state, outcome) {
    const { weights, total } = this.weights(state), rate = this.mixing[state.context];
    const behind = this.backoff.probability(state.context, outcome);
    return (1 - rate) * (total > 0 ? weights[outcome] / total : behind) + rate * behind;
  }

  after(state, code) {
    const { weights, total } = this.weights(state), n = this.automaton.n, rate = this.mixing[state.context];
    const context = this.backoff.follow(state.context, code), restart = this.restart(context);
    if (!(weights[code] > 0 && total > 0)) return { vector: restart, context };
    const behind = rate * this.backoff.probability(state.context, code);
    const probability = ((1 - rate) * weights[code]) / total + behind;
    const kept = (1 - rate) / (total * probability), share = behind / probability;
    const vector = moved(state.vector, this.automaton.transitions, code * n * n).map((value, k) => kept * value + share * restart[k]);
    return { vector: vector.every((value) => Math.abs(value) < this.limit) ? vector : restart, context };
  }

  logProbability(codes) {
    return logOf(this, codes);
  }
}

// ---------------------------------------------------------------- automata.model.classed

const N_SHARES = 12;

class Classed {
  constructor(arrays, header) {
    const alphabet = (this.alphabet = alphabetOf(header)), classOf = arrays.get("class_of");
    need(classOf && classOf.data.every((code) => code >= 0), "the classes of its symbols are missing");
    const classes = classOf.data.reduce((most, code) => Math.max(most, code), -1) + 1;
    need(classes <= alphabet.length, "there are more classes than symbols");
    const found = checked(arrays, {
      class_of: indices(["symbols"], "classes"), shares: floats(["symbols"], 0, 1), rates: floats(["cells"], 0, 1),
    }, { symbols: alphabet.length, classes });
    need(header.form === "automaton" || header.form === "filtered", "the form of its classes is unknown");
    const Inner = header.form === "filtered" ? Filtered : Automaton;
    this.inner = new Inner(below("inner.", arrays), new Alphabet([...Array(classes).keys()]));
    this.ngram = new Ngram(below("ngram.", arrays), alphabet);
    this.classOf = found.class_of;
    this.shares = found.shares;
    this.rates = found.rates;
    need(this.rates.length === (this.ngram.depth.reduce((a, b) => Math.max(a, b), 0) + 1) * N_SHARES, "its rates do not fit its contexts");
  }

  rate(context) {
    const share = Math.min(Math.floor(this.ngram.backoff[context] * N_SHARES), N_SHARES - 1);
    return this.rates[this.ngram.depth[context] * N_SHARES + share];
  }

  begin() {
    return { inner: this.inner.begin(), context: this.ngram.start };
  }

  next({ inner, context }) {
    const row = this.inner.next(inner), rate = this.rate(context), n = this.classOf.length;
    return this.ngram.distribution(context).map((value, k) => {
      const byClass = k < n ? row[this.classOf[k]] * this.shares[k] : row[row.length - 1];
      return (1 - rate) * byClass + rate * value;
    });
  }

  step({ inner, context }, outcome) {
    const rate = this.rate(context), isEnd = outcome === this.classOf.length;
    const byClass = isEnd ? this.inner.step(inner, this.inner.alphabet.length)
      : this.inner.step(inner, this.classOf[outcome]) * this.shares[outcome];
    return (1 - rate) * byClass + rate * this.ngram.probability(context, outcome);
  }

  after({ inner, context }, code) {
    return { inner: this.inner.after(inner, this.classOf[code]), context: this.ngram.follow(context, code) };
  }

  logProbability(codes) {
    return logOf(this, codes);
  }
}

function alphabetOf(header) {
  need(header.alphabet instanceof Alphabet, "its alphabet is missing");
  return header.alphabet;
}

/** What is asked of automata and n-grams. */
class SequenceModel {
  constructor(model) {
    this.model = model;
    this.alphabet = model.alphabet.symbols;
    this.outcomes = [...this.alphabet, END];
  }

  /** The probability of each of `outcomes` after each prefix, a row per prefix. */
  predictProbaNext(prefixes) {
    return stringsOf(prefixes).map((prefix) => {
      let state = this.model.begin();
      for (const code of this.model.alphabet.known(prefix)) state = this.model.after(state, code);
      return this.model.next(state);
    });
  }

  /** What comes after each prefix, most likely first; `END` is the end of the string. */
  predictNext(prefixes, top = Infinity) {
    return this.predictProbaNext(prefixes).map((row) => best(row).slice(0, top).map((place) => this.outcomes[place]));
  }

  /** The natural logarithm of the probability of each string. */
  scoreSamples(strings) {
    return stringsOf(strings).map((string) => this.model.logProbability(this.model.alphabet.known(string)));
  }
}

// ---------------------------------------------------------------- taggers.data.feature_templates, core.word_signatures

const MARKS = [[/\p{Lu}|\p{Lt}/u, "X"], [/\p{Ll}/u, "x"], [/\p{Lm}|\p{Lo}/u, "o"], [/\p{N}/u, "9"], [/\p{Mn}|\p{Mc}/u, ""]];

/** Classes of characters, runs written once. */
function wordShape(word) {
  let shape = "", last = "";
  for (const character of word) {
    const known = MARKS.find(([pattern]) => pattern.test(character)), mark = known ? known[1] : character;
    if (mark && mark !== last) shape += last = mark;
  }
  return shape;
}

/** The last characters of a word that is a list of them. */
const ending = (characters, length) => characters.slice(Math.max(characters.length - length, 0)).join("");

/** Names of what a symbol has: affixes of its word, shape, parts, what is observed. */
function wordFeatures(symbol) {
  const [word, ...observed] = symbol.split(SEPARATOR), lower = word.toLowerCase();
  const small = Array.from(lower), shape = Array.from(wordShape(word)), first = shape.slice(0, 2).join("");
  const length = Array.from(word).length;
  const names = [`shape=${shape.join("")}`, `first=${first}`, `small=${lower}`, `long=${Math.min(length, 8)}`];
  for (let k = 1; k <= Math.min(5, length); k++) {
    names.push(`-${ending(small, k)}`);
    if (k === 3) names.push(`${first}-${ending(small, k)}`);
  }
  for (let k = 1; k <= Math.min(4, length); k++) names.push(`${small.slice(0, k).join("")}-`);
  for (const mark of new Set(shape)) names.push(`has=${mark}`);
  if (lower.includes("-")) names.push(`after=${lower.slice(lower.lastIndexOf("-") + 1)}`);
  const beside = observed.join(SEPARATOR);
  if (beside) {
    names.push(`observed=${beside}`, `observed=${beside} ${lower}`, `observed=${beside} -${ending(small, 3)}`);
    observed.forEach((value, k) => names.push(`${k + 1}=${value}`));
  }
  return names;
}

/** Classes of words like this one, narrow ones first. */
function wordClasses(symbol) {
  const [word, ...rest] = symbol.split(SEPARATOR), observed = rest.join(SEPARATOR);
  const letter = word.match(/\p{L}/u), end = Array.from(word.toLowerCase());
  let shape = letter && /\p{Lu}|\p{Lt}/u.test(letter[0]) ? "U" : "";
  for (const [mark, pattern] of [["d", /\p{N}/u], ["l", /\p{Ll}/u], ["o", /\p{Lo}|\p{Lm}/u], ["-", /\p{Pd}/u]]) {
    if (pattern.test(word)) shape += mark;
  }
  if (!letter && !shape.includes("d")) shape = "p";
  const names = [3, 2, 1].map((k) => `${shape}:${ending(end, k)}`).concat(shape);
  return observed ? [...names.map((name) => `${observed} ${name}`), observed, ""] : [...names, ""];
}

/** What templates read: words, classes, guesses or an observed column (from "1"), at which places. */
function templatesOf(nObserved, hasRaw) {
  const word = (k) => ["word", k], kind = (k) => ["class", k], guess = (k) => ["guess", k];
  const found = [
    ...[0, -1, 1, -2, 2].map((k) => [word(k)]), [word(-1), word(0)], [word(0), word(1)],
    [kind(-1)], [kind(1)], [kind(-1), kind(0)], [kind(0), kind(1)],
    ...[-1, 1, 2, -2].map((k) => [guess(k)]),
    [guess(-1), guess(1)], [guess(1), guess(2)], [guess(-2), guess(-1)],
    [guess(-1), guess(0), guess(1)], [word(0), guess(1)], [word(0), guess(-1)],
  ];
  for (let number = 1; number <= nObserved; number++) {
    const seen = (k) => [String(number), k];
    found.push(
      ...[-2, -1, 0, 1, 2].map((k) => [seen(k)]), ...[-2, -1, 0, 1].map((k) => [seen(k), seen(k + 1)]),
      [seen(-1), seen(1)], ...[-2, -1, 0].map((k) => [seen(k), seen(k + 1), seen(k + 2)]),
      ...[-1, 0, 1].map((k) => [word(0), seen(k)]), [word(-1), seen(0)], [word(1), seen(0)],
      [word(0), seen(-1), seen(0)], [word(0), seen(0), seen(1)],
    );
  }
  const few = (k) => ["raw0", k], some = (k) => ["raw1", k];
  if (hasRaw) found.push([few(0)], [some(0)], [["raw2", 0]], [some(-1)], [some(1)], [few(-1), few(0)], [few(0), few(1)]);
  return found;
}

// ---------------------------------------------------------------- taggers.model.lexicon, taggers.model.lattice

const placesOf = (names) => new Map(names.map((name, place) => [name, place]));

function textsOf(header, name) {
  const found = header[name];
  need(Array.isArray(found) && found.every((text) => typeof text === "string"), `"${name}" must be a list of strings`);
  need(new Set(found).size === found.length, `"${name}" must be strings that differ`);
  return found;
}

/** Classes of words by raw text, of three sizes; `core.word_classes`. */
class RawClasses {
  constructor(arrays, header) {
    const words = textsOf(header, "words");
    const part = { types: ["I32"], shape: ["words", "sizes"], least: 0, most: (1 << 20) - 1 };
    const { numbers, sizes } = checked(arrays, { numbers: part }, { words: words.length, sizes: 3 });
    this.places = placesOf(words);
    this.numbers = numbers;
    this.sizes = [0, 0, 0];
    numbers.forEach((number, k) => { this.sizes[k % sizes.sizes] = Math.max(this.sizes[k % sizes.sizes], number + 1); });
  }

  code(symbol, k) {
    const place = this.places.get(symbol.split(SEPARATOR)[0].toLowerCase().replace(/\p{Nd}/gu, "0"));
    return place === undefined ? -1 : this.numbers[place * this.sizes.length + k];
  }
}

class Lexicon {
  constructor(arrays, header) {
    for (const name of ["tags", "words", "features", "classes"]) this[name] = textsOf(header, name);
    const { tags, words, classes } = this;
    const found = checked(arrays, {
      data: singles(["entries"], 0), indices: indices(["entries"], "tags"), indptr: rowStarts("words", "entries"),
      weights: singles(["features+1", "tags"]), guessed: singles(["words", "tags"], 0, 1 + 1e-6),
      class_of: indices(["words"], "classes"),
    }, { tags: tags.length, words: words.length, features: this.features.length, classes: classes.length });
    need(tags.length && words.length && classes.includes(""), "the lexicon lacks tags, words, or the class of all words");
    Object.assign(this, found, { nTags: tags.length, least: Number(header.least), shrinkage: Number(header.shrinkage) });
    need(this.shrinkage >= 0 && this.least >= 0, "the lexicon lacks numbers");
    this.wordCodes = placesOf(words);
    this.featureCodes = placesOf(this.features);
    this.classCodes = placesOf(classes);
    this.nObserved = words[0].split(SEPARATOR).length - 1;
    const columns = [...Array(this.nObserved + 1).keys()].map((k) => words.map((symbol) => symbol.split(SEPARATOR)[k]));
    this.parts = columns.map((column) => placesOf([...new Set(column)]));
    this.prior = new Float64Array(this.nTags);
    this.data.forEach((count, k) => { this.prior[this.indices[k]] += count; });
    this.total = sum(this.prior);
    this.prior = this.prior.map((count) => count / this.total);
    need(this.prior.every((share) => share > 0), "the counts of the lexicon lack a tag");
    this.raw = header.raw ? new RawClasses(below("raw.", arrays), header.raw) : null;
    this.sizes = {
      tags: this.nTags, words: words.length, word_tags: words.length * this.nTags, class_tags: classes.length * this.nTags,
    };
  }

  code(symbol) {
    return this.wordCodes.get(symbol) ?? -1;
  }

  classCode(symbol) {
    const code = this.code(symbol);
    if (code >= 0) return this.class_of[code];
    return this.classCodes.get(wordClasses(symbol).find((name) => this.classCodes.has(name)));
  }

  /** How often a known word was met. */
  count(code) {
    return sum(this.data.subarray(this.indptr[code], this.indptr[code + 1]));
  }

  guess(symbol) {
    const { nTags, weights } = this, code = this.code(symbol);
    if (code >= 0) return Float64Array.from(this.guessed.subarray(code * nTags, (code + 1) * nTags));
    const scores = Float64Array.from(weights.subarray(this.features.length * nTags));
    for (const name of wordFeatures(symbol)) {
      const row = this.featureCodes.get(name);
      if (row !== undefined) for (let t = 0; t < nTags; t++) scores[t] += weights[row * nTags + t];
    }
    const top = scores.reduce((a, b) => Math.max(a, b)), shares = scores.map((score) => Math.exp(score - top)), total = sum(shares);
    return shares.map((share) => share / total);
  }

  /** p(t | x). */
  distribution(symbol) {
    const code = this.code(symbol), chances = this.guess(symbol).map((share) => share * this.shrinkage);
    const total = code < 0 ? 0 : this.count(code);
    for (let k = this.indptr[code]; k < this.indptr[code + 1]; k++) chances[this.indices[k]] += this.data[k];
    return chances.map((chance) => chance / (total + this.shrinkage));
  }

  /** The candidates of every word of a corpus. */
  lattice(sentences, least = this.least) {
    const starts = [0], tags = [], chances = [];
    for (const symbol of sentences.types) {
      const row = this.distribution(symbol);
      const top = row.indexOf(row.reduce((a, b) => Math.max(a, b)));
      row.forEach((chance, tag) => {
        if (chance >= least || tag === top) {
          tags.push(tag);
          chances.push(chance);
        }
      });
      starts.push(tags.length);
    }
    return new Lattice(sentences.offsets, sentences.typeCodes, starts, tags, chances);
  }
}

/** Sentences as codes of types of symbols, and the features that users give. */
class Sentences {
  constructor(given, nObserved) {
    const places = new Map();
    this.offsets = [0];
    this.typeCodes = [];
    this.types = [];
    this.own = [];
    for (const sentence of stringsOf(given)) {
      if (typeof sentence === "string") throw new TypeError("a sentence is a list of words, not one string");
      for (const token of sentence) {
        const isOwn = token !== null && typeof token === "object" && !Array.isArray(token);
        const cells = [].concat(isOwn ? token.word : token), symbol = cells.join(SEPARATOR);
        if (cells.length !== nObserved + 1 || cells.some((cell) => typeof cell !== "string")) {
          throw new TypeError(`the tagger reads words with ${nObserved} observed columns; found ${JSON.stringify(token)}`);
        }
        if (!places.has(symbol)) {
          places.set(symbol, this.types.length);
          this.types.push(symbol);
        }
        this.typeCodes.push(places.get(symbol));
        this.own.push(isOwn ? ownNames(token) : null);
      }
      this.offsets.push(this.typeCodes.length);
    }
  }

  get length() {
    return this.offsets.length - 1;
  }
}

/** The features of a token: `key=value` of text, the key of what is true, all of a list. */
function ownNames(token) {
  return Object.entries(token).filter(([key]) => key !== "word").flatMap(([key, value]) => {
    if (typeof value === "string") return [`own:${key}=${value}`];
    if (Array.isArray(value)) return value.map((name) => `own:${key}=${name}`);
    return value ? [`own:${key}`] : [];
  });
}

/** Candidates of type x are `starts[x] .. starts[x + 1]` of `tags`; tables over tokens and pairs are flat. */
class Lattice {
  constructor(offsets, types, starts, tags, chances) {
    Object.assign(this, { offsets, types, starts, tags, chances, nSentences: offsets.length - 1 });
    this.counts = types.map((x) => starts[x + 1] - starts[x]);
    this.isFirst = types.map(() => false);
    for (let s = 0; s < this.nSentences; s++) if (offsets[s] < offsets[s + 1]) this.isFirst[offsets[s]] = true;
    this.tokenStarts = [0];
    this.blockStarts = [0];
    this.candidateOf = [];
    this.counts.forEach((count, i) => {
      this.tokenStarts.push(this.tokenStarts[i] + count);
      this.blockStarts.push(this.blockStarts[i] + (this.isFirst[i] ? 0 : this.counts[i - 1] * count));
      for (let k = 0; k < count; k++) this.candidateOf.push(starts[types[i]] + k);
    });
  }

  /** Of each type the candidate of largest chance. */
  likeliest(x) {
    let top = this.starts[x];
    for (let c = top; c < this.starts[x + 1]; c++) if (this.chances[c] > this.chances[top]) top = c;
    return this.tags[top];
  }

  empty() {
    const n = this.types.length;
    return { lattice: this, unigrams: new Float64Array(this.tokenStarts[n]), bigrams: new Float64Array(this.blockStarts[n]) };
  }

  each(task) {
    for (let s = 0; s < this.nSentences; s++) if (this.offsets[s] < this.offsets[s + 1]) task(this.offsets[s], this.offsets[s + 1], s);
  }

  /** Marginals of the chain whose log-weights are `firsts` at candidates and `arrows` between them. */
  chain(firsts, arrows) {
    const found = this.empty();
    this.each((first, last) => chainMarginals(this, first, last, firsts, arrows, found));
    return found;
  }
}

function normalize(values) {
  const total = sum(values);
  for (let k = 0; k < values.length; k++) values[k] /= total;
}

const peakOf = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);

function chainMarginals({ tokenStarts, blockStarts }, first, last, firsts, arrows, { unigrams, bigrams }) {
  const at = (i) => [tokenStarts[i], tokenStarts[i + 1]];
  for (let i = first; i < last; i++) {
    const [u, v] = at(i), here = unigrams.subarray(u, v), peak = peakOf(firsts.subarray(u, v));
    if (i === first) {
      for (let b = 0; b < v - u; b++) here[b] = Math.exp(firsts[u + b] - peak);
    } else {
      const t = tokenStarts[i - 1], k = blockStarts[i], top = peakOf(arrows.subarray(k, blockStarts[i + 1]));
      for (let a = 0; a < u - t; a++) for (let b = 0; b < v - u; b++) {
        const pair = k + a * (v - u) + b;
        bigrams[pair] = Math.exp(arrows[pair] - top + firsts[u + b] - peak);
        here[b] += unigrams[t + a] * bigrams[pair];
      }
    }
    normalize(here);
  }
  let beta = new Float64Array(tokenStarts[last] - tokenStarts[last - 1]).fill(1);
  for (let i = last - 1; i > first; i--) {
    const [u, v] = at(i), t = tokenStarts[i - 1], pairs = bigrams.subarray(blockStarts[i], blockStarts[i + 1]);
    const earlier = new Float64Array(u - t);
    for (let k = 0; k < pairs.length; k++) {
      const a = Math.floor(k / (v - u)), value = pairs[k] * beta[k % (v - u)];
      earlier[a] += value;
      pairs[k] = unigrams[t + a] * value;
    }
    normalize(pairs);
    unigrams.fill(0, u, v);
    for (let k = 0; k < pairs.length; k++) unigrams[u + (k % (v - u))] += pairs[k];
    if (i === first + 1) {
      unigrams.fill(0, t, u);
      for (let k = 0; k < pairs.length; k++) unigrams[t + Math.floor(k / (v - u))] += pairs[k];
    }
    const top = peakOf(earlier);
    beta = earlier.map((value) => value / top);
  }
}

// ---------------------------------------------------------------- taggers.model.refined

class RefinedTags {
  constructor(arrays, header, lexicon) {
    const found = checked(arrays, {
      initial: floats(["states"], 0), transitions: singles(["states", "states"], 0), final: floats(["states"], 0),
      states: rowStarts("tags", "states"),
      word_keys: rising("word_keys", "word_tags"), word_ratios: singles(["word_keys", "word_width"], 0),
      class_keys: rising("class_keys", "class_tags"), class_ratios: singles(["class_keys", "class_width"], 0),
    }, lexicon.sizes);
    Object.assign(this, found, { n: found.sizes.states, least: Number(header.least ?? 1e-4) });
    this.width = 0;
    for (let t = 0; t < lexicon.nTags; t++) {
      const width = this.states[t + 1] - this.states[t];
      need(width > 0, "each tag of a refined tagger must have a state");
      this.width = Math.max(this.width, width);
    }
    for (const kind of ["word", "class"]) {
      need(!this[`${kind}_keys`].length || found.sizes[`${kind}_width`] === this.width, "the ratios of a tagger do not fit its states");
    }
  }

  /** p(t | x) / p(t) r(x, z) of every candidate of every type. */
  emissions(lexicon, types, lattice) {
    const rows = [];
    types.forEach((symbol, x) => {
      const word = lexicon.code(symbol), kind = lexicon.classCode(symbol);
      for (let c = lattice.starts[x]; c < lattice.starts[x + 1]; c++) {
        const tag = lattice.tags[c], ratio = lattice.chances[c] / lexicon.prior[tag];
        let at = word < 0 ? -1 : find(this.word_keys, word * lexicon.nTags + tag), ratios = this.word_ratios;
        if (at < 0) [at, ratios] = [find(this.class_keys, kind * lexicon.nTags + tag), this.class_ratios];
        const row = new Float64Array(this.width).fill(1);
        if (at >= 0) row.set(ratios.subarray(at * this.width, (at + 1) * this.width));
        rows.push(row.map((value) => value * ratio));
      }
    });
    return rows;
  }

  marginals(lexicon, sentences, lattice) {
    return this.within(lattice, this.emissions(lexicon, sentences.types, lattice), lattice.tags.map((_, c) => c));
  }

  /** The states of the candidates of a type in a row: of each the state, the candidate, and its emission. */
  statesOf(lattice, x, emissions, rows) {
    const low = lattice.starts[x], high = lattice.starts[x + 1];
    let size = 0;
    for (let c = low; c < high; c++) size += this.states[lattice.tags[c] + 1] - this.states[lattice.tags[c]];
    const z = new Int32Array(size), candidate = new Int32Array(size), emitted = new Float64Array(size);
    for (let c = low, k = 0; c < high; c++) {
      const first = this.states[lattice.tags[c]], end = this.states[lattice.tags[c] + 1], row = emissions[rows[c]];
      for (let state = first; state < end; state++, k++) {
        z[k] = state;
        candidate[k] = c - low;
        emitted[k] = row[state - first];
      }
    }
    return { z, candidate, emitted, size };
  }

  /** Marginals on a lattice whose candidate c has the emissions `rows[c]`. */
  within(lattice, emissions, rows) {
    const found = lattice.empty();
    lattice.each((first, last) => {
      const alphas = [], here = [];
      for (let i = first; i < last; i++) {
        here.push(this.statesOf(lattice, lattice.types[i], emissions, rows));
        const alpha = i === first ? Float64Array.from(here[0].z, (z) => this.initial[z]) : this.forward(alphas.at(-1), here.at(-2), here.at(-1));
        alphas.push(met(alpha, here.at(-1).emitted));
      }
      let beta = Float64Array.from(here.at(-1).z, (z) => this.final[z]);
      for (let i = last - 1; i >= first; i--) {
        const k = i - first, { candidate, size } = here[k];
        shared(found.unigrams.subarray(lattice.tokenStarts[i], lattice.tokenStarts[i + 1]), (mu) => {
          for (let m = 0; m < size; m++) mu[candidate[m]] += alphas[k][m] * beta[m];
        });
        if (k > 0) beta = this.back(lattice, i, alphas[k - 1], alphas[k], here[k - 1], here[k], beta, found.bigrams);
      }
    });
    return found;
  }

  forward(before, earlier, here) {
    const { n, transitions, least } = this, alpha = new Float64Array(here.size);
    for (let k = 0; k < earlier.size; k++) {
      const weight = before[k], row = earlier.z[k] * n;
      if (weight > least) for (let m = 0; m < here.size; m++) alpha[m] += weight * transitions[row + here.z[m]];
    }
    return alpha;
  }

  /** The backward vector of the token before, and the marginals of pairs. */
  back(lattice, i, before, alpha, earlier, here, after, bigrams) {
    const { n, transitions, least } = this, width = lattice.counts[i], beta = new Float64Array(earlier.size);
    shared(bigrams.subarray(lattice.blockStarts[i], lattice.blockStarts[i + 1]), (pairs) => {
      for (let k = 0; k < earlier.size; k++) {
        const row = earlier.z[k] * n, begin = earlier.candidate[k] * width;
        for (let m = 0; m < here.size; m++) {
          if (alpha[m] <= least) continue;
          const value = after[m] * here.emitted[m] * transitions[row + here.z[m]];
          beta[k] += value;
          pairs[begin + here.candidate[m]] += before[k] * value;
        }
      }
    });
    const top = peakOf(beta);
    return top > 0 ? beta.map((value) => value / top) : beta.fill(1);
  }
}

/** alpha o e, to sum to one; the emissions alone where nothing leads to them. */
function met(alpha, emitted) {
  let found = alpha.map((value, k) => value * emitted[k]);
  if (!(sum(found) > 0)) found = emitted.map((value) => value + 1e-300);
  normalize(found);
  return found;
}

/** What a task adds to numbers, divided by its sum. */
function shared(values, task) {
  task(values);
  const total = Math.max(sum(values), 1e-300);
  for (let k = 0; k < values.length; k++) values[k] /= total;
}

// ---------------------------------------------------------------- taggers.model.feature_chain

class ChainTags {
  constructor(arrays, header, lexicon) {
    this.names = textsOf(header, "names");
    const found = checked(arrays, {
      weights: singles(["features", "tags"]), looks: indices(["looks"], "names"), look_starts: rowStarts("words", "looks"),
      arrows: floats(["edges", "edges"]), classes: rising("classes", "word_tags"),
      left: floats(["bistrings", "rank"]), right: floats(["bistrings", "rank"]),
      keys: { types: ["I64"], shape: ["keys"], least: 0, most: Number.MAX_SAFE_INTEGER },
      key_counts: indices(["templates"], "keys+1", 0, "I64"),
    }, { ...lexicon.sizes, names: this.names.length, edges: lexicon.nTags + 1 });
    Object.assign(this, found);
    this.ends = [0];
    for (const count of this.key_counts) this.ends.push(this.ends.at(-1) + count);
    this.templates = templatesOf(lexicon.nObserved, lexicon.raw !== null);
    const { sizes } = found;
    need(this.ends.at(-1) === sizes.keys && sizes.templates === this.templates.length, "its features do not fit its templates");
    need(risesWithin(this.keys, this.ends), "the features of each template must be sorted");
    need(sizes.features === sizes.keys + this.names.length, "the weights of a tagger do not fit its features");
    need(sizes.bistrings === sizes.tags + sizes.classes, "the Hankel block of a tagger does not fit its classes");
    this.nameCodes = placesOf(this.names);
    this.hasOwn = this.names.some((name) => name.startsWith("own:"));
  }

  /** Features of the looks of a type, numbered behind those of templates. */
  looksOf(lexicon, symbol) {
    const code = lexicon.code(symbol);
    const places = code >= 0 ? Array.from(this.looks.subarray(this.look_starts[code], this.look_starts[code + 1]))
      : wordFeatures(symbol).map((name) => this.nameCodes.get(name)).filter((place) => place !== undefined);
    return places.map((place) => place + this.keys.length);
  }

  marginals(lexicon, sentences, lattice) {
    if (this.hasOwn && sentences.own.includes(null)) {
      throw new TypeError("the tagger was learned with own features of tokens; give these with the words");
    }
    const { types, offsets, typeCodes } = sentences, views = viewsOf(lexicon, types, lattice);
    const looks = types.map((symbol) => this.looksOf(lexicon, symbol));
    const classes = pairClasses(this.classes, lexicon, types, lattice);
    const firsts = new Float64Array(lattice.candidateOf.length), arrows = new Float64Array(lattice.blockStarts.at(-1));
    lattice.each((first, last) => {
      for (let i = first; i < last; i++) {
        const read = ([name, place]) => {
          const inside = i + place >= first && i + place < last;
          return inside ? views[name].codes[typeCodes[i + place]] + 2 : 0;
        };
        const codes = [...this.codesOf(read, views), ...looks[typeCodes[i]], ...this.ownCodes(sentences.own[i])];
        this.scoreToken(lattice, i, [i === first, i === last - 1], codes, firsts);
        if (i > first) this.scorePairs(lattice, i, classes, arrows);
      }
    });
    return lattice.chain(firsts, arrows);
  }

  /** The features of a token by templates. */
  codesOf(read, views) {
    const found = [];
    this.templates.forEach((template, k) => {
      const number = template.reduce((value, part) => value * (views[part[0]].size + 3) + read(part), 0);
      const at = find(this.keys, number, this.ends[k], this.ends[k + 1]);
      if (at >= 0) found.push(at);
    });
    return found;
  }

  ownCodes(names) {
    const places = (names || []).map((name) => this.nameCodes.get(name)).filter((place) => place !== undefined);
    return places.map((place) => place + this.keys.length);
  }

  scoreToken(lattice, i, [isFirst, isLast], codes, firsts) {
    const edge = this.sizes.tags, n = edge, width = edge + 1, begin = lattice.tokenStarts[i];
    for (let k = begin; k < lattice.tokenStarts[i + 1]; k++) {
      const tag = lattice.tags[lattice.candidateOf[k]];
      firsts[k] = (isFirst ? this.arrows[edge * width + tag] : 0) + (isLast ? this.arrows[tag * width + edge] : 0);
      for (const code of codes) firsts[k] += this.weights[code * n + tag];
    }
  }

  scorePairs(lattice, i, classes, arrows) {
    const { rank } = this.sizes, width = this.sizes.tags + 1;
    let at = lattice.blockStarts[i];
    for (let a = lattice.tokenStarts[i - 1]; a < lattice.tokenStarts[i]; a++) {
      for (let b = lattice.tokenStarts[i]; b < lattice.tokenStarts[i + 1]; b++) {
        const before = lattice.candidateOf[a], here = lattice.candidateOf[b];
        let value = this.arrows[lattice.tags[before] * width + lattice.tags[here]];
        for (let k = 0; k < rank; k++) value += this.left[classes[before] * rank + k] * this.right[classes[here] * rank + k];
        arrows[at++] = value;
      }
    }
  }
}

/** What templates read of each type, -1 where it is unknown, and how many codes there are. */
function viewsOf(lexicon, types, lattice) {
  const cells = types.map((symbol) => symbol.split(SEPARATOR)), views = {
    class: { codes: types.map((symbol) => lexicon.classCode(symbol)), size: lexicon.classes.length },
    guess: { codes: types.map((_, x) => lattice.likeliest(x)), size: lexicon.nTags },
  };
  lexicon.parts.forEach((places, k) => {
    views[k ? String(k) : "word"] = { codes: cells.map((row) => places.get(row[k]) ?? -1), size: places.size };
  });
  (lexicon.raw?.sizes ?? []).forEach((size, k) => {
    views[`raw${k}`] = { codes: types.map((symbol) => lexicon.raw.code(symbol, k)), size };
  });
  return views;
}

/** Of every candidate its tag, or n_tags + the place of (word, tag) among sorted pairs. */
function pairClasses(pairs, lexicon, types, lattice) {
  const found = [];
  types.forEach((symbol, x) => {
    const word = lexicon.code(symbol);
    for (let c = lattice.starts[x]; c < lattice.starts[x + 1]; c++) {
      const at = word < 0 ? -1 : find(pairs, word * lexicon.nTags + lattice.tags[c]);
      found.push(at < 0 ? lattice.tags[c] : lexicon.nTags + at);
    }
  });
  return found;
}

// ---------------------------------------------------------------- taggers.model.weighted_tagger

const LEAST_SHARE = 1e-9;

class OperatorTags {
  constructor(arrays, header, lexicon) {
    const found = checked(arrays, {
      initial: floats(["states"]), operators: floats(["operators", "states", "states"]), final: floats(["states"]),
      pairs: rising("pairs", "word_tags"), shares: floats(["tags"], 0),
    }, lexicon.sizes);
    const { sizes } = found;
    need(sizes.operators === sizes.tags + sizes.pairs, "the operators of a tagger do not fit its tags and pairs");
    Object.assign(this, found, { n: sizes.states });
  }

  marginals(lexicon, sentences, lattice) {
    const which = pairClasses(this.pairs, lexicon, sentences.types, lattice), weights = [];
    sentences.types.forEach((symbol, x) => {
      const code = lexicon.code(symbol), mass = (code < 0 ? 1 : lexicon.count(code)) / lexicon.total;
      for (let c = lattice.starts[x]; c < lattice.starts[x + 1]; c++) {
        const tag = lattice.tags[c];
        weights.push(which[c] < lexicon.nTags ? (lattice.chances[c] / lexicon.prior[tag] / this.shares[tag]) * mass : 1);
      }
    });
    const found = lattice.empty();
    lattice.each((first, last) => this.sentence(lattice, first, last, which, weights, found));
    return found;
  }

  /** A_u b, the operator of a candidate times a column. */
  times(operator, column) {
    return Float64Array.from({ length: this.n }, (_, i) => dot(column, this.operators, (operator * this.n + i) * this.n));
  }

  sentence(lattice, first, last, which, weights, { unigrams, bigrams }) {
    const alphas = [this.initial], { n } = this;
    const candidates = (i) => lattice.candidateOf.slice(lattice.tokenStarts[i], lattice.tokenStarts[i + 1]);
    for (let i = first; i < last; i++) {
      const row = new Float64Array(n);
      for (const c of candidates(i)) moved(alphas.at(-1), this.operators, which[c] * n * n).forEach((value, j) => { row[j] += weights[c] * value; });
      const scale = largestSize(row) || 1;
      alphas.push(row.map((value) => value / scale));
    }
    const isBad = !(dot(alphas.at(-1), this.final) > 0);
    let beta = this.final, later = [];
    for (let i = last - 1; i >= first; i--) {
      const before = alphas[i - first], here = candidates(i), begin = lattice.tokenStarts[i];
      const rights = here.map((c) => this.times(which[c], beta).map((value) => value * weights[c]));
      const raw = rights.map((right) => dot(before, right));
      clip(unigrams.subarray(begin, begin + here.length), raw, isBad ? here.map((c) => lattice.chances[c]) : null);
      if (i + 1 < last) {
        const lefts = here.map((c) => moved(before, this.operators, which[c] * n * n).map((value) => value * weights[c]));
        const pairs = lefts.flatMap((left) => later.map((right) => dot(left, right)));
        clip(bigrams.subarray(lattice.blockStarts[i + 1], lattice.blockStarts[i + 2]), pairs, isBad ? pairs.map(() => 1) : null);
      }
      const sums = new Float64Array(n);
      for (const right of rights) right.forEach((value, j) => { sums[j] += value; });
      const divisor = largestSize(sums) || 1;
      beta = sums.map((value) => value / divisor);
      later = rights.map((right) => right.map((value) => value / divisor));
    }
  }
}

/** Shares of raw numbers, negative ones to almost nothing; others in their stead where these are of no use. */
function clip(into, raw, instead) {
  const mass = sum(raw) || 1, positive = raw.map((value) => Math.max(value / mass, LEAST_SHARE)), total = sum(positive);
  into.set(instead || positive.map((value) => value / total));
}

// ---------------------------------------------------------------- taggers.model.max_margin

const HANKEL_LEAST = 3e-3, FREQUENT = 5, EDGES = 2, N_BISTRINGS = 10;

class HankelTags {
  constructor(arrays, header, lexicon) {
    const keys = (name) => ({ types: ["I64"], shape: [name], least: 0, most: Number.MAX_SAFE_INTEGER });
    const found = checked(arrays, {
      left: floats(["prefixes", "rank"]), right: floats(["suffixes", "rank"]),
      prefix_keys: keys("prefixes"), prefix_counts: indices(["kinds"], "prefixes+1", 0, "I64"),
      suffix_keys: keys("suffixes"), suffix_counts: indices(["kinds"], "suffixes+1", 0, "I64"),
    });
    need(found.sizes.kinds === N_BISTRINGS, `a Hankel block has bistrings of ${N_BISTRINGS} kinds`);
    this.rank = found.sizes.rank;
    this.sides = ["prefix", "suffix"].map((side) => {
      const ends = [0];
      for (const count of found[`${side}_counts`]) ends.push(ends.at(-1) + count);
      const known = found[`${side}_keys`];
      need(ends.at(-1) === known.length && risesWithin(known, ends), `the bistrings of each kind of ${side} must be sorted`);
      return { keys: known, ends, rows: side === "prefix" ? found.left : found.right };
    });
  }

  /** Types with the candidates that the block looks at: the edge is the last one. */
  seen(lexicon, sentences) {
    const plain = lexicon.lattice(sentences, HANKEL_LEAST), edge = lexicon.words.length + lexicon.classes.length;
    const types = sentences.types.map((symbol, x) => {
      const code = lexicon.code(symbol), kind = lexicon.classCode(symbol);
      const isOwn = code >= 0 && lexicon.count(code) >= FREQUENT;
      const low = plain.starts[x], high = plain.starts[x + 1];
      return { word: isOwn ? code : lexicon.words.length + kind, kind, tags: plain.tags.slice(low, high), chances: plain.chances.slice(low, high) };
    });
    return { plain, types, edge: { word: edge, kind: edge, tags: [lexicon.nTags], chances: [1] }, both: lexicon.nTags + 1, size: edge + 1 };
  }

  /** The vector of a pair of neighbours and their tags, as a prefix (side 0) or as a suffix (side 1). */
  vector(side, seen, [x, a], [y, b]) {
    const { both, size } = seen, [near, tag, far, tag2] = side === 0 ? [y, b, x, a] : [x, a, y, b];
    const tags = tag2 * both + tag;
    const numbers = [
      0, tag, tags, near.word * both + tag, near.word * both ** 2 + tags, far.word * both ** 2 + tags,
      (far.word * size + near.word) * both + tag,
      near.kind * both + tag, far.kind * both ** 2 + tags, (far.kind * size + near.kind) * both + tag,
    ];
    const { keys, ends, rows } = this.sides[side], found = new Float64Array(this.rank);
    numbers.forEach((number, k) => {
      const at = find(keys, number, ends[k], ends[k + 1]);
      if (at >= 0) for (let j = 0; j < this.rank; j++) found[j] += rows[at * this.rank + j];
    });
    return found;
  }

  /** One padded sentence: candidates, log-chances, and u . v + chance of each gap before token k, from the third. */
  padded(seen, codes) {
    const edges = Array(EDGES).fill(seen.edge), tokens = [...edges, ...codes.map((x) => seen.types[x]), ...edges];
    const nodes = tokens.map(({ chances }) => chances.map((chance) => Math.log(Math.max(chance, 1e-9))));
    const sizes = tokens.map(({ tags }) => tags.length);
    const pairs = (side, k) => tokens[k - 1].tags.flatMap((a) => tokens[k].tags.map((b) => this.vector(side, seen, [tokens[k - 1], a], [tokens[k], b])));
    const gap = (k) => {
      const us = pairs(0, k - 1), vs = pairs(1, k + 1), size = sizes[k + 1];
      return us.flatMap((u) => vs.map((v, q) => dot(u, v) + nodes[k + 1][q % size]));
    };
    return { n: tokens.length, nodes, sizes, gap };
  }

  /** Candidates of the best tagging of one sentence. */
  bestOf(sentence) {
    const { n, nodes, sizes, gap } = sentence, backs = [];
    let worth = nodes[2].slice();
    for (let k = 2; k < n - 1; k++) {
      const values = gap(k), [w, x, y, z] = [sizes[k - 2], sizes[k - 1], sizes[k], sizes[k + 1]];
      const next = Array(x * y * z).fill(-Infinity), back = Array(x * y * z).fill(0);
      for (let p = 0; p < w * x; p++) for (let q = 0; q < y * z; q++) {
        const value = worth[p * y + Math.floor(q / z)] + values[p * y * z + q], state = (p % x) * y * z + q;
        if (value > next[state]) [next[state], back[state]] = [value, Math.floor(p / x)];
      }
      worth = next;
      backs[k] = back;
    }
    const chosen = Array(n).fill(0);
    let state = worth.indexOf(peakOf(worth));
    for (let k = n - 2; k > 1; k--) {
      const b = Math.floor(state / (sizes[k + 1] * sizes[k])), c = Math.floor(state / sizes[k + 1]) % sizes[k];
      [chosen[k + 1], chosen[k], chosen[k - 1]] = [state % sizes[k + 1], c, b];
      state = (backs[k][state] * sizes[k - 1] + b) * sizes[k] + c;
    }
    return chosen.slice(EDGES, n - EDGES);
  }

  best(lexicon, sentences) {
    const seen = this.seen(lexicon, sentences), tags = [];
    seen.plain.each((first, last) => {
      const codes = sentences.typeCodes.slice(first, last), chosen = this.bestOf(this.padded(seen, codes));
      chosen.forEach((place, k) => tags.push(seen.types[codes[k]].tags[place]));
    });
    return tags;
  }

  marginals(lexicon, sentences) {
    const seen = this.seen(lexicon, sentences), found = seen.plain.empty();
    seen.plain.each((first, last) => {
      const { n, nodes, sizes, gap } = this.padded(seen, sentences.typeCodes.slice(first, last));
      const forward = [null, scaled(nodes[2].slice())], behind = [], gaps = [];
      for (let k = 2; k < n - 1; k++) {
        gaps[k] = gap(k);
        forward[k] = scaled(summed(forward[k - 1], gaps[k], sizes, k, false));
      }
      behind[n - 2] = forward[n - 2].map(() => 1);
      for (let k = n - 3; k > 0; k--) behind[k] = scaled(summed(behind[k + 1], gaps[k + 1], sizes, k + 1, true));
      for (let k = EDGES; k < n - EDGES; k++) {
        const i = first + k - EDGES, m = sizes[k + 1], y = sizes[k], shares = forward[k].map((value, e) => value * behind[k][e]);
        normalize(shares);
        shares.forEach((share, e) => {
          found.unigrams[seen.plain.tokenStarts[i] + (Math.floor(e / m) % y)] += share;
          if (i > first) found.bigrams[seen.plain.blockStarts[i] + Math.floor(e / m)] += share;
        });
      }
    });
    return found;
  }
}

/** Logarithms of sums over states of three tags, one token on or back. */
function summed(from, gap, sizes, k, isBack) {
  const [w, x, y, z] = [sizes[k - 2], sizes[k - 1], sizes[k], sizes[k + 1]], top = peakOf(gap);
  const found = Array(isBack ? w * x * y : x * y * z).fill(0);
  for (let p = 0; p < w * x; p++) for (let q = 0; q < y * z; q++) {
    const early = p * y + Math.floor(q / z), late = (p % x) * y * z + q, value = Math.exp(gap[p * y * z + q] - top);
    if (isBack) found[early] += from[late] * value;
    else found[late] += from[early] * value;
  }
  return found.map((value) => Math.log(Math.max(value, 1e-300)) + top);
}

/** Logarithms to shares of one. */
function scaled(logs) {
  const top = peakOf(logs), shares = logs.map((log) => Math.exp(log - top));
  normalize(shares);
  return shares;
}

// ---------------------------------------------------------------- taggers.model.tagger

const TAG_KINDS = {
  __proto__: null, refined: RefinedTags, chain: ChainTags, "max-margin": ChainTags, "hankel-margin": HankelTags, operators: OperatorTags,
};
const SENTENCES_AT_ONCE = 4096, FLOOR = 1e-12;

class Tagger {
  constructor(arrays, header) {
    need(isTable(header.lexicon) && Array.isArray(header.members) && Array.isArray(header.weights), "it has no members");
    need(["marginals", "viterbi"].includes(header.decoding), "its decoding is unknown");
    this.lexicon = new Lexicon(below("lexicon.", arrays), header.lexicon);
    this.classes = this.lexicon.tags;
    this.weights = header.weights;
    need(this.weights.length === header.members.length && this.weights.every(Number.isFinite), "members and weights do not fit each other");
    this.members = header.members.map((member, k) => {
      need(isTable(member) && TAG_KINDS[member.kind], "a member of the tagger is of an unknown kind");
      return new TAG_KINDS[member.kind](below(`${k}.`, arrays), member, this.lexicon);
    });
    this.decoding = header.decoding;
    this.least = Number(header.least ?? 1e-2);
  }

  marginals(sentences) {
    const { members, weights, lexicon } = this, lattice = lexicon.lattice(sentences), own = [];
    const guide = this.least ? members.findIndex((member) => member instanceof ChainTags) : -1;
    const isGuided = (member) => guide >= 0 && member instanceof RefinedTags;
    members.forEach((member, k) => { if (!isGuided(member)) own[k] = member.marginals(lexicon, sentences, lattice); });
    if (members.some(isGuided)) {
      const guided = guidedBy(own[guide], this.least ** (1 / Math.max(weights[guide], 1e-3)));
      members.forEach((member, k) => {
        if (isGuided(member)) own[k] = guided(member, member.emissions(lexicon, sentences.types, lattice));
      });
    }
    return weights.length === 1 && weights[0] === 1 ? own[0] : product(own, weights);
  }

  /** One tag per word of each sentence. */
  predict(given) {
    const all = stringsOf(given), found = [];
    for (let low = 0; low < all.length; low += SENTENCES_AT_ONCE) {
      const sentences = new Sentences(all.slice(low, low + SENTENCES_AT_ONCE), this.lexicon.nObserved);
      const tags = this.decoded(sentences).map((tag) => this.classes[tag]);
      for (let s = 0; s < sentences.length; s++) found.push(tags.slice(sentences.offsets[s], sentences.offsets[s + 1]));
    }
    return found;
  }

  decoded(sentences) {
    const [only] = this.members;
    if (this.members.length === 1 && only instanceof HankelTags && this.decoding === "viterbi") return only.best(this.lexicon, sentences);
    const found = this.marginals(sentences);
    return this.decoding === "marginals" ? byMarginals(found) : bySequence(found);
  }

  /** One table per sentence, a row of `classes` per word. */
  predictProba(given) {
    const sentences = new Sentences(given, this.lexicon.nObserved), { lattice, unigrams } = this.marginals(sentences);
    const rows = sentences.typeCodes.map((_, i) => {
      const row = new Float64Array(this.classes.length);
      for (let k = lattice.tokenStarts[i]; k < lattice.tokenStarts[i + 1]; k++) row[lattice.tags[lattice.candidateOf[k]]] = unigrams[k];
      return row;
    });
    return Array.from({ length: sentences.length }, (_, s) => rows.slice(sentences.offsets[s], sentences.offsets[s + 1]));
  }
}

/** Refined marginals on the candidates to which a guide gives some mass; the others keep the guide's. */
function guidedBy(guide, least) {
  const { lattice } = guide, widest = Math.max(1, ...new Set(lattice.counts)), bar = Math.min(least, 1 / widest);
  const isKept = Array.from(guide.unigrams, (value) => value >= bar), starts = [0], rows = [];
  lattice.types.forEach((_, i) => {
    for (let k = lattice.tokenStarts[i]; k < lattice.tokenStarts[i + 1]; k++) if (isKept[k]) rows.push(lattice.candidateOf[k]);
    starts.push(rows.length);
  });
  const narrow = new Lattice(
    lattice.offsets, lattice.types.map((_, i) => i), starts, rows.map((row) => lattice.tags[row]), rows.map((row) => lattice.chances[row]),
  );
  return (member, emissions) => {
    const found = member.within(narrow, emissions, rows), unigrams = guide.unigrams.slice(), bigrams = guide.bigrams.slice();
    let at = 0, pair = 0;
    isKept.forEach((kept, k) => { if (kept) unigrams[k] = found.unigrams[at++]; });
    lattice.types.forEach((_, i) => {
      const width = lattice.counts[i];
      for (let k = lattice.blockStarts[i]; k < lattice.blockStarts[i + 1]; k++) {
        const inner = k - lattice.blockStarts[i], a = lattice.tokenStarts[i - 1] + Math.floor(inner / width);
        if (isKept[a] && isKept[lattice.tokenStarts[i] + (inner % width)]) bigrams[k] = found.bigrams[pair++];
      }
    });
    return { lattice, unigrams, bigrams };
  };
}

/** The marginals of the weighted product of the chains that the members' marginals imply. */
function product(members, weights) {
  const { lattice } = members[0], firsts = new Float64Array(members[0].unigrams.length), arrows = new Float64Array(members[0].bigrams.length);
  members.forEach(({ unigrams, bigrams }, number) => lattice.types.forEach((_, i) => {
    const weight = weights[number], width = lattice.counts[i];
    if (lattice.isFirst[i]) {
      for (let k = lattice.tokenStarts[i]; k < lattice.tokenStarts[i + 1]; k++) firsts[k] += weight * Math.log(Math.max(unigrams[k], FLOOR));
    }
    for (let k = lattice.blockStarts[i]; k < lattice.blockStarts[i + 1]; k += width) {
      const row = bigrams.slice(k, k + width).map((value) => Math.max(value, FLOOR)), total = sum(row);
      row.forEach((value, b) => { arrows[k + b] += weight * Math.log(value / total); });
    }
  }));
  return lattice.chain(firsts, arrows);
}

/** The tag of largest marginal at every word. */
function byMarginals({ lattice, unigrams }) {
  return lattice.types.map((_, i) => {
    const row = unigrams.subarray(lattice.tokenStarts[i], lattice.tokenStarts[i + 1]);
    return lattice.tags[lattice.candidateOf[lattice.tokenStarts[i] + row.indexOf(peakOf(row))]];
  });
}

/** The sequence of largest sum of pair marginals; of a word alone its own marginals count. */
function bySequence({ lattice, unigrams, bigrams }) {
  const tags = [];
  lattice.each((first, last) => {
    let worth = Array.from({ length: lattice.counts[first] }, (_, b) => (last - first === 1 ? unigrams[lattice.tokenStarts[first] + b] : 0));
    const backs = [];
    for (let i = first + 1; i < last; i++) {
      const width = lattice.counts[i], next = Array(width).fill(-Infinity), back = Array(width).fill(0);
      for (let b = 0; b < width; b++) worth.forEach((before, a) => {
        const value = before + bigrams[lattice.blockStarts[i] + a * width + b];
        if (value > next[b]) [next[b], back[b]] = [value, a];
      });
      worth = next;
      backs.push(back);
    }
    const path = [worth.indexOf(peakOf(worth))];
    for (const back of backs.reverse()) path.unshift(back[path[0]]);
    path.forEach((place, k) => tags.push(lattice.tags[lattice.candidateOf[lattice.tokenStarts[first + k] + place]]));
  });
  return tags;
}

// ---------------------------------------------------------------- transducers.data

const LONGEST_SIDE = 100;

/** Alignment units: pairs of short strings; which of them read an input, and which lead through a lattice. */
class Units {
  constructor(header, isInverted = false) {
    need(isTable(header) && [header.units, header.inputs, header.outputs].every((each) => each instanceof Alphabet), "it has no units");
    this.alphabet = header.units;
    [this.inputs, this.outputs] = isInverted ? [header.outputs, header.inputs] : [header.inputs, header.outputs];
    const sides = this.alphabet.symbols.map((unit) => {
      const isUnit = Array.isArray(unit) && unit.length === 2 && unit.every((side) => Array.isArray(side) && side.length <= LONGEST_SIDE);
      need(isUnit && unit[0].length + unit[1].length > 0, "a unit is no pair of short strings");
      return isInverted ? [unit[1], unit[0]] : unit;
    });
    this.read = sides.map(([left]) => this.inputs.codesOf(left));
    this.written = sides.map(([, right]) => this.outputs.codesOf(right));
    need([...this.read, ...this.written].every((codes) => !codes.includes(-1)), "a unit holds a symbol that its alphabets lack");
    this.byFirst = Array.from({ length: this.inputs.length + 1 }, () => []);
    this.byKey = new Map();
    const shapes = new Map();
    this.read.forEach((codes, unit) => {
      const shape = [codes.length, this.written[unit].length];
      this.byFirst[codes.length ? codes[0] : this.inputs.length].push(unit);
      this.byKey.set(`${codes}:${this.written[unit]}`, unit);
      shapes.set(`${shape}`, shape);
    });
    this.inserted = this.byFirst[this.inputs.length];
    this.shapes = [...shapes.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    this.longestRead = Math.max(0, ...this.read.map((codes) => codes.length));
  }

  get length() {
    return this.read.length;
  }

  /** Units with an input that may stand at a position. */
  readers(xs, i) {
    if (i >= xs.length || xs[i] < 0) return [];
    return this.byFirst[xs[i]].filter((unit) => this.read[unit].every((code, k) => xs[i + k] === code));
  }

  /** The edges that leave each cell of the edit lattice: [unit, rows on, columns on], in the order of shapes. */
  lattice(xs, ys) {
    const columns = ys.length + 1, edges = Array.from({ length: (xs.length + 1) * columns }, () => []);
    const reached = new Uint8Array(edges.length);
    reached[0] = 1;
    for (let i = 0; i <= xs.length; i++) for (let j = 0; j <= ys.length; j++) {
      if (!reached[i * columns + j]) continue;
      this.shapes.forEach(([p, q], shape) => {
        if (i + p > xs.length || j + q > ys.length) return;
        const unit = this.byKey.get(`${xs.subarray(i, i + p)}:${ys.subarray(j, j + q)}`);
        if (unit === undefined) return;
        edges[i * columns + j].push({ unit, shape, to: (i + p) * columns + j + q });
        reached[(i + p) * columns + j + q] = 1;
      });
    }
    return edges;
  }
}

// ---------------------------------------------------------------- transducers.model.joint_ngram, .kernels.beam

const SKIP = -30, WORST = 14, N_INSERTED = 3, BEAM = 40, CROWDED = 4096, ROUNDS = 1000, NOTHING = 1e-14;

/** An n-gram whose symbols are units, in one direction. */
class JointNgram {
  constructor(units, ngram) {
    Object.assign(this, { units, ngram, end: units.length, steps: new Map() });
    this.base = ngram.distribution(0);
  }

  /** p(outcome | context), with the root's row as a distribution, and the context that follows; kept. */
  step(context, outcome) {
    const key = context * (this.end + 1) + outcome;
    let found = this.steps.get(key);
    if (!found) {
      const { ngram } = this;
      let weight = 1, total = 0, longest = 0; // of the contexts that have seen the outcome
      for (let node = context; node > 0; node = ngram.parent[node]) {
        const at = find(ngram.outcomes, outcome, ngram.rowStarts[node], ngram.rowStarts[node + 1]);
        if (at >= 0) {
          total += weight * ngram.own[at];
          longest ||= node;
        }
        weight *= ngram.backoff[node];
      }
      found = [total + weight * this.base[outcome], outcome < this.end ? ngram.follow(longest, outcome) : -1];
      if (this.steps.size > 1_000_000) this.steps.clear();
      this.steps.set(key, found);
    }
    return found;
  }

  /** log g(x, y), the sum over all alignments. */
  logSum(xs, ys) {
    const edges = this.units.lattice(xs, ys), cells = edges.map(() => null);
    cells[0] = { exponent: 0, weights: new Map([[this.ngram.start, 1]]) };
    for (let cell = 0; cell < edges.length; cell++) {
      if (!cells[cell]) continue;
      rescaled(cells[cell]);
      for (const [context, weight] of cells[cell].weights) for (const { unit, to } of edges[cell]) {
        const [p, after] = this.step(context, unit);
        addTo((cells[to] ??= { exponent: cells[cell].exponent, weights: new Map() }), after, weight * p, cells[cell].exponent);
      }
      if (cell + 1 < edges.length) cells[cell] = null;
    }
    const last = cells[edges.length - 1];
    if (!last) return -Infinity;
    let total = 0;
    for (const [context, weight] of last.weights) total += weight * this.step(context, this.end)[0];
    return Math.log(total) + last.exponent * Math.LN2;
  }

  /** log g(x), the sum over all outputs; -inf where no units read x. */
  logInputSum(xs) {
    let log = 0;
    const fronts = Array.from({ length: xs.length + 1 }, () => new Map());
    fronts[0].set(this.ngram.start, 1);
    for (let i = 0; i <= xs.length; i++) {
      const scale = sum([...fronts[i].values()]);
      if (scale > 0) {
        log += Math.log(scale);
        for (let k = i; k <= Math.min(i + this.units.longestRead, xs.length); k++) {
          for (const [context, weight] of fronts[k]) fronts[k].set(context, weight / scale);
        }
        this.addInserted(fronts[i]);
      }
      if (i === xs.length) break;
      const readers = this.units.readers(xs, i);
      for (const [context, weight] of fronts[i]) if (weight > NOTHING) for (const unit of readers) {
        const [p, after] = this.step(context, unit), front = fronts[i + this.units.read[unit].length];
        front.set(after, (front.get(after) || 0) + weight * p);
      }
    }
    let total = 0;
    for (const [context, weight] of fronts[xs.length]) total += weight * this.step(context, this.end)[0];
    return log + Math.log(total);
  }

  /** Add to a front what units without input lead to from it, round by round. */
  addInserted(front) {
    if (!this.units.inserted.length) return;
    let newest = new Map(front);
    for (let round = 0; round < ROUNDS; round++) {
      if (sum([...newest.values()]) <= NOTHING * sum([...front.values()])) break;
      const following = new Map();
      for (const [context, weight] of newest) if (weight > NOTHING) for (const unit of this.units.inserted) {
        const [p, after] = this.step(context, unit);
        following.set(after, (following.get(after) || 0) + weight * p);
      }
      for (const [context, weight] of following) front.set(context, (front.get(context) || 0) + weight);
      newest = following;
    }
  }

  /** The heaviest distinct outputs of an input, with the logarithms of their weights, by a beam over positions. */
  propose(xs, nBest) {
    const room = Math.max(CROWDED, 2 * BEAM + this.units.length + 1);
    const finals = [], buckets = Array.from({ length: xs.length + 1 }, () => new Bucket(room));
    const rounds = 1 + (this.units.inserted.length ? N_INSERTED : 0);
    buckets[0].push({ context: this.ngram.start, output: "", log: 0 });
    for (let i = 0; i <= xs.length; i++) {
      const readers = this.units.readers(xs, i);
      let here = buckets[i];
      for (let turn = 0; turn < rounds; turn++) {
        const spare = new Bucket(room);
        for (const candidate of here.picked()) {
          if (i === xs.length) finals.push({ ...candidate, log: candidate.log + Math.log(this.step(candidate.context, this.end)[0]) });
          else if (turn === 0) buckets[i + 1].push({ ...candidate, log: candidate.log + SKIP });
          for (const unit of readers) buckets[i + this.units.read[unit].length].push(this.longer(candidate, unit));
          if (turn + 1 < rounds) for (const unit of this.units.inserted) spare.push(this.longer(candidate, unit));
        }
        here = spare;
      }
    }
    const sums = new Map();
    for (const place of best(finals.map(({ log }) => log)).slice(0, BEAM)) {
      const { output, log } = finals[place];
      sums.set(output, logAdd(sums.get(output) ?? -Infinity, log));
    }
    const outputs = [...sums].map(([output, log]) => ({ codes: Int32Array.from(output ? output.split(",") : []), key: output, log }));
    return best(outputs.map(({ log }) => log)).slice(0, nBest).map((place) => outputs[place]);
  }

  longer({ context, output, log }, unit) {
    const [p, after] = this.step(context, unit), written = this.units.written[unit].join(",");
    return { context: after, output: output && written ? `${output},${written}` : output + written, log: log + Math.log(p) };
  }
}

/** Candidates of a position: those of one context and output are one, and the best of them are looked at. */
class Bucket {
  constructor(room) {
    this.room = room;
    this.candidates = new Map();
    this.pushed = 0;
  }

  push(candidate) {
    if (this.pushed >= this.room) { // as many as the compiled search has room for: it goes on with the best
      const kept = this.picked();
      this.candidates = new Map(kept.map((each) => [`${each.context}:${each.output}`, each]));
      this.pushed = kept.length;
    }
    const key = `${candidate.context}:${candidate.output}`, known = this.candidates.get(key);
    this.pushed += 1;
    this.candidates.set(key, known ? { ...known, log: logAdd(known.log, candidate.log) } : candidate);
  }

  picked() {
    const all = [...this.candidates.values()].sort((a, b) => b.log - a.log).slice(0, BEAM);
    return all.filter(({ log }) => log >= all[0].log - WORST);
  }
}

/** Weights of contexts with a common power of two: it is taken out where they leave the middle. */
function rescaled(cell) {
  let largest = 0;
  for (const weight of cell.weights.values()) largest = Math.max(largest, weight);
  if (!(largest > 0) || (largest >= 1e-60 && largest <= 1e60)) return;
  const power = exponentOf(largest);
  for (const [context, weight] of cell.weights) cell.weights.set(context, weight * 2 ** -power);
  cell.exponent += power;
}

function addTo(cell, context, weight, exponent) {
  if (exponent > cell.exponent) {
    for (const [other, value] of cell.weights) cell.weights.set(other, value * powerOfTwo(cell.exponent - exponent));
    cell.exponent = exponent;
  }
  cell.weights.set(context, (cell.weights.get(context) || 0) + weight * powerOfTwo(exponent - cell.exponent));
}

// ---------------------------------------------------------------- transducers.model.aligner, .refined_chain

const N_ALIGNMENTS = 3, TIE = 1e-9;

/** The likeliest alignments of a pair, as strings of units, by a bag of them. */
class Aligner {
  constructor(arrays, header) {
    this.units = new Units(header.units);
    const { theta } = checked(arrays, { theta: floats(["units"], 0) }, { units: this.units.length });
    this.logs = theta.map(Math.log);
  }

  best(xs, ys) {
    const edges = this.units.lattice(xs, ys), cells = edges.map(() => []);
    const into = edges.map(() => []);
    edges.forEach((leaving, from) => leaving.forEach(({ unit, shape, to }) => into[to].push({ unit, shape, from })));
    cells[0].push({ score: 0, unit: -1, before: null });
    into.forEach((entering, cell) => {
      entering.sort((a, b) => a.shape - b.shape);
      for (const { unit, from } of entering) for (const before of cells[from]) {
        if (!this.offer(cells[cell], { score: before.score + this.logs[unit], unit, before })) break;
      }
    });
    return cells[edges.length - 1].map((found) => {
      const codes = [];
      for (let way = found; way.before; way = way.before) codes.push(way.unit);
      return Int32Array.from(codes.reverse());
    });
  }

  /** Put an alignment among the best of a cell, if it is one; of almost equal ones the first stays ahead. */
  offer(ranked, way) {
    const worst = ranked.length < N_ALIGNMENTS ? -Infinity : ranked.at(-1).score;
    if (!(way.score > worst + TIE)) return false;
    if (ranked.length === N_ALIGNMENTS) ranked.pop();
    let place = ranked.length;
    while (place > 0 && ranked[place - 1].score < way.score - TIE) place -= 1;
    ranked.splice(place, 0, way);
    return true;
  }
}

/** A chain over symbols refined into substates: blocks for pairs that were seen, a bigram behind them. */
class RefinedChain {
  constructor(arrays, alphabet) {
    this.alphabet = alphabet;
    this.bigram = new Ngram(below("bigram.", arrays), alphabet);
    const edge = (this.edge = alphabet.length), width = edge + 1;
    const found = checked(arrays, {
      spare: floats(["substates"], 0), shares: floats(["substates"], 0), firsts: rowStarts("symbols", "substates"),
      pair_keys: rising("pairs", "cells"), blocks: floats(["moves"], 0),
    }, { symbols: width, cells: width * width });
    Object.assign(this, found);
    this.counts = Array.from({ length: width }, (_, a) => this.firsts[a + 1] - this.firsts[a]);
    need(this.pair_keys.length && this.counts.every((count) => count > 0) && this.counts[edge] === 1, "its substates do not fit its symbols");
    this.blockStarts = [0];
    for (const key of this.pair_keys) {
      this.blockStarts.push(this.blockStarts.at(-1) + this.counts[Math.floor(key / width)] * this.counts[key % width]);
    }
    need(this.blockStarts.at(-1) === this.blocks.length, "the blocks of a refined chain do not fit its pairs");
  }

  /** The weights of the substates of b behind those of a. */
  move(now, a, b) {
    const at = find(this.pair_keys, a * (this.edge + 1) + b), then = new Float64Array(this.counts[b]);
    if (at >= 0) {
      now.forEach((weight, of) => {
        const row = this.blockStarts[at] + of * then.length;
        for (let to = 0; to < then.length; to++) then[to] += weight * this.blocks[row + to];
      });
      return then;
    }
    const context = a === this.edge ? this.bigram.start : this.bigram.follow(0, a);
    const left = dot(now, this.spare, this.firsts[a]) * this.bigram.probability(context, b);
    return then.map((_, to) => left * this.shares[this.firsts[b] + to]);
  }

  logProbability(codes) {
    let now = Float64Array.of(1), before = this.edge, log = 0;
    for (const code of [...codes, this.edge]) {
      if (code < 0) return -Infinity;
      const then = this.move(now, before, code), total = sum(then);
      if (!(total > 0)) return -Infinity;
      log += Math.log(total);
      now = then.map((weight) => weight / total);
      before = code;
    }
    return log;
  }
}

// ---------------------------------------------------------------- transducers.model.transducer

const UNIT_KINDS = { __proto__: null, ngram: Ngram, latent: RefinedChain, backward: RefinedChain, spectral: Filtered };
const BELOW = 5;

/** What is asked of transducers; they bring `rankedOf` of an input and `logOf` of a pair. */
class PairModel {
  /** The best output of each input; empty where there is none. */
  predict(inputs) {
    return this.predictNbest(inputs, 1).map((ranking) => (ranking.length ? ranking[0][0] : []));
  }

  /** The best outputs of each input with their probabilities, best first. */
  predictNbest(inputs, nBest = 10) {
    return stringsOf(inputs).map((input) => {
      const codes = this.units.inputs.codesOf(input), known = codes.filter((code) => code >= 0), nUnknown = codes.length - known.length;
      if (codes.length && !known.length) return [];
      const factor = (1 + this.units.outputs.length) ** -nUnknown; // of all that an unknown symbol may spell
      return this.rankedOf(known, nBest).map(([output, share]) => [Array.from(output, (code) => this.units.outputs.symbols[code]), share * factor]);
    });
  }

  /** The log-probability of each output given its input. */
  scoreSamples(pairs) {
    return stringsOf(pairs).map(([input, output]) => {
      const xs = this.units.inputs.codesOf(input);
      return xs.includes(-1) ? -Infinity : this.logOf(xs, this.units.outputs.codesOf(output));
    });
  }
}

class Transducer extends PairModel {
  constructor(arrays, header) {
    super();
    need(Array.isArray(header.readings) && header.readings.every(isTable) && Array.isArray(header.outputs), "it has no models of units");
    this.inverted = header.inverted === true;
    this.nProposed = header.n_proposed;
    need(Number.isSafeInteger(this.nProposed) && this.nProposed >= 1 && this.nProposed <= 10_000, "its number of proposals is not right");
    this.inventories = header.readings.map((described, at) => {
      const aligner = new Aligner(below(`reading${at}.aligner.`, arrays), described);
      const models = textsOf(described, "kinds").map((kind) => {
        need(UNIT_KINDS[kind], `a model of units is of the unknown kind "${kind}"`);
        return { kind, model: new UNIT_KINDS[kind](below(`reading${at}.${kind}.`, arrays), aligner.units.alphabet) };
      });
      const ngram = models.find(({ kind }) => kind === "ngram");
      return { aligner, models, joint: ngram && new JointNgram(aligner.units, ngram.model) };
    });
    need(this.inventories.length && this.inventories[0].joint, "its first inventory of units needs an n-gram");
    this.outputModels = header.outputs.map((alphabet, at) => new Filtered(below(`output${at}.`, arrays), alphabet));
    this.nModels = sum(this.inventories.map(({ models }) => models.length)) + this.outputModels.length;
    this.weights = checked(arrays, { weights: floats(["models"]) }, { models: this.nModels }).weights;
    const [first] = this.inventories;
    this.units = this.inverted ? new Units(header.readings[0].units, true) : first.aligner.units;
    this.proposer = this.inverted ? new JointNgram(this.units, first.joint.ngram) : first.joint;
  }

  /** Of every model the log-score of each proposal for an input; where a model has none, a little below the worst. */
  scores(xs, proposals) {
    const input = Array.from(xs, (code) => this.units.inputs.symbols[code]);
    const pairs = proposals.map(({ codes }) => {
      const output = Array.from(codes, (code) => this.units.outputs.symbols[code]);
      return this.inverted ? [output, input] : [input, output];
    });
    const columns = this.inventories.flatMap(({ aligner, models, joint }) => {
      const coded = pairs.map(([left, right]) => [aligner.units.inputs.codesOf(left), aligner.units.outputs.codesOf(right)]);
      const aligned = models.length > 1 || !joint ? coded.map(([left, right]) => aligner.best(left, right)) : [];
      return models.map(({ kind, model }) => {
        if (kind === "ngram") return coded.map(([left, right]) => joint.logSum(left, right));
        return aligned.map((strings) => strings.reduce(
          (log, codes) => logAdd(log, model.logProbability(kind === "backward" ? codes.slice().reverse() : codes)), -Infinity,
        ));
      });
    });
    for (const model of this.outputModels) columns.push(pairs.map(([, right]) => model.logProbability(model.alphabet.codesOf(right))));
    return columns.map((column) => {
      const worst = column.filter(Number.isFinite).reduce((a, b) => Math.min(a, b), Infinity);
      return column.map((score) => (Number.isFinite(score) ? score : Number.isFinite(worst) ? worst - BELOW : 0));
    });
  }

  /** Proposals for an input of known symbols with log q(y | x), and log g(x). */
  judge(xs) {
    const proposals = this.proposer.propose(xs, this.nProposed), ofInput = this.proposer.logInputSum(xs);
    if (!proposals.length) return { proposals, logs: [], ofInput };
    const columns = this.scores(xs, proposals);
    const within = proposals.map((_, k) => (this.nModels > 1 ? sum(columns.map((column, m) => column[k] * this.weights[m])) : columns[0][k]));
    const total = within.reduce(logAdd, -Infinity), mass = columns[0].reduce((a, b) => logAdd(a, b), -Infinity) - ofInput;
    const share = Number.isFinite(ofInput) ? Math.min(mass, 0) : 0;
    return { proposals, logs: within.map((log) => log - total + share), ofInput };
  }

  rankedOf(xs, nBest) {
    const { proposals, logs } = this.judge(xs);
    return best(logs).slice(0, nBest).map((place) => [proposals[place].codes, Math.exp(logs[place])]);
  }

  logOf(xs, ys) {
    const { proposals, logs, ofInput } = this.nModels > 1 ? this.judge(xs) : { proposals: [], logs: [], ofInput: this.proposer.logInputSum(xs) };
    const place = proposals.findIndex(({ key }) => key === ys.join(","));
    if (place >= 0) return logs[place];
    return Number.isFinite(ofInput) ? this.proposer.logSum(xs, ys) - ofInput : -Infinity;
  }
}

// ---------------------------------------------------------------- transducers.kernels.prefix_filter, .prefix_beam

const ESCAPE = 1e-3, FAR = 1e-14, PREFIX_BEAM = 20, LEAST_POWER = -(2 ** 40);

/** Operators of units made ready to read outputs symbol by symbol. */
class UnitMachine {
  constructor(automaton, units) {
    const { n, transitions } = automaton, inserted = new Float64Array(n * n);
    Object.assign(this, { n, transitions, initial: automaton.initial, final: automaton.final, units });
    for (const unit of units.inserted) for (let k = 0; k < n * n; k++) inserted[k] += transitions[unit * n * n + k];
    this.closure = solve(identityLess(inserted, n), identityLess(new Float64Array(n * n), n), n, n);
    this.nColumns = Math.max(1, ...units.written.map((codes) => codes.length));
  }

  /** Add factor matrix vector to a vector. */
  times(matrices, begin, vector, factor, into) {
    for (let i = 0; i < this.n; i++) into[i] += factor * dot(vector, matrices, begin + i * this.n);
  }

  /** Backwards through an input: the units at each position, with what follows them and how cells scale. */
  ahead(xs) {
    const { n, units, transitions } = this, last = xs.length, rest = [], powers = [], found = [];
    for (let i = last; i >= 0; i--) {
      const readers = units.readers(xs, i), total = new Float64Array(n), here = (rest[i] = new Float64Array(n));
      const lengths = readers.map((unit) => units.read[unit].length);
      const power = lengths.reduce((most, p) => Math.max(most, powers[i + p]), i === last ? 0 : LEAST_POWER);
      readers.forEach((unit, k) => this.times(transitions, unit * n * n, rest[i + lengths[k]], powerOfTwo(powers[i + lengths[k]] - power), total));
      this.times(this.closure, 0, i === last ? this.final : total, 1, here);
      const exponent = exponentOf(largestSize(here));
      rest[i] = here.map((value) => value * 2 ** -exponent);
      powers[i] = power + exponent;
      found[i] = [...readers, ...units.inserted].map((unit) => {
        const to = i + units.read[unit].length, factor = powerOfTwo(powers[to] - powers[i]), vector = new Float64Array(n);
        this.times(transitions, unit * n * n, rest[to], factor, vector);
        return { unit, to, factor, vector, written: units.written[unit] };
      });
    }
    return { units: found, end: this.final.map((value) => value * powerOfTwo(-powers[last])) };
  }

  /** Units without output carry the cells of a column on. */
  settle(column, ahead) {
    for (let i = 0; i + 1 < column.length; i++) if (column[i]) for (const { unit, to, factor, written } of ahead.units[i]) {
      if (!written.length) this.carry(column, to, column[i], unit, factor);
    }
  }

  carry(column, to, cell, unit, factor) {
    const target = (column[to] ??= new Float64Array(this.n));
    moved(cell, this.transitions, unit * this.n * this.n).forEach((value, k) => { target[k] += factor * value; });
  }

  /** The columns of the empty output, latest first; cells that nothing reached are null. */
  begin(xs, ahead) {
    const columns = Array.from({ length: this.nColumns }, () => Array(xs.length + 1).fill(null));
    columns[0][0] = Float64Array.from(this.initial);
    this.settle(columns[0], ahead);
    return columns;
  }

  /** W of every symbol that may come next, that of the end last; signs turned where their sum is negative. */
  weigh(columns, recent, ahead, nSymbols) {
    const weights = new Float64Array(nSymbols + 1);
    columns.forEach((column, k) => {
      const sizes = column.map((cell) => (cell ? largestSize(cell) : 0)), largest = peakOf(sizes);
      column.forEach((cell, i) => {
        if (!(sizes[i] > FAR * largest)) return;
        for (const { vector, written } of ahead.units[i]) {
          if (written.length > k && fits(written, k, recent)) weights[written[k]] += dot(cell, vector);
        }
      });
    });
    const final = columns[0].at(-1);
    if (final) weights[nSymbols] += dot(final, ahead.end);
    return sum(weights) < 0 ? weights.map((weight) => -weight) : weights;
  }

  /** The columns behind a symbol more, the first of `recent`, divided by its weight. */
  advance(columns, recent, ahead, scale) {
    const longer = columns.map((_, k) => (k ? columns[k - 1].map((cell) => cell && cell.map((value) => value / scale)) : columns[0].map(() => null)));
    columns.forEach((column, k) => column.forEach((cell, i) => {
      if (!cell || !(largestSize(cell) > 0)) return;
      for (const { unit, to, factor, written } of ahead.units[i]) {
        if (written.length === k + 1 && fits(written, k + 1, recent)) this.carry(longer[0], to, cell, unit, factor / scale);
      }
    }));
    this.settle(longer[0], ahead);
    return longer;
  }
}

/** Whether the first k output symbols of a unit are the last of a prefix. */
function fits(written, k, recent) {
  for (let place = 0; place < k; place++) if (written[place] !== recent[k - 1 - place]) return false;
  return true;
}

class WeightedTransducer extends PairModel {
  constructor(arrays, header) {
    super();
    this.units = new Units(header.units);
    this.machines = [new UnitMachine(new Automaton(arrays, this.units.alphabet), this.units)];
    const behind = below("backoff.", arrays);
    this.mixing = Number(header.mixing ?? 0);
    need(this.mixing >= 0 && this.mixing <= 1, "its mixing is no share");
    if (behind.size) this.machines.push(new UnitMachine(new Automaton(behind, this.units.alphabet), this.units));
    this.nSymbols = this.units.outputs.length;
  }

  begin(xs) {
    const aheads = this.machines.map((machine) => machine.ahead(xs));
    return { aheads, recent: [], columns: this.machines.map((machine, m) => machine.begin(xs, aheads[m])) };
  }

  /** q of every symbol after a prefix and of the end, and W of either machine. */
  shares({ aheads, recent, columns }) {
    const weights = this.machines.map((machine, m) => machine.weigh(columns[m], recent, aheads[m], this.nSymbols));
    const [first, second = 0] = weights.map((row) => sum(row.map((weight) => Math.max(weight, 0))));
    let mixing = this.mixing, escape = ESCAPE;
    if (!(first > 0)) mixing = 1;
    if (!(second > 0)) [mixing, escape] = [this.mixing > 0 ? mixing : 0, 1];
    const shares = Float64Array.from({ length: this.nSymbols + 1 }, (_, z) => {
      const own = first > 0 && weights[0][z] > 0 ? ((1 - mixing) * weights[0][z]) / first : 0;
      const other = second > 0 && weights[1][z] > 0 ? (mixing * (1 - escape) * weights[1][z]) / second : 0;
      return (mixing * escape) / (this.nSymbols + 1) + own + other;
    });
    return { shares, weights };
  }

  longer({ aheads, recent, columns }, symbol, weights) {
    const last = [symbol, ...recent].slice(0, this.machines[0].nColumns);
    return { aheads, recent: last, columns: this.machines.map((machine, m) => machine.advance(columns[m], last, aheads[m], weights[m][symbol] || 1)) };
  }

  logOf(xs, ys) {
    let prefix = this.begin(xs), log = 0;
    for (const symbol of ys) {
      const { shares, weights } = this.shares(prefix), share = symbol < 0 ? 0 : shares[symbol];
      if (!(share > 0)) return -Infinity;
      log += Math.log(share);
      prefix = this.longer(prefix, symbol, weights);
    }
    return log + Math.log(this.shares(prefix).shares[this.nSymbols]);
  }

  /** The best outputs of an input, by a beam over prefixes of one length. */
  rankedOf(xs, nBest) {
    const outputs = [], rounds = 4 * (xs.length + 2) * this.machines[0].nColumns;
    let live = [{ prefix: this.begin(xs), log: 0, codes: [] }];
    for (let round = 0; round < rounds && live.length; round++) {
      const candidates = [];
      for (const { prefix, log, codes } of live) {
        const { shares, weights } = this.shares(prefix);
        outputs.push({ codes, log: log + Math.log(shares[this.nSymbols]) });
        shares.forEach((share, symbol) => {
          if (symbol < this.nSymbols) candidates.push({ prefix, weights, symbol, codes, log: log + Math.log(share) });
        });
      }
      outputs.sort((a, b) => b.log - a.log);
      candidates.sort((a, b) => b.log - a.log);
      const enough = outputs.length >= nBest ? outputs[nBest - 1].log : -Infinity;
      const bar = Math.max(enough, outputs[0].log - WORST, candidates.length ? candidates[0].log - WORST : 0);
      live = candidates.slice(0, PREFIX_BEAM).filter(({ log }) => log > bar).map(({ prefix, weights, symbol, codes, log }) => (
        { prefix: this.longer(prefix, symbol, weights), codes: [...codes, symbol], log }
      ));
    }
    return outputs.slice(0, nBest).filter(({ log }) => log > -Infinity).map(({ codes, log }) => [codes, Math.exp(log)]);
  }
}

// ---------------------------------------------------------------- kinds of model files

const KINDS = {
  __proto__: null,
  automaton: (arrays, header) => new SequenceModel(new Automaton(arrays, alphabetOf(header))),
  "filtered-automaton": (arrays, header) => new SequenceModel(new Filtered(arrays, alphabetOf(header))),
  "classed-automaton": (arrays, header) => new SequenceModel(new Classed(arrays, header)),
  ngram: (arrays, header) => new SequenceModel(new Ngram(arrays, alphabetOf(header))),
  tagger: (arrays, header) => new Tagger(arrays, header),
  transducer: (arrays, header) => new Transducer(arrays, header),
  "weighted-transducer": (arrays, header) => new WeightedTransducer(arrays, header),
};
