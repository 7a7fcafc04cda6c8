'use strict';
// wasm.js KIND calls functions of WebAssembly that call each other, prints the innermost one's stack as V8 writes it and aborts there.
const fs = require('fs');
const kind = process.argv[2];
Error.stackTraceLimit = Infinity;

const number = (n) => { const out = []; do { out.push(n & 127 | (n > 127 ? 128 : 0)); n >>>= 7; } while (n); return out; };
const text = (s) => { const b = [...Buffer.from(s)]; return [...number(b.length), ...b]; };
const list = (items) => [...number(items.length), ...items.flat()];
const section = (id, body) => [id, ...number(body.length), ...body];

// assemble makes a module: functions of an i32 that return one, by name; before them as many are imported, and other things.
function assemble(module, functions, options = {}) {
  const names = Object.keys(functions);
  const imported = options.imported || ['js'];
  const first = imported.length;
  const bytes = [0, 97, 115, 109, 1, 0, 0, 0,
    ...section(1, list([[0x60, 1, 0x7f, 1, 0x7f]])),
    ...section(2, list([
      [...text('e'), ...text('table'), 1, 0x70, 1, 1, ...number(5000)], [...text('e'), ...text('memory'), 2, 0, 1], [...text('e'), ...text('global'), 3, 0x7f, 1],
      ...imported.map((n) => [...text('e'), ...text(n), 0, 0])])),
    ...section(3, list(names.map(() => [0]))),
    ...section(7, list(names.map((n, i) => [...text('export of ' + n), 0, ...number(first + i)]))),
    ...section(9, list([[0, 0x41, 0, 0x0b, ...list(names.map((n, i) => number(first + i)))]])),
    ...section(10, list(names.map((n) => { const body = [0, ...functions[n], 0x0b]; return [...number(body.length), ...body]; })))];
  if (options.padding) bytes.push(...section(0, [...text('padding'), ...new Array(options.padding).fill(0)]));
  if (!options.nameless) bytes.push(...section(0, [...text('name'), ...(module ? section(0, text(module)) : []), ...section(1, list(names.map((n, i) => [...number(first + i), ...text(n)])))]));
  const environment = { e: { table: new WebAssembly.Table({ element: 'anyfunc', initial: 4000, maximum: 5000 }), memory: new WebAssembly.Memory({ initial: 1 }), global: new WebAssembly.Global({ value: 'i32', mutable: true }, 0), ...options.functions } };
  const instance = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(bytes)), environment);
  return { call: (n, v) => instance.exports['export of ' + n](v), ...environment.e };
}
const get = (i) => [0x20, i], call = (i) => [0x10, ...number(i)], constant = (n) => [0x41, n], add = [0x6a], sub = [0x6b];
const when = (test, then, other) => [...test, 4, 0x7f, ...then, 5, ...other, 0x0b];
const global = [0x23, 0];

function die(v) {
  const lines = new Error().stack.split('\n').slice(1).filter((s) => s.includes('wasm://')).map((s) => s.trim().slice(3));
  fs.writeSync(1, lines.join('\n') + '\n');
  process.abort();
}

// inner calls JavaScript if the global is set, so that the others can become hot before.
const hot = {
  inner: when(global, [...get(0), ...call(0)], [...get(0), ...constant(1), ...add]),
  middle: [...get(0), ...call(1), ...constant(2), ...add, ...call(1)],
  outer: [...constant(0), 0x1a, ...get(0), ...call(2), ...call(2)],
  recursion: when(get(0), [...get(0), ...constant(1), ...sub, ...call(4)], [...constant(7), ...call(3)]),
  indirect: [...get(0), ...constant(3), 0x11, 0, 0],
};
function run(m) {
  for (let i = 0; i < (kind === 'plain' ? 1 : 200000); i++) m.call('outer', i);
  m.global.value = 1;
}

switch (kind) {
  case 'plain': case 'hot': {
    const m = assemble('shop', hot, { functions: { js: die } });
    run(m);
    m.call('indirect', 5);
    break;
  }
  case 'two': { // two modules: one without names, the other without a name of its own
    const second = assemble('', hot, { functions: { js: die }, padding: 100000 });
    run(second);
    const first = assemble('größe', { 'enter(void)': call1(2), 'a b': call1(1), 'last': [...get(0), ...call(0)] }, { functions: { js: (v) => second.call('indirect', v), other: (v) => v }, imported: ['js', 'other'], nameless: true });
    first.call('last', 3);
    break;
  }
  case 'many': { // functions beyond what one number's byte tells
    const functions = {};
    for (let i = 0; i < 3000; i++) functions['function ' + i] = i === 2999 ? [...get(0), ...call(0)] : [...get(0), ...call(i + 2)];
    assemble('many', functions, { functions: { js: die } }).call('function 2700', 3);
    break;
  }
}
function call1(i) { return [...get(0), ...call(i)]; }
