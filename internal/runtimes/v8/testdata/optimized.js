// Functions that a compiler has made: arguments that the function changed, more arguments than it has, loops, methods.
'use strict';
const left = [-1];
function die() {
  if (left[0]-- === 0) process.abort();
}
%NeverOptimizeFunction(die);
function plain(a, b) {
  die();
  return a + b;
}
function changed(a, b) {
  a = a + b;
  die();
  return a * b;
}
function looped(n) {
  let sum = 0;
  for (let i = 0; i < 3; i++) sum += n;
  n = sum;
  die();
  return n + sum;
}
function destructured(a, { b }) {
  [a, b] = [b, a];
  die();
  return a - b;
}
function extra(a) {
  die();
  return arguments.length + a;
}
function captured(a) {
  const get = () => a;
  a = a + 1;
  die();
  return get();
}
class Point {
  constructor(x) { this.x = x; }
  move(by) {
    die();
    return this.x + by;
  }
}
const point = new Point(3);
function pair(a, b) { return looped(a) + b; }
function all(k) {
  return plain(k, 2) + changed(k, 5) + looped(k) + destructured(k, { b: 5 }) + extra(k, 'more') + captured(k) + point.move(k) + pair(k, 1);
}
const made = [plain, changed, looped, destructured, extra, captured, point.move, pair];
for (const f of made) %PrepareFunctionForOptimization(f);
for (let i = 0; i < 20; i++) all(7);
for (const f of made) process.argv[2] === 'maglev' ? %OptimizeMaglevOnNextCall(f) : %OptimizeFunctionOnNextCall(f);
all(7);
left[0] = Number(process.argv[3]);
all(7);
