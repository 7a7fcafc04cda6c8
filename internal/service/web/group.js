// One group: what it is, what people decided about it, and its dumps.
import { ask, may } from "./ask.js";
import { cells, empty, facts, h, outside, table, when, withLinks } from "./dom.js";
import { spark, trendChart } from "./draw.js";
import { dumpTable, peopleList, place, state, weak } from "./lists.js";
import { act } from "./router.js";
import { crashOf, stacksOf } from "./stacks.js";
import { percent, plural, short } from "./words.js";

export async function group([id]) {
  const triage = may("triage");
  const [r, settings, known, built, who] = await Promise.all([ask("groups/" + encodeURIComponent(id)), ask("settings"), triage ? ask("releases") : null, triage ? ask("builds") : null, triage ? ask("people") : null]);
  const g = r.group;
  document.title = (g.reason || "Group") + " \u2013 Crashes";
  const side = h("aside", { class: "side", "aria-label": "What is decided", tabindex: -1 }, triage ? [decideForm(g, known.releases, built.builds), markForm(g, settings.tracker, who.people)] : "",
    facts([["State", triage ? "" : state(g)], ["Assignee", triage ? "" : g.assignee], ["Issue", g.ticket ? outside(g.ticket) : ""],
      ["Programs", (g.programs || []).join(", ")], ["Kind", g.kind], ["First seen", when(g.first_seen)], ["Last seen", when(g.last_seen)], ["First build", g.first_build ? h("code", {}, g.first_build) : ""], ["Signature", h("code", {}, g.signature)], ["Group", h("code", {}, g.id)]]),
    triage ? [g.into ? "" : mergeForm(g), announceForm()] : "");
  return [h("h2", {}, g.reason || g.kind || "unknown", " ", state(g), " ", weak(g)), place(g.where, 2000),
    h("p", { class: "meta" }, h("span", {}, plural(g.count, "dump")), g.users ? h("span", {}, plural(g.users, "user")) : "", g.machines ? h("span", {}, plural(g.machines, "machine")) : "", g.last_seen ? h("span", {}, "last seen ", when(g.last_seen)) : "",
      h("span", {}, g.assignee ? ["looked at by ", h("b", {}, g.assignee)] : "nobody looks at it"),
      triage ? h("button", { type: "button", class: "small jump", onclick: () => { side.scrollIntoView(); side.focus({ preventScroll: true }); } }, "Decide") : ""),
    merged(g),
    h("div", { class: "page" }, h("div", { class: "body" }, crash(r), notes(r.notes, g), dumpsOf(r)), side)];
}

// send changes the group.
const send = (g, path, method, body, said) => act(() => ask(`groups/${g.id}/${path}`, { method, body: body && JSON.stringify(body) }), said);

// crash is why the processes died, and how often that was.
function crash(r) {
  const g = r.group;
  return [r.report ? crashOf(r.report, g.reason) : "", h("h3", {}, "Trend by release"), trendChart(g.trend || [], r.releases || []),
    r.report ? [h("h3", {}, "Stack of the dump that represents the group"), stacksOf(r.report)] : ""];
}

// dumpsOf is what is known of the group's dumps.
function dumpsOf(r) {
  const list = [];
  if ((r.correlations || []).length) {
    list.push(h("h3", {}, "What these dumps have more often than others"), table("Correlations", [["attribute"], ["value", "what"], ["here", "n"], ["others", "n"], ["strength", "n"]], r.correlations.map((x) => cells(x.name,
      h("a", { href: "#/?" + new URLSearchParams({ has: x.name + ":" + x.value }) }, short(x.value, 80)), percent(x.here), percent(x.others),
      [h("meter", { min: 0, max: 1, value: x.strength, "aria-label": "strength" }), " " + x.strength.toFixed(2)]))));
  }
  list.push(h("h3", {}, "Releases"), (r.releases || []).length ? table("Releases", [["release", "what"], ["dumps", "n"], ["30 days", "days"], ["first"], ["last"]], r.releases.slice(0, 50).map((x) => cells(
    h("a", { href: "#/?" + new URLSearchParams({ has: "release:" + x.release }) }, x.release), x.count, x.trend ? spark(x.trend) : "", when(x.first), when(x.last)))) :
    empty("No dump says of which release it is.", h("p", {}, "Send it with the dump, as ", h("code", {}, "version"), ", or ", h("a", { href: "#/builds" }, "name the builds"), ".")));
  list.push(h("h3", {}, "Builds"), r.builds.length ? table("Builds", [["build", "what"], ["release"], ["dumps", "n"], ["first"], ["last"]], r.builds.map((b) => cells(h("code", { class: "line" }, b.build), b.release || "", b.count, when(b.first), when(b.last)))) :
    empty("No dump says of which build it is.", h("p", {}, "Link programs with a build-id (", h("code", {}, "-Wl,--build-id"), "): then symbols are found, and builds are told apart.")));
  list.push(h("h3", {}, "Dumps"), r.dumps.length ? dumpTable(r.dumps, true) : empty("None of its dumps is kept any more.", h("p", {}, "Their counts are.")));
  return list;
}

