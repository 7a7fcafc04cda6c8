// The list of groups.
import { ask, may } from "./ask.js";
import { h, table, when } from "./dom.js";
import { spark } from "./draw.js";
import { chips, facetList, groupLink, noDumps, nothingFound, peopleList, person, releasesOf, stateCell } from "./lists.js";
import { act } from "./router.js";
import { askText, complain } from "./tell.js";
import { plural, short } from "./words.js";

const some = 100; // on a page

const fields = { q: "text", kind: "kind", program: "program", state: "state", assignee: "assignee", build: "build" };

// filtersOf lists what a query asks for, each with what drops it.
function filtersOf(params) {
  const without = (name, value) => {
    const q = new URLSearchParams([...params].filter(([k, v]) => k !== "skip" && !(k === name && v === value)));
    return { query: q, drop: () => { location.hash = "#/?" + q; } };
  };
  return [...params].filter(([k, v]) => v && (fields[k] || k === "has")).map(([k, v]) => ({ text: k === "has" ? v.replace(":", ": ") : `${fields[k]}: ${v}`, ...without(k, v) }));
}

export async function groups(args, query) {
  const params = new URLSearchParams(query), asked = new URLSearchParams(query), has = params.getAll("has");
  asked.set("limit", some);
  const [r, { searches }, who] = await Promise.all([ask("groups?" + asked), ask("searches"), may("triage") ? ask("people") : null]);
  const skip = Number(params.get("skip") || 0), filters = filtersOf(params), anything = Object.keys(r.kinds).length > 0;
  const toggle = (text, on) => go(form, params, 0, on ? has.filter((x) => x !== text) : [...has, text]);
  const form = searchForm(r, params);
  const title = [h("h2", {}, plural(r.total, "group")), savedSearches(searches, query)];
  if (!anything && !filters.length) return [title, noDumps()];
  const drop = () => { location.hash = "#/"; };
  const list = r.groups.length ? groupTable(r) : filters.length ? nothingFound("group", filters, drop, async (f) => (await ask(`groups?${f.query}&limit=1`)).total) :
    h("div", { class: "empty" }, h("p", { class: "title" }, "Every group is ignored."), h("p", {}, h("a", { href: "#/?state=ignored" }, "Show what is ignored")));
  return [title, form, chips(filters, drop),
    r.looked_at ? h("p", { class: "warn", role: "status" }, `There are more dumps than were looked at: only the newest ${r.looked_at} with the rarest of these attributes were. Numbers are of those, and groups of older dumps alone are missing.`) : "",
    h("div", { class: "beside" }, facetList(r.attributes, has, toggle), h("div", {}, list, r.groups.length && may("triage") ? bulkForm(who.people) : "",
      h("p", { class: "row" }, skip ? h("button", { type: "button", onclick: () => go(form, params, Math.max(0, skip - some), has) }, "Back") : "",
        skip + r.groups.length < r.total ? h("button", { type: "button", onclick: () => go(form, params, skip + some, has) }, "More") : "",
        r.total > some ? h("span", { class: "dim" }, `${skip + 1} to ${skip + r.groups.length} of ${r.total}`) : "")))];
}

// go shows what the form and the attributes ask for.
function go(form, params, skip, has) {
  const q = new URLSearchParams([...new FormData(form)].filter(([, v]) => v));
  if (params.get("build")) q.set("build", params.get("build"));
  for (const x of has) q.append("has", x);
  if (skip) q.set("skip", skip);
  location.hash = "#/?" + q;
}

function searchForm(r, params) {
  const has = params.getAll("has"), again = () => go(form, params, 0, has);
  const option = (value, text, now) => h("option", { value, selected: value === now }, text);
  const counted = (all, now) => [...(now && !Object.hasOwn(all, now) ? [[now, 0]] : []), ...Object.entries(all)].sort((a, b) => b[1] - a[1]).slice(0, 200).map(([k, n]) => option(k, `${short(k, 40) || "unknown"} (${n})`, now));
  const select = (label, name, ...options) => h("label", {}, label, h("select", { name, onchange: again }, options));
  const form = h("form", { class: "bar", role: "search", "aria-label": "Groups", onsubmit: (e) => { e.preventDefault(); again(); } },
    h("label", { class: "wide" }, "Search", h("input", { id: "q", name: "q", type: "search", value: params.get("q") || "", autocomplete: "off", placeholder: "cause, function or group" })), h("button", {}, "Search"),
    select("Kind", "kind", option("", "all", ""), counted(r.kinds, params.get("kind"))),
    select("Program", "program", option("", "all", ""), counted(r.programs, params.get("program"))),
    select("State", "state", ["", "all", "open", "regressed", "fixed", "ignored"].map((x) => option(x, x || "not ignored", params.get("state") || ""))),
    Object.keys(r.assignees || {}).length || params.get("assignee") ? select("Assignee", "assignee", option("", "all", ""), counted(r.assignees || {}, params.get("assignee"))) : "");
  return form;
}

