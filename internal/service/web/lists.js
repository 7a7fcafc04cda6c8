// What lists of groups and dumps have in common.
import { me } from "./ask.js";
import { cells, command, empty, h, outside, table, when } from "./dom.js";
import { plural, short, size } from "./words.js";

export function badge(kind, text, title) { return h("span", { class: "badge " + kind, title }, text); }

// fixedIn is the release or build in which a group is fixed, or was when it came back.
const fixedIn = (g) => g.state === "fixed" || g.state === "regressed" ? g.fixed_release || g.fixed_in || "" : "";

// state says what was decided about a group.
export function state(g) {
  const at = fixedIn(g);
  return badge(g.state, g.state + (at ? (g.state === "fixed" ? " in " : ", was fixed in ") + short(at, 40) : ""));
}

// stateCell is state in a column.
export function stateCell(g) {
  const at = fixedIn(g);
  return [badge(g.state, g.state), at ? h("span", { class: "dim under", title: at.length > 16 ? at : null }, (g.state === "fixed" ? "in " : "was in ") + short(at, 16)) : ""];
}

export const weak = (g) => g.weak ? badge("quiet", "weak", "few function names: it is valid for one build only") : "";

// place shows where something happened: functions, the one that crashed first.
export function place(where, most = 240) {
  if (!where) return "";
  return h("code", { class: "where", title: where.length > most ? short(where, 2000) : null }, short(where, most));
}

export function groupLink(g) {
  return [h("a", { href: "#/g/" + g.id, class: "cause" }, g.reason || g.kind || "unknown"), " ", weak(g), place(g.where)];
}

// releasesOf lists the newest releases of a group.
export function releasesOf(g) {
  const list = g.releases || [], all = g.release_count <= list.length, some = all ? list : list.slice(0, 2);
  return list.length ? [h("span", { class: "lines" }, some.map((x) => h("span", { title: x.length > 18 ? x : null }, short(x, 18)))), all ? "" : h("span", { class: "dim line" }, `and ${g.release_count - some.length} more`)] : "";
}

// person says who looks at a group, and where it is in the tracker.
export function person(g) {
  return [g.assignee ? h("span", { class: "who" }, short(g.assignee, 30)) : h("span", { class: "dim" }, "nobody"), g.ticket ? [" ", outside(g.ticket, "issue")] : ""];
}

// peopleList is of those whom a field with the list "people" offers; others may be written there, too.
export function peopleList(people) { return h("datalist", { id: "people" }, people.map((x) => h("option", { value: x }))); }

// facetList has the attributes beside a list: a value that is clicked is asked for, or not any more.
export function facetList(attributes, has, toggle) {
  const names = { release: 0, channel: 1, os: 2, os_version: 3, arch: 4 };
  const sorted = [...(attributes || [])].sort((a, b) => (names[a.name] ?? 9) - (names[b.name] ?? 9) || (a.name < b.name ? -1 : 1));
  if (!sorted.length) return "";
  return h("aside", { class: "facets", "aria-label": "Attributes of the dumps" }, h("details", { class: "fold", open: matchMedia("(min-width: 900px)").matches }, h("summary", {}, "Attributes"),
    sorted.map((f) => h("details", { open: (names[f.name] ?? 9) < 3 || has.some((x) => x.startsWith(f.name + ":")) },
      h("summary", {}, f.name),
      h("ul", {}, f.values.map((v) => {
        const text = f.name + ":" + v.value, on = has.includes(text);
        return h("li", {}, h("button", { type: "button", class: "facet", "aria-pressed": String(on), onclick: () => toggle(text, on) }, short(v.value, 60)), h("span", { class: "dim" }, v.count.toLocaleString("en")));
      }), f.known > f.values.length ? h("li", { class: "dim" }, `and ${f.known - f.values.length} more`) : "")))));
}

// dumpTable lists dumps; those of one group all have its cause.
export function dumpTable(dumps, one) {
  const cause = (d) => d.state === "done" ? d.fault ? badge("regressed", short(d.fault, 40)) : d.reason : badge(d.state === "aside" ? "regressed" : "quiet", d.state);
  return table("Dumps", [["dump", "what"], ...(one ? [] : [["cause", "reason"]]), ["program"], ["release"], ["build"], ["received"], ["size", "n"]], dumps.map((d) => cells(
    h("a", { href: "#/d/" + d.id }, short(d.name, 60) || h("code", {}, d.id.slice(0, 12))), ...(one ? [] : [cause(d)]),
    d.program || "", h("span", { class: "line" }, short(d.release, 24)), d.build ? h("code", { class: "line", title: d.build }, short(d.build, 14)) : "", when(d.received), size(d.size))));
}

// howToSend says how dumps come here.
export function howToSend() {
  return [h("p", {}, "Send one from a terminal, with a token that may ", h("code", {}, "upload"), ":"),
    command(`curl -H "Authorization: Bearer $TOKEN" --data-binary @core.4242 "${location.origin}/api/v1/projects/${me.who.project}/dumps?name=core.4242&version=1.2.3"`)];
}

export function noDumps() {
  return empty("No dump has come yet.", howToSend(), h("p", {}, "Or ", h("a", { href: "#/upload" }, "choose files on the upload page"), ". Crash clients such as Breakpad and Crashpad send theirs to ", h("code", {}, `${location.origin}/api/${me.who.project}/minidump/`), "."));
}

// chips are the filters of a list, each with a button that drops it.
export function chips(filters, clear) {
  if (!filters.length) return "";
  return h("p", { class: "chips", role: "group", "aria-label": "Filters" }, filters.map((f) => h("button", { type: "button", class: "chip", "aria-label": "Without " + f.text, onclick: f.drop }, h("span", {}, short(f.text, 60)), h("span", { class: "x", "aria-hidden": "true" }, "\u00d7"))),
    filters.length > 1 ? h("button", { type: "button", class: "plain", onclick: clear }, "Drop all") : "");
}

// nothingFound says which filters to drop: those without which there is something. count asks how much there would be.
export function nothingFound(what, filters, clear, count) {
  const list = h("p", { class: "row", role: "status" }, h("span", { class: "dim" }, "Looking for the filter that is too much\u2026"));
  Promise.all(filters.map(async (f) => [f, await count(f)])).then((all) => {
    const some = all.filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]);
    if (!some.length) list.before(h("p", {}, "Not one of them alone is to blame."));
    list.replaceChildren(...some.map(([f, n]) => h("button", { type: "button", onclick: f.drop }, `Without ${short(f.text, 40)}: ${plural(n, what)}`)),
      h("button", { type: "button", class: some.length ? "plain" : null, onclick: clear }, filters.length > 1 ? "Drop all filters" : "Drop the filter"));
  }, (e) => list.replaceChildren(e.message));
  return empty(`No ${what} has all of this.`, h("p", {}, filters.length > 1 ? "Each filter leaves something out." : "The filter leaves everything out:"), list);
}
