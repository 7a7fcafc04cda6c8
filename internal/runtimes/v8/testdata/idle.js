// Async functions that wait through promises of all kinds, in a program in which nothing runs; it says which wait at which line, for which others.
'use strict';
const fs = require('fs');
const { Worker, isMainThread, parentPort } = require('worker_threads');
const lines = fs.readFileSync(__filename, 'utf8').split('\n');
const line = (mark) => 1 + lines.findIndex((l) => l.includes('// ' + mark) && l.includes('await'));
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function leaf() {
  await sleep(1e8); // leaf
}
async function other() {
  await sleep(1e8); // other
}
async function all() {
  await Promise.all([leaf(), other(), 7]); // all
}
async function allSettled() {
  await Promise.allSettled([leaf(), other()]); // allSettled
}
async function one() {
  await Promise.all([leaf(), 1, Promise.resolve(2)]); // one
}
async function race() {
  await Promise.race([leaf(), other()]); // race
}
async function any() {
  await Promise.any([leaf(), other(), Promise.reject(1)]); // any
}
async function then() {
  await leaf().then((x) => x).catch(() => 1).finally(() => 2); // then
}
function returns() {
  return (async () => leaf())(); // a promise that an async function returned
}
async function returned() {
  await returns(); // returned
}
async function made() {
  await new Promise((done) => done(leaf())); // made
}
async function nested() {
  await Promise.all([Promise.race([leaf(), other()]), allSettled()]); // nested
}
class Shop {
  #stock = 1;
  static async *items() {
    while (true) yield await leaf(); // items
  }
  async #count() {
    for await (const x of Shop.items()) this.#stock += x; // count
  }
  get total() { return this.#count(); }
}
const shared = leaf();
async function twice(n) {
  await shared; // twice
}
async function thenable() {
  await { then(done) { sleep(1e8).then(done); } }; // thenable
}
async function misled() {
  const never = new Promise(() => {});
  other().then(() => never); // has nothing to do with it
  await never; // misled
}

// These promises are held by those who can resolve them alone.
const events = require('events');
const map = new Map(), set = new Set(), table = { gone: 1, kept: 2 }, far = [], emitter = new events(), proto = { __proto__: {} };
delete table.gone;
class Private { #done; wait() { return new Promise((done) => { this.#done = done; }); } }
const secret = new Private();
async function inMap() {
  await new Promise((done) => map.set('done', done)); // inMap
}
async function inSet() {
  await new Promise((done) => set.add(done)); // inSet
}
async function inTable() {
  await new Promise((done) => { table.done = done; }); // inTable
}
async function farAway() {
  await new Promise((done) => { far[1e7] = done; }); // farAway
}
async function byEvent() {
  await events.once(emitter, 'done'); // byEvent
}
async function byPrototype() {
  await new Promise((done) => { Object.getPrototypeOf(proto).done = done; }); // byPrototype
}
async function byGlobal() {
  await new Promise((done) => { globalThis.done = done; }); // byGlobal
}
async function byField() {
  await secret.wait(); // byField
}
const held = [inMap, inSet, inTable, farAway, byEvent, byPrototype, byGlobal, byField];
if (isMainThread) for (const f of held) f();

const kept = isMainThread ? [all(), allSettled(), one(), race(), any(), then(), returned(), made(), nested(), new Shop().total, twice(1), twice(2), thenable(), misled()] : [all()];
const all_ = 'all of leaf, other', any_ = 'any of leaf, other', nothing = '';
const said = isMainThread ? [
  [['all'], all_], [['leaf'], nothing], [['other'], nothing],
  [['allSettled'], all_], [['leaf'], nothing], [['other'], nothing],
  [['leaf', 'one'], nothing],
  [['race'], any_], [['leaf'], nothing], [['other'], nothing],
  [['any'], any_], [['leaf'], nothing], [['other'], nothing],
  [['leaf', 'then'], nothing], [['leaf', 'returned'], nothing], [['leaf', 'made'], nothing],
  [['nested'], 'all of allSettled'], [['leaf'], nothing], [['other'], nothing], [['allSettled'], all_], [['leaf'], nothing], [['other'], nothing],
  [['leaf', 'items', 'count'], nothing],
  [['leaf', 'twice'], nothing], [['leaf', 'twice'], nothing], [['thenable'], nothing], [['misled'], nothing], [['other'], nothing], ...held.map((f) => [[f.name], nothing]),
] : [[['all'], all_], [['leaf'], nothing], [['other'], nothing], [['leaf'], nothing]]; // the last one is the worker's shared
const say = () => said.map(([chain, what]) => [chain.map((f) => f + ':' + line(f)).join(' < '), what]);
if (process.argv[2] === 'alone') {
  setTimeout(() => fs.writeSync(1, JSON.stringify(say()) + '\n'), 50);
  setInterval(() => [kept, map, set, table, far, emitter, proto, secret], 1e8);
} else if (isMainThread) {
  new Worker(__filename).on('message', (more) => {
    setTimeout(() => fs.writeSync(1, JSON.stringify([...say(), ...more]) + '\n'), 50);
  });
  setInterval(() => [kept, map, set, table, far, emitter, proto, secret], 1e8);
} else {
  setTimeout(() => parentPort.postMessage(say()), 50);
  setInterval(() => [kept, map, set, table, far, emitter, proto, secret], 1e8);
}