function savedSearches(searches, query) {
  const save = async () => {
    const name = await askText("Save this search", "Name", "Save");
    if (name) await act(() => ask("searches", { method: "POST", body: JSON.stringify({ name, query }) }), "The search is saved.");
  };
  const keep = may("triage") && query ? h("button", { type: "button", class: "small", onclick: save }, "Save this search") : "";
  if (!searches.length && !keep) return "";
  return h("p", { class: "saved" }, searches.length ? h("span", { class: "dim" }, "Saved:") : "", searches.map((x) => h("span", { class: "search" }, h("a", { href: "#/?" + x.query, "aria-current": x.query === query ? "true" : null }, x.name),
    may("triage") ? h("button", { type: "button", class: "plain small", "aria-label": "Forget the search " + x.name, onclick: () => act(() => ask("searches/" + x.id, { method: "DELETE" }), "The search is forgotten.") }, "\u00d7") : "")), keep);
}

function groupTable(r) {
  const triage = may("triage"), all = triage ? h("input", { type: "checkbox", "aria-label": "Choose all on this page", onchange: () => {
    for (const x of document.querySelectorAll("input[name=group]")) x.checked = all.checked;
    chosen();
  } }) : "";
  const row = (g) => h("tr", {}, triage ? h("td", {}, h("input", { type: "checkbox", form: "bulk", name: "group", value: g.id, "aria-label": "Choose " + (g.reason || g.id), onchange: chosen })) : "",
    h("td", {}, groupLink(g)),
    h("td", {}, (g.programs || []).slice(0, 2).map((x) => short(x, 24)).join(", "), (g.programs || []).length > 2 ? h("span", { class: "dim" }, ` and ${g.programs.length - 2} more`) : ""),
    h("td", {}, spark(g.trend)),
    h("td", {}, h("b", {}, (g.matching || g.count).toLocaleString("en")), g.matching ? h("span", { class: "dim" }, ` of ${g.count}`) : "", g.users ? h("span", { class: "dim under" }, plural(g.users, "user")) : ""),
    h("td", {}, releasesOf(g)),
    h("td", {}, when(g.last_seen)),
    h("td", {}, stateCell(g)), h("td", {}, person(g)));
  return table("Groups of crashes, the largest first", [...(triage ? [[all, "pick"]] : []), ["cause and place", "what"], ["program", "narrow"], ["30 days", "days"], ["dumps", "n"], ["releases"], ["last seen"], ["state"], ["assignee"]], r.groups.map(row));
}

// chosen shows the form for the chosen groups while there are some.
function chosen() {
  const n = document.querySelectorAll("input[name=group]:checked").length, bulk = document.getElementById("bulk");
  bulk.hidden = n === 0;
  bulk.querySelector(".count").textContent = plural(n, "group") + " chosen";
}

function bulkForm(people) {
  const bulk = h("form", { class: "bar floating", id: "bulk", hidden: true, "aria-label": "The chosen groups", onsubmit: async (e) => {
    e.preventDefault();
    const f = new FormData(bulk), body = { groups: f.getAll("group") };
    if (f.get("state")) body.state = f.get("state");
    if (f.get("assignee")) body.assignee = f.get("assignee");
    if (!body.groups.length) return complain("Choose groups first.");
    await act(() => ask("groups", { method: "PUT", body: JSON.stringify(body) }), plural(body.groups.length, "group") + " changed.");
  } }, h("span", { class: "count", role: "status" }), h("label", {}, "State", h("select", { name: "state" }, h("option", { value: "" }, "as it is"), ["open", "fixed", "ignored"].map((x) => h("option", {}, x)))),
    h("label", {}, "Assignee", h("input", { name: "assignee", maxlength: 100, autocomplete: "off", placeholder: "as it is", list: "people" })), peopleList(people), h("button", { class: "main" }, "Change them"));
  return bulk;
}
