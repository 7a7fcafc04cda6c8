// The list of groups, and one group.
import { ask, may } from "./ask.js";
import { facts, h, outside, say, table, withLinks } from "./dom.js";
import { spark } from "./draw.js";
import { dumpTable, facetList, groupLink, state } from "./lists.js";
import { act } from "./router.js";
import { reportOf } from "./stacks.js";
import { day, minute, percent, plural, short } from "./words.js";

export async function groups(args, query) {
  const params = new URLSearchParams(query), asked = new URLSearchParams(query), has = params.getAll("has");
  asked.set("limit", 100);
  const [r, saved] = [await ask("groups?" + asked), (await ask("searches")).searches];
  const option = (value, text, now) => h("option", { value, selected: value === now }, text);
  const counted = (all, now) => Object.entries(all).sort((a, b) => b[1] - a[1]).slice(0, 200).map(([k, n]) => option(k, `${k || "unknown"} (${n})`, now));
  const form = h("form", { class: "bar", role: "search", "aria-label": "Groups", onsubmit: (e) => { e.preventDefault(); go(); } },
    h("label", { class: "wide" }, "Search", h("input", { id: "q", name: "q", type: "search", value: params.get("q") || "", autocomplete: "off" })),
    h("label", {}, "Kind", h("select", { name: "kind", onchange: () => go() }, option("", "all", ""), counted(r.kinds, params.get("kind")))),
    h("label", {}, "Program", h("select", { name: "program", onchange: () => go() }, option("", "all", ""), counted(r.programs, params.get("program")))),
    h("label", {}, "State", h("select", { name: "state", onchange: () => go() },
      ["", "all", "open", "regressed", "fixed", "ignored"].map((s) => option(s, s || "not ignored", params.get("state") || "")))),
    Object.keys(r.assignees || {}).length || params.get("assignee") ? h("label", {}, "Assignee", h("select", { name: "assignee", onchange: () => go() }, option("", "all", ""), counted(r.assignees || {}, params.get("assignee")))) : "",
    h("button", {}, "Search"));
  function go(skip, want = has) {
    const q = new URLSearchParams([...new FormData(form)].filter(([, v]) => v));
    if (params.get("build")) q.set("build", params.get("build"));
    for (const x of want) q.append("has", x);
    if (skip) q.set("skip", skip);
    location.hash = "#/?" + q;
  }
  const skip = Number(params.get("skip") || 0);
  const toggle = (text, on) => go(0, on ? has.filter((x) => x !== text) : [...has, text]);
  const list = r.groups.length === 0 ? h("p", {}, "No groups. ", h("a", { href: "#/upload" }, "Upload a dump"), ".") :
    table("Groups of crashes, the largest first", [...(may("triage") ? [["", "pick"]] : []), ["dumps", "n"], ["users", "n"], ["30 days"], ["why and where"], ["first, last"], ["builds", "n"]],
      r.groups.map((g) => h("tr", {}, may("triage") ? h("td", { class: "pick" }, h("input", { type: "checkbox", form: "bulk", name: "group", value: g.id, "aria-label": "Choose " + (g.reason || g.id) })) : "", h("td", { class: "n" }, g.matching ? [g.matching, h("span", { class: "dim" }, ` of ${g.count}`)] : g.count), h("td", { class: "n" }, g.users || ""), h("td", {}, spark(g.trend)), h("td", { class: "what" }, groupLink(g), g.assignee ? h("span", { class: "dim" }, g.assignee + " ") : "", outside(g.ticket, "issue")),
        h("td", { class: "dim date" }, h("span", {}, day(g.first_seen)), h("span", {}, day(g.last_seen))), h("td", { class: "n" }, g.builds))));
  const bulk = may("triage") && r.groups.length ? h("form", { class: "bar", id: "bulk", "aria-label": "The chosen groups", onsubmit: async (e) => {
    e.preventDefault();
    const f = new FormData(bulk), body = { groups: f.getAll("group") };
    if (f.get("state")) body.state = f.get("state");
    if (f.get("assignee")) body.assignee = f.get("assignee");
    if (!body.groups.length) return say("Choose groups first.");
    await act(() => ask("groups", { method: "PUT", body: JSON.stringify(body) }), plural(body.groups.length, "group") + " changed.");
  } }, h("label", {}, "Chosen groups are", h("select", { name: "state" }, option("", "as they are", ""), ["open", "fixed", "ignored"].map((x) => option(x, x, "")))),
    h("label", {}, "and looked at by", h("input", { name: "assignee", maxlength: 100, autocomplete: "off" })), h("button", {}, "Change them")) : "";
  const keep = may("triage") && query ? h("button", { type: "button", onclick: () => {
    const name = prompt("Save this search as");
    if (name) act(() => ask("searches", { method: "POST", body: JSON.stringify({ name, query }) }), "It was saved.");
  } }, "Save this search") : "";
  return [h("h2", {}, plural(r.total, "group"), params.get("build") ? " of build " + params.get("build") : ""),
    saved.length || keep ? h("p", { class: "saved" }, saved.map((x) => [h("a", { href: "#/?" + x.query }, x.name), may("triage") ? h("button", { type: "button", class: "more", "aria-label": "Forget the search " + x.name,
      onclick: () => act(() => ask("searches/" + x.id, { method: "DELETE" }), "It was removed.") }, "\u00d7") : "", " "]), keep) : "", form,
    has.length ? h("p", {}, has.map((x) => [h("button", { type: "button", class: "facet", "aria-label": "Without " + x, onclick: () => toggle(x, true) }, x + " \u00d7"), " "])) : "",
    r.looked_at ? h("p", { class: "bad", role: "status" }, `There are more dumps than were looked at: only the newest ${r.looked_at} with the rarest of these attributes were. Numbers are of those, and groups of older dumps alone are missing.`) : "",
    h("div", { class: "beside" }, facetList(r.attributes, has, toggle), h("div", {}, list, bulk)),
    h("p", {}, skip ? h("button", { type: "button", onclick: () => go(Math.max(0, skip - 100)) }, "Back") : "", " ",
      skip + r.groups.length < r.total ? h("button", { type: "button", onclick: () => go(skip + 100) }, "More") : "")];
}

