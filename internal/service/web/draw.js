// Pictures.
import { h } from "./dom.js";
import { plural } from "./words.js";

const namespace = "http://www.w3.org/2000/svg";

export function s(tag, attrs, ...children) {
  const el = document.createElementNS(namespace, tag);
  for (const [name, value] of Object.entries(attrs)) el.setAttribute(name, value);
  el.append(...children);
  return el;
}

// spark draws how many dumps came on each day.
export function spark(trend) {
  const most = Math.max(1, ...trend), wide = 3 * trend.length;
  return s("svg", { class: "spark", viewBox: `0 0 ${wide} 22`, role: "img", "aria-label": `${plural(trend.reduce((a, b) => a + b, 0), "dump")} in ${trend.length} days, at most ${most} a day, ${trend[trend.length - 1]} today` },
    s("rect", { class: "floor", x: 0, y: 21, width: wide, height: 1 }),
    ...trend.flatMap((n, i) => { const tall = Math.max(2, 20 * n / most); return n ? [s("rect", { x: 3 * i, y: 21 - tall, width: 2, height: tall })] : []; }));
}

// series are how many releases have a colour of their own; those that come after are drawn as one.
const series = 5;
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// split has the days of a trend by releases: the newest, what is of others, and of none.
function split(trend, releases) {
  const out = releases.filter((r) => r.trend && r.trend.some((n) => n)).slice(0, series).map((r) => ({ name: r.release, days: r.trend }));
  const left = trend.map((n, i) => Math.max(0, n - out.reduce((a, r) => a + (r.days[i] || 0), 0)));
  if (left.some((n) => n)) out.push({ name: out.length ? "others, or none" : "all dumps", days: left, others: out.length > 0 });
  return out;
}

// step is the distance of an axis's marks: 1, 2 or 5 times a power of ten, for some four of them.
function step(most) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, most / 4)));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => most / n <= 4) || power;
}

// trendChart draws how many dumps came on each day, by releases, with what the axes are. The numbers are there as a table too. A day is that of UTC.
export function trendChart(trend, releases, today = new Date()) {
  const parts = split(trend, releases), all = trend.reduce((a, b) => a + b, 0);
  if (!all) return h("p", { class: "dim" }, `No dump came in the last ${trend.length} days.`);
  const wide = Math.max(320, Math.min(820, document.getElementById("main").clientWidth - 8)), tall = 196, left = 40, low = 26, top = 28;
  const date = (i) => new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate() - (trend.length - 1 - i)));
  const name = (i) => `${date(i).getUTCDate()} ${months[date(i).getUTCMonth()]}`;
  const most = Math.max(...trend), gap = step(most), end = Math.ceil(most / gap) * gap;
  const x = (i) => left + i * (wide - left) / trend.length, y = (n) => tall - low - n / end * (tall - low - top), bar = (wide - left) / trend.length;
  const marks = [];
  for (let n = 0; n <= end; n += gap) marks.push(s("line", { class: n ? "grid" : "axis", x1: left, x2: wide, y1: y(n), y2: y(n) }), s("text", { x: left - 6, y: y(n) + 4, "text-anchor": "end" }, String(n)));
  for (let i = trend.length - 1; i >= 0; i -= 7) marks.push(s("text", { x: x(i) + bar / 2, y: tall - 8, "text-anchor": i === trend.length - 1 ? "end" : "middle" }, i === trend.length - 1 ? "today" : name(i)));
  const bars = trend.map((n, i) => {
    let at = 0;
    const stack = parts.flatMap((p, k) => {
      const m = p.days[i] || 0;
      if (!m) return [];
      const r = s("rect", { class: "part " + (p.others ? "rest" : "s" + k), x: x(i) + bar * 0.12, width: bar * 0.76, y: y(at + m), height: Math.max(1, y(at) - y(at + m)) });
      at += m;
      return [r];
    });
    return s("g", {}, s("title", {}, `${name(i)}: ${plural(n, "dump")}${n ? " (" + parts.filter((p) => p.days[i]).map((p) => `${p.name}: ${p.days[i]}`).join(", ") + ")" : ""}`), s("rect", { class: "day", x: x(i), width: bar, y: top, height: tall - low - top }), ...stack);
  });
  const numbers = h("details", {}, h("summary", {}, "The numbers"), h("table", { class: "numbers" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "day"), parts.map((p) => h("th", { scope: "col", class: "n" }, p.name)))),
    h("tbody", {}, trend.flatMap((n, i) => n ? [h("tr", {}, h("th", { scope: "row" }, name(i)), parts.map((p) => h("td", { class: "n" }, p.days[i] || 0)))] : []))));
  return h("figure", { class: "trend" },
    s("svg", { viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": `${plural(all, "dump")} from ${name(0)} to ${name(trend.length - 1)}, by release and day: ${parts.map((p) => `${p.name} ${p.days.reduce((a, b) => a + b, 0)}`).join(", ")}` },
      s("text", { x: 0, y: 11 }, "dumps a day"), ...marks, ...bars),
    h("figcaption", {}, h("ul", { class: "legend", "aria-label": "Releases" }, parts.map((p, k) => h("li", {}, h("span", { class: "swatch " + (p.others ? "rest" : "s" + k) }), p.name))), numbers));
}
