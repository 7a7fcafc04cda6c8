// The list of dumps, and one dump.
import { ask, may, me } from "./ask.js";
import { facts, h } from "./dom.js";
import { dumpTable, facetList } from "./lists.js";
import { act } from "./router.js";
import { entries, reportOf, stack } from "./stacks.js";
import { minute, short, size } from "./words.js";

export async function dumps(args, query) {
  const r = await ask("dumps?" + query);
  const last = r.dumps[r.dumps.length - 1], params = new URLSearchParams(query), has = params.getAll("has");
  const attributes = (await ask("attributes")).attributes;
  const toggle = (text, on) => { location.hash = "#/dumps?" + new URLSearchParams((on ? has.filter((x) => x !== text) : [...has, text]).map((x) => ["has", x])); };
  if (last) params.set("before", last.received);
  return [h("h2", {}, "Dumps, the newest first"), h("div", { class: "beside" }, facetList(attributes, has, toggle), h("div", {}, dumpTable(r.dumps),
    r.dumps.length === 100 ? h("p", {}, h("a", { href: "#/dumps?" + params }, "Older")) : ""))];
}

export async function dump([id]) {
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
    h("p", {}, h("a", { href: `/api/v1/projects/${me.who.project}/dumps/${d.id}/file`, download: true }, "Download"), " ",
      h("a", { href: `/api/v1/projects/${me.who.project}/dumps/${d.id}/report?format=html`, target: "_blank", rel: "noopener" }, "Whole report as a page"), " ",
      may("triage") && d.state !== "working" ? h("button", { type: "button", onclick: () => act(() => ask(`dumps/${d.id}/again`, { method: "POST" }), "It is analysed again.") }, "Analyse again") : ""),
    about, stacks];
}
