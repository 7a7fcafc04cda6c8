// Who waits for whom, and memory, as the page of one file shows them: the service sends where everything is.
import { ask } from "./ask.js";
import { h, later } from "./dom.js";
import { s } from "./draw.js";

let drawn = 0; // arrows' heads have names, which are those of a page

// waits shows drawings of boxes with arrows between them, and the same in words.
export function waits(list) {
  return list.length ? h("section", { class: "waits", "aria-label": "Waits" }, h("h3", {}, "Who waits for whom"), list.map((d) => [h("h4", {}, d.title), d.label ? drawing(d) : "",
    (d.lines || []).length ? h("ul", {}, d.lines.map((x) => h("li", {}, x))) : "", d.more ? h("p", { class: "dim" }, d.more) : ""])) : "";
}

function drawing(d) {
  const head = `arrow-${++drawn}`;
  const text = (x) => s("text", { class: x.small ? "label" : "", "text-anchor": "middle", x: x.x, y: x.y }, x.text);
  const ring = (x, name) => name + (x.ring ? " ring" : "");
  return h("figure", { tabindex: 0, "aria-label": d.title }, s("svg", { role: "img", "aria-label": d.label, width: d.wide, height: d.high, viewBox: `0 0 ${d.wide} ${d.high}` },
    s("defs", {}, s("marker", { id: head, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" }, s("path", { d: "M0 0L8 4L0 8z" }))),
    ...(d.arrows || []).flatMap((a) => [s("path", { class: ring(a, "edge"), d: a.d, "marker-end": `url(#${head})` }), ...(a.text ? [text(a.text)] : [])]),
    ...(d.boxes || []).flatMap((b) => [s("rect", { class: ring(b, "node"), x: b.x, y: b.y, width: b.wide, height: b.high, rx: 5 }), ...b.texts.map(text)])));
}

// memory shows what is around the bad address and where registers point, once it is opened.
export function memory(d) {
  return later(h("details", { class: "memory" }, h("summary", {}, "Memory around the bad address and where registers point")), async () => {
    const list = (await ask(`dumps/${d.id}/memory`)).memory || [];
    if (!list.length) return [h("p", { class: "dim" }, "Nothing says of which memory.")];
    return list.map((a, i) => h("details", { open: i === 0 }, h("summary", {}, a.names, " = ", h("code", {}, a.address), " ", h("span", { class: "dim" }, a.place || "")),
      a.rows ? h("pre", { class: "bytes", tabindex: 0, "aria-label": "memory at " + a.address }, a.rows.map((r) => [h("span", {}, r.address), `  ${r.bytes} ${r.text}\n`])) : h("p", { class: "dim" }, "The dump has none of it.")));
  });
}
