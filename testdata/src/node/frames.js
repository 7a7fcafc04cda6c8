'use strict';
// frames.js KIND prints the stack of its innermost call as V8 has it, one frame a line, and aborts there. Each way to
// call a function is a step that calls the next one, so that one stack has all of them.
const fs = require('fs');
const vm = require('vm');
const path = require('path');
const { Worker, isMainThread, parentPort } = require('worker_threads');
const kind = process.argv[2] || 'all';
Error.stackTraceLimit = Infinity;

// show prints the frames of V8's own trace: function, file, line.
function show() {
  const before = Error.prepareStackTrace;
  Error.prepareStackTrace = (_, sites) => sites;
  const sites = new Error().stack;
  Error.prepareStackTrace = before;
  const lines = [];
  for (const s of sites) {
    if (s.isAsync()) continue;
    lines.push(JSON.stringify([s.getFunctionName() || '', s.getFileName() || s.getEvalOrigin() || '', s.getLineNumber() || 0]));
  }
  fs.writeSync(1, lines.join('\n') + '\n');
}

function die() {
  show(); isMainThread ? process.abort() : waits(); // on one line, which the trace and the dump have
}

// waits stops a worker for ever: another thread aborts.
function waits() {
  parentPort.postMessage(0);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

const steps = [];
let at = 0;
function next() {
  if (at === steps.length) return die();
  return steps[at++]();
}

class Base {
  constructor(f) { this.made = f(); }
  inherited() { return next(); }
}
class Shop extends Base {
  #secret = 1;
  static build() { return new Shop(next); }
  get price() { return next() + this.#secret; }
  set price(v) { next(); }
  *items() { yield 1; yield next(); }
  static { this.ready = true; }
  ['computed' + 1]() { return next(); }
  #hidden() { return next(); }
  callHidden() { return this.#hidden(); }
}

steps.push(function plain() { return next(); });
steps.push(() => next());
steps.push(function map() { return [1].map((x) => next()); });
steps.push(function forEach() { [1].forEach(function each(x) { next(); }); });
steps.push(function sort() { return [2, 1].sort((a, b) => { next(); return a - b; }); });
steps.push(function replace() { return 'abc'.replace(/b/, (m) => String(next())); });
steps.push(function replaceString() { return 'abc'.replace('b', (m) => String(next())); });
steps.push(function reduce() { return [1, 2].reduce((a, b) => next()); });
steps.push(function parse() { return JSON.parse('{"a":1}', function reviver(k, v) { return next(); }); });
steps.push(function stringify() { return JSON.stringify({ toJSON() { return next(); } }); });
steps.push(function makes() { return Shop.build(); });
steps.push(function inherits() { return Shop.prototype.inherited(); });
steps.push(function getter() { return new Shop(() => 1).price; });
steps.push(function setter() { new Shop(() => 1).price = 2; });
steps.push(function generator() { return [...new Shop(() => 1).items()]; });
steps.push(function computed() { return new Shop(() => 1).computed1(); });
steps.push(function hidden() { return new Shop(() => 1).callHidden(); });
steps.push(function reflect() { return Reflect.apply(function applied() { return next(); }, null, []); });
steps.push(function construct() { return Reflect.construct(Base, [next]); });
steps.push(function bound() { return function toBind() { return next(); }.bind(null, 1)(2); });
steps.push(function call() { return function called(a, b, c) { return next(); }.call(null, 1); });
steps.push(function evals() { return eval('1;\n2;\nnext()'); });
steps.push(function newFunction() { return new Function('f', 'return (\n\nf())')(next); });
steps.push(function inContext() { return vm.runInContext('function inside() {\n  return next();\n}\ninside()', vm.createContext({ next }), { filename: 'context.js' }); });
steps.push(function inThis() { return vm.runInThisContext('(function(f) {\n\n return f(); })', { filename: '/tmp/this.js', lineOffset: 10 })(next); });
steps.push(function promise() { return new Promise(function executor(resolve) { resolve(next()); }); });
steps.push(async function asynchronous() { return await next(); });
steps.push(function proxies() { return new Proxy({}, { get(t, k) { return next(); } }).x; });
steps.push(function symbolIterator() { for (const x of { [Symbol.iterator]() { return { next() { return { done: true, value: next2() }; } }; } }) return x; });
steps.push(function primitive() { return `${{ toString() { return String(next()); } }}`; });
steps.push(function value() { return +{ valueOf() { return next() | 0; } }; });
steps.push(function defaults({ a = next() } = {}) { return a; });
steps.push(function tagged() { return ((strings, ...values) => next())`a${1}b`; });
steps.push(function more(a, b) { return ((...rest) => next())(1, 2, 3, 4, 5, 6); });
steps.push(function throwing() { try { throw new Error('x'); } catch (e) { return next(); } finally { at = at; } });
steps.push(function aFunctionWithAVeryLongNameAsACompilerOfTypeScriptWouldWriteItForAGenericDecoratedMethod_1() { return next(); });
steps.push({ 'a property': function () { return next(); } }['a property']);
steps.push(function größe() { return ((ü) => next())(1); });
steps.push(function emits() { const e = new (require('events'))(); e.on('x', function onX() { next(); }); e.emit('x'); });
steps.push(function requires() {
  const file = path.join(process.env.FRAMES_DIR || '/tmp', 'frames-required.js');
  fs.writeFileSync(file, '// module\nmodule.exports = function fromModule(f) {\n  return (() =>\n    f())();\n};\n');
  return require(file)(next);
});
steps.push(function typedArray() { return new Uint8Array(2).map((x) => next() | 0); });
steps.push(function from() { return Array.from([1], (x) => next()); });
steps.push(function mapForEach() { new Map([[1, 2]]).forEach((v) => next()); });
steps.push(function flatMap() { return [1].flatMap(() => [next()]); });
steps.push(function instance() { return ({}) instanceof { [Symbol.hasInstance]() { return next(); } }; });
steps.push(function multi() {
  return fs
    .existsSync('/nonexistent') ||
    (function inner() {
      return next(
        1,
        2);
    })();
});
function next2() { return next(); }

// wasm has a module whose function calls an imported one.
function wasm(f) {
  const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 2, 7, 1, 1, 101, 1, 102, 0, 0, 3, 2, 1, 0,
    7, 9, 1, 5, 101, 110, 116, 101, 114, 0, 1, 10, 6, 1, 4, 0, 16, 0, 11, 0, 18, 4, 110, 97, 109, 101, 1, 11, 1, 1, 8, 119, 97, 115, 109, 70, 117, 110, 99]);
  return new WebAssembly.Instance(new WebAssembly.Module(bytes), { e: { f } }).exports.enter();
}

// hot makes functions hot, the last of which calls what it is given when it is told to.
let armed = false;
class Point {
  constructor(x) { this.x = x; }
  add(o) { return small(this.x, o); }
}
function small(a, b) { return leaf(a) + b; }
function leaf(a) {
  if (armed) blocked();
  return a | 0;
}
function blocked() { next(); }
function hotMiddle(p, i) { return [i, i + 1].map((x) => p.add(x)).length + p.add(i); }
function hotOuter(n) {
  let sum = 0;
  const p = new Point(3);
  for (let i = 0; i < n; i++) {
    sum += hotMiddle(p, i);
    if (armed) break;
  }
  return sum;
}
function hot() {
  for (let i = 0; i < 300; i++) hotOuter(300);
  armed = true;
  return hotOuter(300);
}

function recurse(n) { return n === 0 ? next() : recurse(n - 1) + 1; }

// spin is busy for ever, in functions of all kinds.
function spin() {
  let sum = 0;
  for (;;) {
    sum += hotOuter(20) + [3, 1, 2].sort((a, b) => a - b)[0] + spinWork(sum);
    if (sum > 1e9) sum = 0;
  }
}
function spinWork(n) { return 'a-b-c'.replace(/-/g, () => '+').length + JSON.parse('[1]', (k, v) => v).length + new Point(n).add(2); }

switch (kind) {
  case 'spin': console.log('ready'); spin(); break;
  case 'all': next(); break;
  case 'timer': setTimeout(function onTimeout() { next(); }, 1); break;
  case 'fs': fs.readFile(__filename, function onRead() { next(); }); break;
  case 'tick': process.nextTick(function onTick() { next(); }); break;
  case 'then': Promise.resolve(1).then(function onThen() { steps.length = 5; next(); }); break;
  case 'async': (async function outer() { await (async function inner() { await 1; steps.length = 5; next(); })(); })(); break;
  case 'immediate': setImmediate(() => { steps.length = 5; next(); }); break;
  case 'deep': steps.length = 0; recurse(900); break;
  case 'hot': steps.length = 0; hot(); break;
  case 'wasm': steps.length = 3; wasm(function imported() { next(); }); break;
  case 'esm': {
    const file = path.join(process.env.FRAMES_DIR || '/tmp', 'frames-module.mjs');
    fs.writeFileSync(file, 'export class Exported {\n  run(f) {\n    return f();\n  }\n}\nexport default function enter(f) {\n\n  return new Exported().run(f);\n}\n');
    steps.length = 3;
    import('file://' + file).then((m) => m.default(next));
    break;
  }
  case 'worker': new Worker(__filename, { argv: ['inWorker'] }).on('message', () => process.abort()); break;
  case 'inWorker': next(); break;
  case 'uncaught': steps.length = 0; (function buyer() { JSON.parse('[1]', function total(k, v) { throw new TypeError('no price for \u00e9clair'); }); })(); break;
  case 'uncaughtProperty': (function reads(o) { return o.missing.field; })({}); break;
  case 'uncaughtValue': throw 'a string';
  case 'cause': {
    const inner = new RangeError('too low'), outer = new Error('no offer', { cause: inner });
    if (process.argv[3]) inner.cause = outer; // a circle
    throw outer;
  }
  case 'rejection': (async function rejects() { await 1; throw new RangeError('out of stock'); })(); break;
  case 'named': (function seeks() { class NotFound extends Error {} throw new NotFound('no user 7'); })(); break;
  case 'getterNamed': { class HttpError extends Error { get name() { return 'asked'; } } throw new HttpError('bad gateway'); }
  case 'ownNamed': { const e = new RangeError('x'); e.name = 'TypeFoo'; throw e; }
  case 'standardNamed': { class Late extends Error {} const e = new Late('x'); e.name = 'TypeError'; throw e; }
  case 'many': throw new AggregateError([new Error('a')], 'many');
  case 'coded': { const e = new TypeError('no port'); e.code = 'ERR_NO_PORT'; throw e; }
  case 'codedTwice': { const e = new Error('ENOENT: no file'); e.code = 'ENOENT'; throw e; }
  case 'codedOddly': { const e = new Error('odd'); e.code = 'not a code'; throw e; }
  case 'assertion': require('assert').strictEqual(1, 2, 'one is two'); break;
  case 'object': throw { code: 7, msg: 'plain' };
  case 'number': throw 42;
  case 'nothing': throw undefined;
  case 'instance': { class Late { constructor() { this.by = 3; } } throw new Late(); }
  case 'collection': { class Late extends Map {} throw new Late([[1, 2]]); }
  case 'heap': (function hoards() { const keep = []; for (;;) keep.push({ a: [1, 2, 3], b: 'x' + keep.length }); })(); break;
  case 'missing': (function opens(p) { fs.readFileSync(p, 'utf8'); })('/no/such/file'); break;
  case 'later': (function fails(r) { r.destroy(new RangeError('bad chunk')); })(new (require('stream').Readable)({ read() {} })); break;
  case 'address': require('net').createServer().listen(1, '203.0.113.7'); break;
  case 'rejectsObject': (async function pays(order) { await null; throw { code: 7, order }; })({ id: 3 }); break;
  case 'failsInWorker': new Worker(__filename, { argv: ['inWorkerFails'] }); break;
  case 'inWorkerFails': {
    class JobError extends Error { constructor(m, job) { super(m); this.name = 'JobError'; this.job = job; } }
    (function works(n) { if (n === 0) throw new JobError('no job', { id: 9 }); works(n - 1); })(2);
    break;
  }
  case 'detailed': (function gives() {
    const e = new AggregateError([new Error('one'), new TypeError('two')], 'all');
    Object.assign(e, { code: 'EX', 'odd key': null, self: e, run: function f() {}, errno: -5 });
    Object.defineProperty(e, 'secret', { value: 1, enumerable: false });
    throw e;
  })(); break;
  case 'invalid': (function asks(n) { Buffer.alloc(n); })('three'); break;
  default: throw new Error('no kind ' + kind);
}