function merged(g) {
  const link = (x) => h("a", { href: "#/g/" + x }, x);
  return [g.into ? h("p", {}, "It was merged into ", link(g.into), ". ", may("triage") ? h("button", { type: "button", class: "small", onclick: () => send(g, "merge", "DELETE", null, "It is a group of its own.") }, "Split") : "") : "",
    !g.into && (g.merged || []).length ? h("p", {}, "Merged into it: ", g.merged.map((x) => [link(x), " "])) : "",
    g.similar ? h("p", {}, "Probably the same: ", g.similar.map((x) => [link(x.group), " ", h("span", { class: "dim" }, percent(x.score)), " "])) : ""];
}

function notes(list, g) {
  const form = h("form", { class: "stacked", onsubmit: (e) => { e.preventDefault(); send(g, "notes", "POST", { text: new FormData(form).get("text") }, "The note is there."); } },
    h("label", {}, "Write a note", h("textarea", { name: "text", rows: 3, required: true })), h("p", { class: "row" }, h("button", {}, "Add the note")));
  return [h("h3", {}, "Notes"), list.map((n) => h("blockquote", {}, h("div", { class: "note" }, withLinks(n.text)), h("div", { class: "dim" }, when(n.at), n.by ? " by " + n.by : ""))),
    list.length || may("triage") ? "" : h("p", { class: "dim" }, "Nobody has written anything."), may("triage") ? form : ""];
}

function decideForm(g, releases, builds) {
  const at = (value, text) => h("option", { value, selected: value === (g.fixed_release ? "release " + g.fixed_release : g.fixed_in ? "build " + g.fixed_in : "") }, text);
  const form = h("form", { class: "stacked", onsubmit: (e) => {
    e.preventDefault();
    const f = new FormData(form), [kind, ...name] = f.get("in").split(" "), where = kind ? { [kind]: name.join(" ") } : {};
    send(g, "state", "PUT", { state: f.get("state"), ...where }, `The group is ${f.get("state")} now.`);
  } }, h("label", {}, "State", h("select", { name: "state" }, ["open", "fixed", "ignored"].map((x) => h("option", { selected: g.state === x || x === "fixed" && g.state === "regressed" }, x)))),
    h("label", {}, "Fixed in", h("select", { name: "in" }, at("", "whatever comes now"), releases.length ? h("optgroup", { label: "Releases" }, releases.slice(0, 500).map((x) => at("release " + x.release, x.release))) : "",
      builds.length ? h("optgroup", { label: "Builds" }, builds.slice(0, 200).map((x) => at("build " + x.build, short(x.build, 20) + (x.release ? ` (${x.release})` : "")))) : "")), h("p", { class: "row" }, h("button", { class: "main" }, "Save the state")));
  return form;
}

function markForm(g, tracker, people) {
  const here = location.origin + "/#/g/" + g.id;
  const issue = tracker ? tracker.replaceAll("{title}", encodeURIComponent(g.reason || "")).replaceAll("{group}", encodeURIComponent(g.id)).replaceAll("{url}", encodeURIComponent(here)) : "";
  const form = h("form", { class: "stacked", onsubmit: (e) => { e.preventDefault(); const f = new FormData(form); send(g, "mark", "PUT", { assignee: f.get("assignee"), ticket: f.get("ticket").trim() }, "Assignee and issue are kept."); } },
    h("label", {}, "Assignee", h("input", { name: "assignee", value: g.assignee || "", maxlength: 100, autocomplete: "off", list: "people" })), peopleList(people),
    h("label", {}, "Issue", h("input", { name: "ticket", type: "url", value: g.ticket || "", maxlength: 2000, autocomplete: "off", placeholder: "https://" })),
    h("p", { class: "row" }, h("button", {}, "Keep"), issue && !g.ticket ? outside(issue, "Make an issue") : ""));
  return form;
}

function mergeForm(g) {
  const form = h("form", { class: "stacked", onsubmit: (e) => { e.preventDefault(); send(g, "merge", "PUT", { into: new FormData(form).get("into").trim() }, "They are one group now."); } },
    h("label", {}, "The same bug as group", h("input", { name: "into", required: true, maxlength: 64, autocomplete: "off", list: "similar" })), h("datalist", { id: "similar" }, (g.similar || []).map((x) => h("option", { value: x.group }))), h("p", { class: "row" }, h("button", {}, "Merge into it")));
  return h("details", {}, h("summary", {}, "Merge with another group"), form);
}

function announceForm() {
  const form = h("form", { class: "stacked", onsubmit: (e) => { e.preventDefault(); act(() => ask("releases", { method: "POST", body: JSON.stringify({ release: new FormData(form).get("release") }) }), "The release is in the list."); } },
    h("label", {}, "Its name", h("input", { name: "release", maxlength: 200, required: true, autocomplete: "off" })), h("p", { class: "row" }, h("button", {}, "Add to the list")));
  return h("details", {}, h("summary", {}, "Fixed in a release that is to come"), form);
}
