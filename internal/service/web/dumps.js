// The list of dumps, and one dump.
import { ask, may, me } from "./ask.js";
import { attachments, feedback } from "./beside.js";
import { facts, h, when } from "./dom.js";
import { badge, chips, dumpTable, facetList, noDumps, nothingFound } from "./lists.js";
import { memory, waits } from "./parts.js";
import { modules } from "./modules.js";
import { act } from "./router.js";
import { crashOf, entries, stack, stacksOf } from "./stacks.js";
import { base, short, size } from "./words.js";

const some = 100; // on a page

export async function dumps(args, query) {
  const params = new URLSearchParams(query), has = params.getAll("has");
  const [r, { attributes }] = await Promise.all([ask("dumps?" + query), ask("attributes")]);
  const go = (list) => { location.hash = "#/dumps?" + new URLSearchParams(list.map((x) => ["has", x])); };
  const without = (x) => has.filter((y) => y !== x);
  const filters = has.map((x) => ({ text: x.replace(":", ": "), query: new URLSearchParams(without(x).map((y) => ["has", y])), drop: () => go(without(x)) }));
  const last = r.dumps[r.dumps.length - 1], later = params.get("before");
  if (last) params.set("before", last.received);
  if (!r.dumps.length && !filters.length && !later) return [h("h2", {}, "Dumps"), noDumps()];
  const list = r.dumps.length ? dumpTable(r.dumps) : filters.length ? nothingFound("dump", filters, () => go([]), async (f) => (await ask(`dumps?${f.query}&limit=100`)).dumps.length) : h("p", {}, "There are no older ones.");
  return [h("h2", {}, "Dumps, the newest first"), chips(filters, () => go([])),
    h("div", { class: "beside" }, facetList(attributes, has, (text, on) => go(on ? without(text) : [...has, text])), h("div", {}, list,
      h("p", { class: "row" }, later ? h("button", { type: "button", onclick: () => history.back() }, "Newer") : "", r.dumps.length === some ? h("a", { href: "#/dumps?" + params }, "Older") : "")))];
}

export async function dump([id]) {
  const d = await ask("dumps/" + encodeURIComponent(id));
  const title = d.reason || d.fault || (d.state === "done" ? "unknown" : "not analysed yet");
  document.title = `${title} \u2013 ${d.name || "Dump"} \u2013 Crashes`;
  const about = h("div", {}), stacks = h("div", {}, h("p", { class: "dim", role: "status" }, "Opening the dump\u2026")), list = h("div", {}), parts = h("div", {});
  const sent = Object.entries(d.annotations || {}).filter(([k, v]) => v !== d.release && !(d.attributes || []).some((a) => a.name === k && a.value === v)); // those that are no attributes
  const failed = (to) => (e) => to.replaceChildren(h("p", { class: "bad" }, e.message));
  entries(list, `dumps/${d.id}/stacks?`, "stacks", 50, (s, n) => stack(d.id, s, n)).then(() => stacks.replaceChildren(h("h3", {}, "Threads and tasks"), list)).catch(failed(stacks));
  ask(`dumps/${d.id}/about`).then((r) => about.replaceChildren(crashOf(r.about || {}, d.reason), stacksOf(r.about || {}), waits(r.waits || []), warnings((r.about || {}).warnings || [])))
    .catch((e) => stacks.querySelector(".bad") ? null : failed(about)(e)); // it is said once
  modules(d).then((x) => parts.replaceChildren(...x), (e) => stacks.querySelector(".bad") ? null : failed(parts)(e));
  return [h("h2", {}, title, " ", d.state === "done" ? "" : badge(d.state === "aside" ? "regressed" : "quiet", d.state)), d.why ? h("p", { class: "bad" }, d.why) : "",
    h("p", { class: "meta" }, d.program ? h("span", {}, h("b", {}, d.program), d.release ? " " + d.release : "") : "", h("span", {}, "received ", when(d.received)), h("span", {}, size(d.size)), d.group ? h("span", {}, h("a", { href: "#/g/" + d.group }, "its group")) : ""),
    h("p", { class: "row" }, h("a", { class: "button", href: `/api/v1/projects/${me.who.project}/dumps/${d.id}/report?format=html`, target: "_blank", rel: "noopener" }, "Whole report as a page"),
      h("a", { class: "button", href: `/api/v1/projects/${me.who.project}/dumps/${d.id}/file`, download: true }, "Download"),
      may("triage") && d.state !== "working" ? h("button", { type: "button", onclick: () => act(() => ask(`dumps/${d.id}/again`, { method: "POST" }), "It is analysed again.") }, "Analyse again") : ""),
    h("div", { class: "page" }, h("div", { class: "body" }, about, feedback(d), attachments(d), stacks, d.state === "done" && !d.fault ? memory(d) : "", parts), h("aside", { class: "side", "aria-label": "What is known of the dump" },
      facts([["Name", d.name], ["Times sent", d.times > 1 ? String(d.times) : ""], ["Fault", d.fault], ["Program", d.program], ["Release", d.release], ["Build", d.build ? h("code", {}, d.build) : ""],
        ["Group", d.group ? h("a", { href: "#/g/" + d.group }, d.reason || d.group) : ""], ["Dump", h("code", {}, d.id)]]),
      (d.attributes || []).length ? [h("h3", {}, "Attributes"), facts(d.attributes.map((a) => [a.name, h("a", { href: "#/dumps?" + new URLSearchParams({ has: a.name + ":" + a.value }) }, short(a.value, 80))]))] : "",
      sent.length ? [h("h3", {}, "Sent with it"), facts(sent)] : ""))];
}

function warnings(list) {
  if (!list.length) return "";
  return h("details", { class: "notes" }, h("summary", {}, `What is not known (${list.length})`), h("ul", {}, list.slice(0, 50).map((w) => h("li", {}, w.message, w.module ? h("span", { class: "dim" }, " " + base(w.module)) : ""))));
}
