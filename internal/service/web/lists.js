// What lists of groups and dumps have in common.
import { h, table } from "./dom.js";
import { minute, short, size } from "./words.js";

export function state(g) {
  if (g.state === "open") return "";
  const at = g.fixed_release || g.fixed_in;
  return h("span", { class: "badge " + g.state }, g.state + (at ? " in " + short(at, 14) : ""));
}

export function groupLink(g) {
  return [h("a", { href: "#/g/" + g.id }, g.reason || g.kind || "unknown"), " ", state(g),
    g.weak ? h("span", { class: "badge", title: "few function names: it is valid for one build only" }, "weak") : "",
    h("code", { class: "where" }, short(g.where, 240))];
}

// facetList has the attributes beside a list: a value that is clicked is asked for, or not any more.
export function facetList(attributes, has, toggle) {
  const names = { release: 0, channel: 1, os: 2, os_version: 3, arch: 4 };
  const sorted = [...(attributes || [])].sort((a, b) => (names[a.name] ?? 9) - (names[b.name] ?? 9) || (a.name < b.name ? -1 : 1));
  if (!sorted.length) return "";
  return h("aside", { class: "facets", "aria-label": "Attributes of the dumps" }, sorted.map((f) => h("details", { open: (names[f.name] ?? 9) < 3 || has.some((x) => x.startsWith(f.name + ":")) },
    h("summary", {}, f.name),
    h("ul", {}, f.values.map((v) => {
      const text = f.name + ":" + v.value, on = has.includes(text);
      return h("li", {}, h("button", { type: "button", class: "facet", "aria-pressed": String(on), onclick: () => toggle(text, on) }, short(v.value, 60)), " ", h("span", { class: "dim" }, String(v.count)));
    }), f.known > f.values.length ? h("li", { class: "dim" }, `and ${f.known - f.values.length} more`) : ""))));
}

export function dumpTable(dumps) {
  return table("Dumps", [["received"], ["dump"], ["why"], ["program"], ["build"], ["size", "n"]], dumps.map((d) => h("tr", {},
    h("td", {}, minute(d.received)), h("td", {}, h("a", { href: "#/d/" + d.id }, h("code", {}, short(d.name, 40) || d.id.slice(0, 12)))),
    h("td", {}, d.state === "done" ? d.reason || d.fault : h("span", { class: "badge" }, d.state)), h("td", {}, d.program || ""), h("td", {}, h("code", {}, short(d.build, 14))), h("td", { class: "n" }, size(d.size)))));
}
