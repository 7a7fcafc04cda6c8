"use strict";
// The page of a crash service. It asks the JSON interface below /api/v1/ and builds elements from what it gets: text from dumps is
// only ever set as text.

const main = document.getElementById("main");
let who = null; // project, scopes

// h makes an element. Attributes that begin with "on" are listeners; null ones are left out.
function h(tag, attrs, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else el.setAttribute(name, value === true ? "" : value);
  }
  for (const c of children.flat(9)) {
    if (c !== null && c !== undefined && c !== "") el.append(c);
  }
  return el;
}

function say(text) { document.getElementById("said").textContent = text; }

// ask asks the interface about the project.
async function ask(path, options = {}) {
  const headers = { "X-Requested-With": "corewalk", ...(options.headers || {}) };
  const r = await fetch(who ? `/api/v1/projects/${who.project}/${path}` : path, { ...options, headers });
  if (!r.ok) {
    let why = r.statusText;
    try { why = (await r.json()).error || why; } catch { /* not JSON */ }
    const e = new Error(why);
    e.status = r.status;
    throw e;
  }
  return (r.headers.get("Content-Type") || "").startsWith("application/json") ? r.json() : null;
}

const may = (scope) => who && who.scopes.includes(scope);
const minute = (t) => t && !t.startsWith("0001") ? t.slice(0, 16).replace("T", " ") : "";
const day = (t) => minute(t).slice(0, 10);
const short = (s, n) => s && s.length > n ? s.slice(0, n - 1) + "\u2026" : s || "";
const plural = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

function size(n) {
  for (const unit of ["bytes", "KiB", "MiB", "GiB"]) {
    if (n < 1024 || unit === "GiB") return `${n < 10 && unit !== "bytes" ? n.toFixed(1) : Math.round(n)} ${unit}`;
    n /= 1024;
  }
}

// spark draws how many dumps came on each day.
function spark(trend) {
  const ns = "http://www.w3.org/2000/svg", most = Math.max(1, ...trend);
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("class", "spark");
  svg.setAttribute("viewBox", `0 0 ${trend.length * 3} 20`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `dumps a day, ${trend.length} days: ${trend.join(", ")}`);
  trend.forEach((n, i) => {
    if (!n) return;
    const r = document.createElementNS(ns, "rect"), tall = Math.max(2, 20 * n / most);
    for (const [k, v] of Object.entries({ x: 3 * i, y: 20 - tall, width: 2, height: tall })) r.setAttribute(k, v);
    svg.append(r);
  });
  return svg;
}

function state(g) {
  if (g.state === "open") return "";
  const at = g.fixed_release || g.fixed_in;
  return h("span", { class: "badge " + g.state }, g.state + (at ? " in " + short(at, 14) : ""));
}

