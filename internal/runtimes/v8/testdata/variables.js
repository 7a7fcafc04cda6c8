'use strict';
// variables.js has variables of all kinds on its stack, and aborts.
class Point {
  constructor(x, y) { this.x = x; this.y = y; }
  doubled(self) { const twice = this.x * 2; show(twice, self); return twice; }
}
function show(a, /* a comment, (with) parts */ b) {
  const sum = a + 0.5, big = -123456789012345678901234567890n, text = 'hi "there"\n', wide = 'naïve 漢字';
  const array = [1, 2.5, 'x', null, undefined, true], doubles = [1.5, 2.5], hole = [1, , 3], long = Array.from({ length: 99 }, (_, i) => i);
  const map = new Map([['a', 1], [2, 'b']]), set = new Set([1, 'q']), arrow = (z) => z, re = /ab+c/gi, date = new Date(86400000);
  map.set('gone', 1).delete('gone');
  const symbol = Symbol('sy'), dict = Object.create(null), promise = Promise.resolve(3), waits = new Promise(() => {}), err = new TypeError('bad');
  dict.k = 1;
  dict['two words'] = 2;
  const small = -7, zero = -0, huge = 1e21, nan = NaN, nested = { a: { b: { c: { d: { e: 1 } } } }, 0: 'el', get acc() { return 1; }, [symbol]: 5 };
  const circle = { name: 'c' };
  circle.self = circle;
  const weak = new WeakMap(), bytes = new Uint8Array(3), sliced = ('0123456789'.repeat(5) + text).slice(3, 40), joined = 'a'.repeat(20) + a;
  const secret = new (class Secret { #field = 5; '#text' = 6; #method() {} })(), slow = new RangeError('slow');
  slow.first = 1;
  slow.second = 2;
  delete slow.first; // the error has its properties in a table now
  {
    const inner = 'in a block';
    let later;
    const uses = () => [sum, big, text, wide, array, doubles, hole, long, map, set, arrow, re, date, symbol, dict, promise, waits, err, small, zero, huge,
      nan, nested, circle, weak, bytes, sliced, joined, secret, slow, inner, later, never];
    process.abort();
    const never = 1;
    return uses;
  }
}
function outer(n, ...rest) {
  const plain = 'in a register';
  new Point(n, 4).doubled({ n, plain, rest });
  return [plain];
}
function defaults(first, second = [')', 1], { third } = {}) { outer(first); }
const single = given => defaults(given, 2);
single(7);
