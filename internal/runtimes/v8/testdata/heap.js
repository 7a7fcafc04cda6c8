'use strict';
// Makes known numbers of objects, writes V8's own snapshot of the heap to the file argument, and aborts; without one it fills its memory until none is left.
const v8 = require('v8');

class Item { constructor(i) { this.n = i; this.label = 'item ' + i; this.next = null; } }
class Order { constructor(i) { this.id = i; this.items = [new Item(i), new Item(i + 1)]; this.when = i + 0.5; } }
class Special extends Order { constructor(i) { super(i); this.special = true; } }
class Named extends Map {}
class Keyed { constructor(i) { this.a = i; } }
class Lost { constructor(i) { this.a = i; } }
class Leak { constructor(i) { this.i = i; this.text = 'leak' + i; this.list = [i, i + 1]; } }

const file = process.argv[2];
globalThis.kept = [];
for (let i = 0; !file; i++) kept.push(new Leak(i));

globalThis.cache = new Map();
for (let i = 0; i < 5000; i++) cache.set('key' + i, new Order(i));
globalThis.special = [];
for (let i = 0; i < 300; i++) special.push(new Special(i));
globalThis.named = [];
for (let i = 0; i < 70; i++) named.push(new Named([[i, 'n' + i]]));
globalThis.closures = [];
for (let i = 0; i < 3000; i++) closures.push(() => i);
globalThis.buffers = [];
for (let i = 0; i < 50; i++) buffers.push(new ArrayBuffer(100000 + i));
globalThis.big = new Array(300000).fill(0).map((_, i) => i * 2);
globalThis.weakly = new WeakMap();
globalThis.keys = [];
for (let i = 0; i < 100; i++) {
  const k = new Keyed(i);
  keys.push(k);
  weakly.set(k, new Item(-i));
}
let text = '';
for (let i = 0; i < 1000; i++) text += 'abc' + i;
globalThis.text = text;

function lose(n) {
  for (let i = 0; i < n; i++) new Lost(i);
}

function hold() {
  const what = new Order(-1);
  v8.writeHeapSnapshot(file);
  lose(500);
  process.abort();
  return what;
}
hold();