// facetList has the attributes beside a list: a value that is clicked is asked for, or not any more.
function facetList(attributes, has, toggle) {
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

// withLinks makes links of the addresses in a text.
function withLinks(text) {
  return text.split(/(https?:\/\/[^\s<>"']+)/).map((part, i) => i % 2 ? h("a", { href: part, rel: "noopener noreferrer nofollow", target: "_blank" }, part) : part);
}

// outside is a link to elsewhere; only to what is one.
function outside(url, text) {
  return /^https?:\/\//.test(url || "") ? h("a", { href: url, rel: "noopener noreferrer", target: "_blank" }, text || url) : url || "";
}

// percent shows a share.
const percent = (x) => `${Math.round(100 * x)} %`;

function groupLink(g) {
  return [h("a", { href: "#/g/" + g.id }, g.reason || g.kind || "unknown"), " ", state(g),
    g.weak ? h("span", { class: "badge", title: "few function names: it is valid for one build only" }, "weak") : "",
    h("code", { class: "where" }, short(g.where, 240))];
}

function facts(list) {
  return h("dl", {}, list.filter(([, v]) => v !== "" && v !== null && v !== undefined && v.length !== 0).map(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]));
}

function table(caption, heads, rows) {
  return h("table", { class: "list" }, h("caption", { class: "skip" }, caption),
    h("thead", {}, h("tr", {}, heads.map(([name, cls]) => h("th", { scope: "col", class: cls }, name)))),
    h("tbody", {}, rows));
}

// The pages, by the first word after #/.
const pages = {
  async ""(args, query) {
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
  },

  async g([id]) {
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
  },

  async dumps(args, query) {
    const r = await ask("dumps?" + query);
    const last = r.dumps[r.dumps.length - 1], params = new URLSearchParams(query), has = params.getAll("has");
    const attributes = (await ask("attributes")).attributes;
    const toggle = (text, on) => { location.hash = "#/dumps?" + new URLSearchParams((on ? has.filter((x) => x !== text) : [...has, text]).map((x) => ["has", x])); };
    if (last) params.set("before", last.received);
    return [h("h2", {}, "Dumps, the newest first"), h("div", { class: "beside" }, facetList(attributes, has, toggle), h("div", {}, dumpTable(r.dumps),
      r.dumps.length === 100 ? h("p", {}, h("a", { href: "#/dumps?" + params }, "Older")) : ""))];
  },

  async d([id]) {
    const d = await ask("dumps/" + encodeURIComponent(id));
    const about = h("div", {}), stacks = h("div", {}, h("p", { role: "status" }, "Opening the dump\u2026"));
    const failed = (to) => (e) => to.replaceChildren(h("p", { class: "bad" }, e.message));
    const list = h("div", {});
    entries(list, `dumps/${d.id}/stacks?`, "stacks", 50, (s, n) => stack(d.id, s, n)).then(() => stacks.replaceChildren(h("h3", {}, "Threads and tasks"), list)).catch(failed(stacks));
    ask(`dumps/${d.id}/about`).then((r) => about.replaceChildren(reportOf(r.about || {}), ...((r.about || {}).warnings || []).slice(0, 20).map((w) => h("p", { class: "dim" }, w.message))))
      .catch((e) => stacks.querySelector(".bad") ? null : failed(about)(e)); // it is said once
    return [h("h2", {}, "Dump ", h("code", {}, d.id)),
      facts([["Name", d.name], ["Size", size(d.size)], ["Received", minute(d.received) + (d.times > 1 ? `, ${d.times} times` : "")], ["State", d.state + (d.why ? ": " + d.why : "")],
        ["Group", d.group ? h("a", { href: "#/g/" + d.group }, d.reason || d.group) : ""], ["Fault", d.fault], ["Program", d.program], ["Build", d.build ? h("code", {}, d.build) : ""], ["Release", d.release],
        ["Attributes", (d.attributes || []).map((a) => [h("a", { href: "#/dumps?" + new URLSearchParams({ has: a.name + ":" + a.value }) }, `${a.name}: ${short(a.value, 80)}`), h("br")])],
        ...Object.entries(d.annotations || {}).map(([k, v]) => [k, v])]),
      h("p", {}, h("a", { href: `/api/v1/projects/${who.project}/dumps/${d.id}/file`, download: true }, "Download"), " ",
        h("a", { href: `/api/v1/projects/${who.project}/dumps/${d.id}/report?format=html`, target: "_blank", rel: "noopener" }, "Whole report as a page"), " ",
        may("triage") && d.state !== "working" ? h("button", { type: "button", onclick: () => act(() => ask(`dumps/${d.id}/again`, { method: "POST" }), "It is analysed again.") }, "Analyse again") : ""),
      about, stacks];
  },

  async builds(args, query) {
    const r = await ask("builds"), releases = (await ask("releases")).releases, params = new URLSearchParams(query), a = params.get("a"), b = params.get("b"), by = params.get("by") || "build";
    const pickRelease = (name, now) => h("label", {}, name === "a" ? "Older release" : "Newer release", h("select", { name }, releases.slice(0, 500).map((x) => h("option", { value: x.release, selected: x.release === now }, `${short(x.release, 40)} (${x.count})`))));
    const nameIt = (x) => { const release = prompt(`Of which release is build ${x.build}?`, x.release || ""); if (release) act(() => ask("builds/" + encodeURIComponent(x.build), { method: "PUT", body: JSON.stringify({ release }) }), "The build has a name."); };
    const pick = (name, now) => h("label", {}, name === "a" ? "Older build" : "Newer build", h("select", { name }, r.builds.map((x) => h("option", { value: x.build, selected: x.build === now }, `${short(x.build, 20)} ${x.program || ""} (${x.count})`))));
    const out = [h("h2", {}, "Builds"),
      h("form", { class: "bar", onsubmit: (e) => { e.preventDefault(); location.hash = "#/builds?" + new URLSearchParams([...new FormData(e.target)]); } }, pick("a", by === "build" && a || (r.builds[1] || {}).build), pick("b", by === "build" && b || (r.builds[0] || {}).build), h("button", {}, "Compare"))];
    if (releases.length > 1) out.push(h("form", { class: "bar", onsubmit: (e) => { e.preventDefault(); location.hash = "#/builds?by=release&" + new URLSearchParams([...new FormData(e.target)]); } },
      pickRelease("a", by === "release" && a || releases[1].release), pickRelease("b", by === "release" && b || releases[0].release), h("button", {}, "Compare releases")));
    if (a && b && a !== b) {
      const c = await ask("compare?" + new URLSearchParams({ by, a, b }));
      out.push(h("h3", {}, "Compared"), table("Groups of two builds", [["what"], ["older", "n"], ["newer", "n"], ["why and where"]], c.groups.map((g) => h("tr", {},
        h("td", {}, h("span", { class: "badge " + (g.a === 0 ? "bad" : g.b === 0 ? "good" : "dim") }, g.a === 0 ? "new" : g.b === 0 ? "gone" : "both")),
        h("td", { class: "n" }, g.a), h("td", { class: "n" }, g.b), h("td", { class: "what" }, groupLink(g))))));
      return out;
    }
    if (releases.length) out.push(h("h3", {}, "Releases"), table("Releases", [["release"], ["dumps", "n"], ["first"], ["last"]], releases.slice(0, 500).map((x) => h("tr", {},
      h("td", {}, h("a", { href: "#/?" + new URLSearchParams({ has: "release:" + x.release }) }, x.release)), h("td", { class: "n" }, x.count), h("td", {}, x.first ? minute(x.first) : "to come"), h("td", {}, x.last ? minute(x.last) : "")))));
    out.push(h("h3", {}, "All builds"), table("Builds", [["build"], ["release"], ["program"], ["dumps", "n"], ["first"], ["last"]], r.builds.map((x) => h("tr", {},
      h("td", {}, h("a", { href: "#/?build=" + encodeURIComponent(x.build) }, h("code", {}, x.build))),
      h("td", {}, x.release || "", " ", may("triage") ? h("button", { type: "button", class: "more", "aria-label": "Name build " + x.build, onclick: () => nameIt(x) }, x.release ? "rename" : "name it") : ""),
      h("td", {}, x.program || ""), h("td", { class: "n" }, x.count), h("td", {}, minute(x.first)), h("td", {}, minute(x.last))))));
    return out;
  },

  async upload() {
    const list = h("ul", {});
    const input = h("input", { type: "file", id: "files", multiple: true, onchange: () => send([...input.files]) });
    const drop = h("div", { class: "drop",
      ondragover: (e) => { e.preventDefault(); drop.classList.add("over"); }, ondragleave: () => drop.classList.remove("over"),
      ondrop: (e) => { e.preventDefault(); drop.classList.remove("over"); send([...e.dataTransfer.files]); } },
      h("p", {}, h("label", { for: "files" }, "Drop dumps here, or choose them: "), input), h("p", { class: "dim" }, "ELF cores, minidumps and packs, also compressed"));
    async function send(files) {
      for (const f of files) {
        const bar = h("progress", { max: Math.max(f.size, 1), value: 0, "aria-label": "sent of " + f.name }), text = h("span", {}, f.name + ": sending");
        list.append(h("li", {}, text, bar));
        try {
          const id = await resumable(f, (n) => { bar.value = n; });
          bar.remove();
          text.replaceChildren(f.name + ": ", h("a", { href: "#/d/" + id }, "sent"));
          say(f.name + " was sent.");
        } catch (e) {
          text.textContent = `${f.name}: ${e.message}`;
          say(`${f.name} was not sent: ${e.message}`);
        }
      }
    }
    return [h("h2", {}, "Upload dumps"), may("upload") ? drop : h("p", {}, "This token may not upload."), list];
  },

  async notify() {
    if (!may("admin")) return [h("h2", {}, "Notifications"), h("p", {}, "This token may not see them.")];
    const r = await ask("hooks");
    const kinds = { webhook: "webhook: JSON, signed", chat: "chat: Slack, Mattermost and others", ...(r.mail ? { mail: "mail" } : {}) };
    const events = { new: "a new group", regressed: "one that was fixed is back", spiking: "many more dumps of one than usual" };
    const form = h("form", { class: "bar", onsubmit: async (e) => {
      e.preventDefault();
      const f = new FormData(form);
      try {
        const made = await ask("hooks", { method: "POST", body: JSON.stringify({ kind: f.get("kind"), to: f.get("to").trim(), events: f.getAll("event"), quiet: f.get("quiet").trim() }) });
        await show(true);
        if (made.kind !== "mail") document.getElementById("made").append("The key of its signatures, which is not shown again: ", h("code", { id: "secret" }, made.secret));
      } catch (err) { say(err.message); }
    } }, h("label", {}, "Kind", h("select", { name: "kind" }, Object.entries(kinds).map(([k, text]) => h("option", { value: k }, text)))),
      h("label", { class: "wide" }, "Where to: a URL, or an address", h("input", { name: "to", required: true, maxlength: 2000, autocomplete: "off" })),
      h("fieldset", {}, h("legend", {}, "Is told of"), Object.entries(events).map(([k, text]) => h("label", { class: "check" }, h("input", { type: "checkbox", name: "event", value: k, checked: true }), text))),
      h("label", {}, "Quiet hours, if any", h("input", { name: "quiet", placeholder: "22:00-07:00 Europe/Berlin", maxlength: 80, autocomplete: "off" })), h("button", {}, "Add"));
    const remove = (x) => confirm(`Tell ${x.to} nothing any more?`) && act(() => ask("hooks/" + x.id, { method: "DELETE" }), "It was removed.");
    const tracker = h("form", { class: "bar", onsubmit: (e) => { e.preventDefault(); act(() => ask("settings", { method: "PUT", body: JSON.stringify({ tracker: new FormData(tracker).get("tracker").trim() }) }), "It was kept."); } },
      h("label", { class: "wide" }, "New issues are made at a URL with {title}, {group} and {url}", h("input", { name: "tracker", value: (await ask("settings")).tracker, maxlength: 2000, autocomplete: "off", placeholder: "https://tracker.example/new?title={title}&body={url}" })), h("button", {}, "Keep"));
    return [h("h2", {}, "Notifications"), h("p", { id: "made" }), form,
      r.hooks.length === 0 ? h("p", {}, "Nobody is told of anything yet.") : table("Who is told", [["to"], ["kind"], ["of"], ["quiet hours"], ["last failure"], [""]], r.hooks.map((x) => h("tr", {},
        h("td", { class: "what" }, x.to), h("td", {}, x.kind), h("td", {}, x.events.join(", ")), h("td", {}, x.quiet || ""),
        h("td", {}, x.failure ? h("span", { class: "bad" }, `${minute(x.failed)}: ${x.failure}`) : "", x.dropped ? ` ${x.dropped} not sent` : ""),
        h("td", {}, h("button", { type: "button", "aria-label": "Test " + x.to, onclick: () => act(() => ask(`hooks/${x.id}/test`, { method: "POST" }), "A test is on its way.") }, "Test"), " ",
          h("button", { type: "button", "aria-label": "Remove " + x.to, onclick: () => remove(x) }, "Remove"))))), h("h3", {}, "Tracker of issues"), tracker];
  },

  async tokens() {
    if (!may("admin")) return [h("h2", {}, "Tokens"), h("p", {}, "This token may not see them.")];
    const r = await ask("tokens"), made = h("p", { role: "status" });
    const scopes = Object.entries({ upload: "send dumps", symbols: "send symbols", fetch: "get symbols", read: "see everything", triage: "decide about groups", admin: "make tokens, remove dumps" });
    const form = h("form", { class: "bar", onsubmit: async (e) => {
      e.preventDefault();
      const f = new FormData(form);
      try {
        const t = await ask("tokens", { method: "POST", body: JSON.stringify({ scopes: f.getAll("scope"), note: f.get("note") }) });
        const text = h("code", { id: "secret" }, t.token);
        await show(true);
        document.getElementById("made").append("The new token, which is not shown again: ", text);
      } catch (err) { made.textContent = err.message; say(err.message); }
    } }, h("fieldset", {}, h("legend", {}, "A new token may"), scopes.map(([s, what]) => h("label", { class: "check" }, h("input", { type: "checkbox", name: "scope", value: s }), `${s}: ${what}`))),
      h("label", { class: "wide" }, "Note: who or what has it", h("input", { name: "note", maxlength: 200, autocomplete: "off" })), h("button", {}, "Make it"));
    const revoke = (t) => confirm(`Revoke ${t.note || t.id}? Programs that use it are refused from then on.`) && act(() => ask("tokens/" + t.id, { method: "DELETE" }), "It was revoked.");
    return [h("h2", {}, "Tokens"), h("p", { id: "made" }), made, form, table("Tokens of this project", [["note"], ["may"], ["made"], ["id"], [""]], r.tokens.map((t) => h("tr", {},
      h("td", {}, t.note || ""), h("td", {}, t.scopes.join(", ")), h("td", {}, minute(t.created)), h("td", {}, h("code", {}, t.id)),
      h("td", {}, h("button", { type: "button", onclick: () => revoke(t), "aria-label": "Revoke " + (t.note || t.id) }, "Revoke")))))];
  },
};

// resumable sends a file in parts, by the tus protocol: after a broken connection it goes on where the service is.
async function resumable(file, progress) {
  const headers = { "Tus-Resumable": "1.0.0", "X-Requested-With": "corewalk" };
  const name = btoa(String.fromCharCode(...new TextEncoder().encode(file.name)));
  const made = await fetch(`/api/v1/projects/${who.project}/uploads/`, { method: "POST", headers: { ...headers, "Upload-Length": String(file.size), "Upload-Metadata": "filename " + name } });
  if (!made.ok) throw new Error((await made.text()).slice(0, 200) || made.statusText);
  const url = new URL(made.headers.get("Location"), location.href).pathname;
  let at = 0, failures = 0;
  for (;;) {
    try {
      const r = await fetch(url, { method: "PATCH", headers: { ...headers, "Upload-Offset": String(at), "Content-Type": "application/offset+octet-stream" }, body: file.slice(at, at + (8 << 20)) });
      if (!r.ok) throw Object.assign(new Error((await r.text()).slice(0, 200) || r.statusText), { final: r.status < 500 && r.status !== 409 });
      failures = 0;
      at = Number(r.headers.get("Upload-Offset"));
      progress(at);
      if (at >= file.size) return r.headers.get("X-Corewalk-Dump");
    } catch (e) {
      if (e.final || ++failures > 5) throw e;
      await new Promise((done) => setTimeout(done, 500 * 2 ** failures));
      const r = await fetch(url, { method: "HEAD", headers });
      if (!r.ok) throw new Error("the upload is gone: send it again");
      at = Number(r.headers.get("Upload-Offset"));
    }
  }
}

function dumpTable(dumps) {
  return table("Dumps", [["received"], ["dump"], ["why"], ["program"], ["build"], ["size", "n"]], dumps.map((d) => h("tr", {},
    h("td", {}, minute(d.received)), h("td", {}, h("a", { href: "#/d/" + d.id }, h("code", {}, short(d.name, 40) || d.id.slice(0, 12)))),
    h("td", {}, d.state === "done" ? d.reason || d.fault : h("span", { class: "badge" }, d.state)), h("td", {}, d.program || ""), h("td", {}, h("code", {}, short(d.build, 14))), h("td", { class: "n" }, size(d.size)))));
}

// reportOf shows a report: the crash, and the stacks, whose frames open to their variables.
function reportOf(r) {
  const out = h("div", {}), c = r.crash;
  if (c) {
    out.append(h("div", { class: "crash" }, h("p", {}, h("b", {}, c.signal || c.exception || ""), " ", c.reason || ""), c.message ? h("p", {}, h("q", {}, c.message)) : "",
      c.instruction && c.instruction.text ? h("p", {}, h("code", {}, c.instruction.text), " ", Object.entries(c.instruction.registers || {}).map(([k, v]) => `${k} = ${v} `).join(""), h("span", { class: "dim" }, c.instruction.note || "")) : "",
      (c.causes || []).map((x) => h("p", {}, "Cause: ", x.text, " ", h("span", { class: "badge" }, x.confidence)))));
  }
  for (const d of r.deadlocks || []) out.append(h("p", { class: "bad" }, `Deadlock (${d.certainty}): tasks ${(d.tasks || []).map((t) => t.id || t).join(", ")}`));
  const stacks = [...(r.threads || []).map((t) => ({ t, title: `Thread ${t.id}${t.name ? ` "${t.name}"` : ""}${t.crashed ? ", crashed" : ""}` })),
    ...(r.tasks || []).filter((t) => t.kind !== "thread" && t.frames).map((t) => ({ t, title: `${t.kind} ${t.id}${t.name ? ` "${t.name}"` : ""}: ${(t.wait || {}).reason || t.state}` }))];
  stacks.sort((a, b) => (b.t.crashed ? 1 : 0) - (a.t.crashed ? 1 : 0));
  stacks.slice(0, 500).forEach(({ t, title }, i) => {
    const top = (t.frames || [])[0];
    const body = h("details", { open: i === 0 }, h("summary", {}, title, top && i > 0 ? h("span", { class: "dim" }, " " + (top.function || top.pc || "")) : ""));
    fill(body, () => [(t.frames || []).slice(0, 300).map(frame), t.frames && t.frames.length > 300 ? h("p", { class: "dim" }, `and ${t.frames.length - 300} more frames`) : "", t.end ? h("p", { class: "dim" }, typeof t.end === "string" ? t.end : "") : ""]);
    out.append(body);
  });
  if (stacks.length > 500) out.append(h("p", { class: "dim" }, `and ${stacks.length - 500} more stacks`));
  return out;
}

// fill makes the content of an element when it is opened first.
function fill(details, content) {
  let done = false;
  const make = () => { if (details.open && !done) { done = true; details.append(...content().flat(9).filter((x) => x !== "")); } };
  details.addEventListener("toggle", make);
  make();
}

// later makes the content of an element when it is opened first, from what has to be asked for.
function later(details, content) {
  let asked = false;
  const make = async () => {
    if (!details.open || asked) return;
    asked = true;
    const wait = h("p", { class: "dim", role: "status" }, "Reading\u2026");
    details.append(wait);
    try {
      wait.replaceWith(...(await content()).flat(9).filter((x) => x !== ""));
    } catch (e) {
      asked = false; // the next opening tries again
      const why = h("p", { class: "bad" }, e.message);
      details.addEventListener("toggle", () => why.remove(), { once: true });
      wait.replaceWith(why);
    }
  };
  details.addEventListener("toggle", make);
  make();
  return details;
}

// entries appends a page of a list that is asked for to an element, and a button for those that follow.
async function entries(to, path, name, count, make, first = 0) {
  const r = await ask(`${path}first=${first}&count=${count}`);
  const list = (r[name] || []).map((x, i) => make(x, first + i));
  to.append(...list);
  if (r.more) to.append(more(to, path, name, count, make, first + list.length));
  else if (r.end) to.append(h("p", { class: "dim" }, r.end));
  return list[0];
}

function more(to, path, name, count, make, first) {
  const button = h("button", { type: "button", class: "more", onclick: async () => {
    button.disabled = true;
    try {
      const next = await entries(to, path, name, count, make, first);
      button.remove();
      const focus = next && (next.querySelector("summary") || next);
      if (focus) { if (focus.tagName !== "SUMMARY") focus.tabIndex = -1; focus.focus(); }
    } catch (e) {
      button.disabled = false;
      say(e.message);
    }
  } }, `More ${name}, from number ${first} on`);
  return to.tagName === "UL" ? h("li", {}, button) : button;
}

// stack shows one whose frames are asked for when it is opened.
function stack(dump, s, n) {
  const title = `${s.kind === "thread" ? "Thread" : s.kind} ${s.id}${s.name ? ` "${s.name}"` : ""}${s.crashed ? ", crashed" : s.status ? ": " + s.status : ""}`;
  return later(h("details", { class: "stack", open: n === 0 }, h("summary", {}, title, s.top ? h("span", { class: "dim mono" }, " " + short(s.top, 120)) : "")), async () => {
    const list = h("div", {});
    await entries(list, `dumps/${dump}/stacks/${n}/frames?`, "frames", 100, (f, i) => openFrame(dump, n, f, i));
    return [list];
  });
}

// openFrame shows a frame whose variables are asked for when it is opened.
function openFrame(dump, stackNumber, f, n) {
  const at = f.file ? `${f.file.split("/").pop()}:${f.line}` : (f.module || "").split("/").pop() + (f.offset ? "+" + f.offset : "");
  const line = frameLine(n, f.signal ? `signal ${f.signal} delivered here` : f.function || f.pc, at + (f.trust === "scan" ? " (found by scanning: it may be wrong)" : ""), f.inlined);
  return later(h("details", { class: "frame" }, h("summary", {}, line)), async () => {
    const path = `dumps/${dump}/stacks/${stackNumber}/frames/${n}/variables?`;
    const r = await ask(path + "count=100");
    const out = [];
    if (r.source) {
      out.push(h("pre", { class: "source", "aria-label": "source of " + at, tabindex: 0 }, r.source.lines.map((text, i) => {
        const now = r.source.first + i === r.source.line;
        return h("span", { class: now ? "now" : null }, `${now ? "\u25b6" : " "}${String(r.source.first + i).padStart(5)}  ${text}\n`);
      })), r.source.newer ? h("p", { class: "dim" }, "The file was changed since the program was built.") : "");
    }
    (r.groups || []).forEach((g, i) => {
      const list = h("ul", { class: "vars", "aria-label": g.name });
      const make = (v, k) => h("li", {}, openVariable(path, v, [i, k], g.name));
      if (!g.variables) {
        if (g.count) out.push(later(h("details", {}, h("summary", {}, `${g.name} (${g.count})`)), async () => { await entries(list, `${path}path=${i}&`, "variables", 100, make); return [list]; }));
        return;
      }
      list.append(...g.variables.map(make));
      if (g.more) list.append(more(list, `${path}path=${i}&`, "variables", 100, make, g.variables.length));
      out.push(list);
    });
    return out.length ? out : [h("p", { class: "dim" }, "Nothing is known of its variables.")];
  });
}

// openVariable shows a variable whose parts are asked for when it is opened.
function openVariable(path, v, at, group) {
  const value = v.reason ? `<${v.reason}>` : v.value ?? "";
  const line = h("code", { title: [group, v.type].filter(Boolean).join(", ") }, `${v.name} = ${short(value, 500)}`, v.entry ? h("span", { class: "dim" }, ` (on entry ${v.entry})`) : "");
  if (!v.parts) return line;
  return later(h("details", {}, h("summary", {}, line)), async () => {
    const list = h("ul", { class: "vars" });
    await entries(list, `${path}path=${at.join(".")}&`, "variables", 100, (x, k) => h("li", {}, openVariable(path, x, [...at, k])));
    return list.children.length ? [list] : [h("p", { class: "dim" }, "nothing")];
  });
}

function frameLine(index, name, at, inlined) {
  return [h("span", { class: "mono dim" }, `#${index} `), h("span", { class: "fn mono" }, name || "unknown"), h("span", { class: "dim" }, " " + at + (inlined ? " (inlined)" : ""))];
}

function frame(f) {
  const at = f.source && f.source.file ? `${f.source.file.split("/").pop()}:${f.source.line}` : (f.module || "").split("/").pop() + (f.offset ? "+" + f.offset : "");
  const vars = [...(f.args || []).map((v) => ["argument", v]), ...(f.locals || []).map((v) => ["local", v])];
  const line = frameLine(f.index, f.function || f.pc, at, f.inline || f.inlined);
  if (!vars.length) return h("div", { class: "frame" }, line);
  const d = h("details", { class: "frame" }, h("summary", {}, line));
  fill(d, () => [h("ul", { class: "vars" }, vars.map(([kind, v]) => h("li", {}, variable(v.name, v.status && v.status !== "glvv_Success" ? `<${v.reason || v.status}>` : v.value, v.type, v.data, kind))))]);
  return d;
}

function variable(name, value, type, data, kind) {
  const line = h("code", { title: [kind, type].filter(Boolean).join(", ") }, `${name} = ${value ?? ""}`);
  if (!data || !(data.children || []).length) return line;
  const d = h("details", {}, h("summary", {}, line));
  fill(d, () => [h("ul", { class: "vars" }, data.children.slice(0, 500).map((c) => h("li", {}, variable(c.name ?? "", (c.data || {}).text ?? textOf(c.data), (c.data || {}).type, c.data))))]);
  return d;
}

const textOf = (data) => data && data.children ? `{${data.children.length}}` : "";

// act does something and shows the page anew.
async function act(what, said) {
  try {
    await what();
    say(said);
    await show(true);
  } catch (e) {
    say(e.message);
  }
}

async function login(token) {
  const r = await fetch("/login", { method: "POST", headers: { "X-Requested-With": "corewalk" }, body: new URLSearchParams({ token }) });
  if (!r.ok) throw new Error("This token is not known.");
}

function loginPage(why) {
  const field = h("input", { id: "token", name: "token", type: "password", autocomplete: "current-password", required: true, size: 50 });
  return [h("h2", {}, "Log in"), why ? h("p", { class: "bad", role: "alert" }, why) : "",
    h("form", { class: "bar", onsubmit: async (e) => {
      e.preventDefault();
      try { await login(field.value); location.hash = "#/"; await begin(); } catch (err) { main.replaceChildren(...loginPage(err.message).flat()); }
    } }, h("label", { class: "wide" }, "Token", field), h("button", {}, "Log in"))];
}

// linkPage asks before a link logs in: who made the link sees what is uploaded and decided with its token.
async function linkPage(token) {
  let to;
  try {
    const r = await fetch("/api/v1/whoami", { headers: { Authorization: "Bearer " + token }, credentials: "omit" });
    if (!r.ok) throw new Error();
    to = await r.json();
  } catch {
    linked = null;
    return loginPage("The token in this link is not known.");
  }
  const yes = h("button", { type: "button", id: "link-yes", onclick: async () => {
    try { await login(token); linked = null; await begin(); } catch (err) { main.replaceChildren(...loginPage(err.message).flat()); }
  } }, "Log in");
  const no = h("button", { type: "button", id: "link-no", onclick: async () => { linked = null; await show(); } }, "Do not");
  return [h("h2", {}, "Log in by this link?"),
    h("p", {}, "The link has a token of the project ", h("strong", {}, to.project), to.note ? [" (", to.note, ")"] : "", ". Whoever made it can see what you do with it."),
    who ? h("p", {}, "You are logged in to the project ", h("strong", {}, who.project), ", and would be logged out there.") : "",
    h("p", {}, yes, " ", no)];
}

let latest = 0, linked = null; // the token of the link that was opened, until the reader has decided
async function show(stay) {
  if (linked) { main.replaceChildren(...(await linkPage(linked)).flat(9).filter((x) => x !== "")); return; }
  if (!who) { main.replaceChildren(...loginPage().flat().filter((x) => x !== "")); return; }
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [page, ...args] = path.split("/").map(decodeURIComponent);
  const mine = ++latest;
  document.title = "Crashes";
  for (const a of document.querySelectorAll("nav a")) {
    if (a.getAttribute("href") === "#/" + (page === "g" ? "" : page === "d" ? "dumps" : page)) a.setAttribute("aria-current", "page"); else a.removeAttribute("aria-current");
  }
  let content;
  try {
    content = Object.hasOwn(pages, page) ? await pages[page](args, query) : [h("p", {}, "There is no such page.")];
  } catch (e) {
    if (e.status === 401) { who = null; return show(); }
    content = [h("p", { class: "bad", role: "alert" }, e.message)];
  }
  if (mine !== latest) return;
  main.replaceChildren(...content.flat(9).filter((x) => x !== "" && x !== null && x !== undefined));
  if (!stay) { window.scrollTo(0, 0); main.focus({ preventScroll: true }); }
}

async function begin() {
  try {
    who = null;
    who = await ask("/api/v1/whoami");
  } catch { who = null; }
  document.getElementById("project").textContent = who ? who.project : "";
  document.getElementById("nav").hidden = !who;
  for (const a of document.querySelectorAll("nav .admin")) a.hidden = !may("admin");
  await show();
}

document.getElementById("logout").addEventListener("click", async () => {
  await fetch("/logout", { method: "POST", headers: { "X-Requested-With": "corewalk" } });
  await begin();
});

// Keys move through the rows of the page's first list.
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) { if (e.key === "Escape") e.target.blur(); return; }
  const rows = [...main.querySelectorAll("table.list tbody tr")], now = rows.findIndex((r) => r.classList.contains("here"));
  if (e.key === "/") { const q = document.getElementById("q"); if (q) { e.preventDefault(); q.focus(); } }
  else if ((e.key === "j" || e.key === "k") && rows.length) {
    const next = Math.min(rows.length - 1, Math.max(0, now + (e.key === "j" ? 1 : -1)));
    if (now >= 0) rows[now].classList.remove("here");
    rows[next].classList.add("here");
    const link = rows[next].querySelector("a");
    if (link) link.focus();
    rows[next].scrollIntoView({ block: "nearest" });
  } else if (e.key === "u") history.back();
});

// takeLink takes the token out of the address of a link that logs in.
function takeLink() {
  const token = /^#(cw_\w[\w-]*)$/.exec(location.hash);
  if (!token) return;
  history.replaceState(null, "", "#/");
  linked = token[1];
}

window.addEventListener("hashchange", () => { takeLink(); show(); });
takeLink();
begin();