export async function group([id]) {
  const r = await ask("groups/" + encodeURIComponent(id)), g = r.group;
  const releases = may("triage") ? (await ask("releases")).releases : [], builds = may("triage") ? (await ask("builds")).builds : [];
  const at = (value, text) => h("option", { value, selected: value === (g.fixed_release ? "release " + g.fixed_release : g.fixed_in ? "build " + g.fixed_in : "") }, text);
  document.title = (g.reason || "Group") + " \u2013 Crashes";
  const decide = h("form", { class: "bar", onsubmit: async (e) => {
    e.preventDefault();
    const f = new FormData(e.target), [kind, ...name] = f.get("in").split(" "), where = kind ? { [kind]: name.join(" ") } : {};
    await act(() => ask(`groups/${g.id}/state`, { method: "PUT", body: JSON.stringify({ state: f.get("state"), ...where }) }), "Saved.");
  } }, h("label", {}, "State", h("select", { name: "state" }, ["open", "fixed", "ignored"].map((s) => h("option", { selected: g.state === s || s === "fixed" && g.state === "regressed" }, s)))),
    h("label", {}, "Fixed in", h("select", { name: "in" }, at("", "whatever comes now"), h("optgroup", { label: "Releases" }, releases.slice(0, 500).map((x) => at("release " + x.release, x.release))),
      h("optgroup", { label: "Builds" }, builds.slice(0, 200).map((x) => at("build " + x.build, short(x.build, 20) + (x.release ? ` (${x.release})` : "")))))), h("button", {}, "Save"));
  const announce = h("form", { class: "bar", onsubmit: async (e) => {
    e.preventDefault();
    await act(() => ask("releases", { method: "POST", body: JSON.stringify({ release: new FormData(e.target).get("release") }) }), "It is in the list now.");
  } }, h("label", {}, "A release that is to come", h("input", { name: "release", maxlength: 200, required: true, autocomplete: "off" })), h("button", {}, "Add to the list"));
  const note = h("form", { onsubmit: async (e) => {
    e.preventDefault();
    await act(() => ask(`groups/${g.id}/notes`, { method: "POST", body: JSON.stringify({ text: new FormData(e.target).get("text") }) }), "Noted.");
  } }, h("label", {}, "Note", h("br"), h("textarea", { name: "text", rows: 3, cols: 60, required: true })), h("br"), h("button", {}, "Add"));
  const tracker = (await ask("settings")).tracker, here = location.origin + "/#/g/" + g.id;
  const issue = tracker ? tracker.replaceAll("{title}", encodeURIComponent(g.reason || "")).replaceAll("{group}", encodeURIComponent(g.id)).replaceAll("{url}", encodeURIComponent(here)) : "";
  const send = (path, method, body, said) => act(() => ask(`groups/${g.id}/${path}`, { method, body: body && JSON.stringify(body) }), said);
  const mark = h("form", { class: "bar", onsubmit: (e) => { e.preventDefault(); const f = new FormData(mark); send("mark", "PUT", { assignee: f.get("assignee"), ticket: f.get("ticket").trim() }, "Noted."); } },
    h("label", {}, "Looked at by", h("input", { name: "assignee", value: g.assignee || "", maxlength: 100, autocomplete: "off" })),
    h("label", { class: "wide" }, "Issue", h("input", { name: "ticket", type: "url", value: g.ticket || "", maxlength: 2000, autocomplete: "off", placeholder: "https://" })), h("button", {}, "Note"),
    issue ? h("span", {}, outside(issue, "Make an issue")) : "");
  const merge = h("form", { class: "bar", onsubmit: (e) => { e.preventDefault(); send("merge", "PUT", { into: new FormData(merge).get("into").trim() }, "They are one group now."); } },
    h("label", {}, "The same bug as group", h("input", { name: "into", required: true, maxlength: 64, autocomplete: "off", list: "similar" })), h("datalist", { id: "similar" }, (g.similar || []).map((x) => h("option", { value: x.group }))), h("button", {}, "Merge into it"));
  const parts = g.into ? h("p", {}, "It was merged into ", h("a", { href: "#/g/" + g.into }, g.into), ". ", may("triage") ? h("button", { type: "button", onclick: () => send("merge", "DELETE", null, "It is a group of its own.") }, "Split") : "") :
    (g.merged || []).length ? h("p", {}, "Merged into it: ", g.merged.map((x) => [h("a", { href: "#/g/" + x }, x), " "])) : "";
  return [h("h2", {}, g.reason, " ", state(g)), h("code", { class: "where" }, g.where), parts,
    facts([["Dumps", String(g.count)], ["Seen", `${minute(g.first_seen)} to ${minute(g.last_seen)}`], ["Kind", g.kind], ["Programs", (g.programs || []).join(", ")],
      ["Looked at by", g.assignee], ["Issue", outside(g.ticket)],
      ["Affected", [g.users ? plural(g.users, "user") : "", g.machines ? plural(g.machines, "machine") : ""].filter(Boolean).join(", ")],
      ["First build", h("code", {}, g.first_build || "unknown")], ["Signature", h("code", {}, g.signature)], ["30 days", spark(g.trend)]]),
    g.similar ? h("p", {}, "Probably the same: ", g.similar.map((s) => [h("a", { href: "#/g/" + s.group }, s.group), ` (${Math.round(100 * s.score)} %) `])) : "",
    may("triage") ? [decide, announce, mark, g.into ? "" : merge] : "",
    (r.releases || []).length ? [h("h3", {}, "Releases"), table("Releases", [["release"], ["dumps", "n"], ["30 days"], ["first"], ["last"]], r.releases.slice(0, 50).map((x) => h("tr", {},
      h("td", {}, h("a", { href: "#/?" + new URLSearchParams({ has: "release:" + x.release }) }, x.release)), h("td", { class: "n" }, x.count), h("td", {}, x.trend ? spark(x.trend) : ""), h("td", {}, minute(x.first)), h("td", {}, minute(x.last)))))] : "",
    (r.correlations || []).length ? [h("h3", {}, "What these dumps have more often than others"), table("Correlations", [["attribute"], ["value"], ["here", "n"], ["others", "n"], ["strength", "n"]], r.correlations.map((x) => h("tr", {},
      h("td", {}, x.name), h("td", { class: "what" }, h("a", { href: "#/?" + new URLSearchParams({ has: x.name + ":" + x.value }) }, short(x.value, 80))), h("td", { class: "n" }, percent(x.here)), h("td", { class: "n" }, percent(x.others)),
      h("td", { class: "n" }, h("meter", { min: 0, max: 1, value: x.strength, "aria-label": "strength" }), " " + x.strength.toFixed(2)))))] : "",
    r.report ? [h("h3", {}, "Stack of the dump that represents the group"), reportOf(r.report)] : "",
    h("h3", {}, "Builds"), table("Builds", [["build"], ["dumps", "n"], ["first"], ["last"]], r.builds.map((b) => h("tr", {}, h("td", {}, h("code", {}, b.build)), h("td", { class: "n" }, b.count), h("td", {}, minute(b.first)), h("td", {}, minute(b.last))))),
    h("h3", {}, "Dumps"), dumpTable(r.dumps),
    h("h3", {}, "Notes"), r.notes.map((n) => h("blockquote", {}, h("div", { class: "note" }, withLinks(n.text)), h("div", { class: "dim" }, minute(n.at), " ", n.by || ""))),
    may("triage") ? note : ""];
}
