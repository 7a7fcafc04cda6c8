// Async functions that wait in all ways; the program says which wait at which line, and aborts.
'use strict';
const fs = require('fs');
const lines = fs.readFileSync(__filename, 'utf8').split('\n');
const line = (mark) => 1 + lines.findIndex((l) => l.includes('// ' + mark) && l.includes('await'));
const never = new Promise(() => {});
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function leaf(n) {
  const text = 'n' + n;
  await never; // leaf
  return text;
}
async function middle(n) {
  const got = await leaf(n); // middle
  return got + 1;
}
async function outer() {
  try {
    await middle(1); // outer
  } finally {
    never.done = true;
  }
}
class Shop {
  async order(id) {
    await 1;
    const v = await sleep(1e6); // order
    return v + id;
  }
}
const arrow = async () => { await never; }; // arrow
async function* produce() {
  yield 1;
  await never; // produce
  yield 2;
}
async function consume() {
  for await (const x of produce()) never.x = x; // consume
}
async function all() {
  await Promise.all([leaf(2), sleep(1e6)]); // all
}
async function done() { await 1; }
async function then() {
  await leaf(3).then((x) => x); // then
}
const kept = [outer(), new Shop().order(7), arrow(), consume(), all(), done(), then()];
setTimeout(function die() {
  const say = (chain) => fs.writeSync(1, JSON.stringify(chain.map(([f, m]) => [f, line(m)])) + '\n');
  say([['leaf', 'leaf'], ['middle', 'middle'], ['outer', 'outer']]);
  say([['order', 'order']]);
  say([['arrow', 'arrow']]);
  say([['produce', 'produce'], ['consume', 'consume']]);
  say([['leaf', 'leaf']]);
  say([['all', 'all']]);
  say([['leaf', 'leaf'], ['then', 'then']]);
  process.abort();
}, 50, kept);
