// The modules of a dump, and files that the project lacks: how they get here.
import { ask, may, me } from "./ask.js";
import { cells, command, empty, h, table, when } from "./dom.js";
import { badge } from "./lists.js";
import { act } from "./router.js";
import { base, short, size } from "./words.js";

const states = { matched: ["fixed", "found"], missing: ["regressed", "file missing"], mismatched: ["regressed", "file of another build"], unverified: ["quiet", "found, not verified"] };
const symbols = { dwarf: "all", pdb: "all", breakpad: "all", gopclntab: "functions, lines", symtab: "functions", exports: "exports only", none: "none" };
const most = 500; // that are shown
const commands = 20; // modules whose commands are

// modules lists them, those that lack something first.
export async function modules(d) {
  const r = await ask(`dumps/${d.id}/modules?count=${most}`), list = r.modules || [], lacking = list.filter((m) => m.wanted);
  if (!list.length) return [];
  return [h("h3", {}, "Modules"), h("p", { class: "dim" }, lacking.length ? `${lacking.length} of ${list.length}${r.more ? " and more" : ""} lack symbols: their frames have fewer names, lines and variables.` : "Nothing is missing."),
    lacking.length ? get(lacking) : "",
    table("Modules", [["module", "what"], ["file"], ["symbols"], ["build"]], list.map(row)),
    r.more ? h("p", { class: "dim" }, `Only ${most} are shown. The whole report has all.`) : ""].filter((x) => x !== "");
}

function row(m) {
  const [kind, text] = states[m.status] || ["quiet", m.status];
  return cells([h("b", { class: "name" }, base(m.path) || "unknown"), m.main ? [" ", badge("quiet", "program")] : "", base(m.path) === m.path ? "" : h("span", { class: "dim where", title: m.path }, short(m.path, 160))],
    badge(kind, text), h("span", { class: "dim" }, symbols[m.symbols] || m.symbols), [m.id ? h("code", { class: "dim", title: m.id }, short(m.id, 18)) : h("span", { class: "dim" }, "none"), m.version ? h("span", { class: "dim under" }, m.version) : ""]);
}

// get says how what modules lack gets here. All of a path is as the service made it: only characters that a shell leaves as they are.
function get(lacking) {
  return h("details", { class: "notes" }, h("summary", {}, "How to get what is missing"), commandsFor(lacking.slice(0, commands).flatMap((m) => m.wanted)),
    lacking.length > commands ? h("p", { class: "dim" }, `These are the first ${commands} modules.`) : "",
    h("p", {}, may("triage") ? "Then choose \u201cAnalyse again\u201d above." : "Then have the dump analysed again."));
}

// commandsFor are those with which files get to paths.
function commandsFor(paths) {
  const elf = paths.filter((p) => p.startsWith("buildid/"));
  const send = (file, p) => `curl -H "Authorization: Bearer $TOKEN" -T ${file} ${location.origin}/api/v1/projects/${me.who.project}/symbols/${p}`;
  const fetched = (p) => { const [, id, what] = p.split("/"); return send(`"$(debuginfod-find ${what} ${id})"`, p); };
  return [elf.length ? [h("p", {}, "Where debuginfod serves the files of the builds, with a token that may send ", h("code", {}, "symbols"), ":"), command(elf.map(fetched).join("\n"))] : "",
    h("p", {}, "Where you have the files yourself:"), command(paths.map((p) => send("FILE", p)).join("\n"))];
}

const some = 100; // dumps that are analysed again at once

// lacking lists the files that dumps of the project need and that were not found, those that most frames needed first.
export async function lacking() {
  const [r, stored] = await Promise.all([ask("symbols"), ask("symbols/stored")]), list = r.lacking;
  const title = h("h2", {}, "Files that are missing");
  if (!list.length) return [title, empty("Nothing is known to be missing.", h("p", {}, "A dump says what its crashed stack lacked when it is analysed. One that an older version has analysed says so once it is analysed again.")), here(stored)];
  const again = (x) => act(async () => {
    const { dumps } = await ask("dumps?" + new URLSearchParams({ has: "lacks:" + x.value, limit: some }));
    for (const d of dumps) if (d.state !== "working") await ask(`dumps/${d.id}/again`, { method: "POST" });
  }, `The newest dumps without ${x.module} are analysed again.`);
  return [title, h("p", { class: "dim" }, "Modules on crashed stacks whose file, or its debug information, was not found when the dumps were analysed, by how many frames of these stacks needed it."),
    table("Files that are missing", [["module", "what"], ["path", "wide"], ["frames", "n"], ["dumps", "n"], ["now"]], list.map((x) => cells(h("a", { href: "#/dumps?" + new URLSearchParams({ has: "lacks:" + x.value }) }, short(x.module, 80) || "unknown"),
      h("code", { class: "dim", title: x.path }, short(x.path, 60)), x.frames.toLocaleString("en"), x.dumps.toLocaleString("en"),
      [badge(x.here ? "fixed" : "regressed", x.here ? "here" : "missing"), x.here && may("triage") ? [" ", h("button", { type: "button", class: "small", "aria-label": `Analyse dumps without ${x.module} again`, onclick: () => again(x) }, "Analyse again")] : ""]))),
    r.known > list.length ? h("p", { class: "dim" }, `and ${r.known - list.length} more`) : "",
    list.some((x) => !x.here) ? [h("h3", {}, "How to get them"), commandsFor(list.filter((x) => !x.here).slice(0, commands).map((x) => x.path)), h("p", {}, "Then have the dumps analysed again, here.")] : "", here(stored)];
}

// here lists the symbols that were sent, and how many dumps were analysed with each.
function here(r) {
  if (!r.files) return "";
  const has = (x) => "#/dumps?" + new URLSearchParams({ has: "uses:" + x.value });
  const without = r.unused ? r.counted ? ` No dump was analysed with ${r.unused.toLocaleString("en")} of them.` : " More are used than are counted." : "";
  return [h("h2", {}, "Files that were sent"), h("p", { class: "dim" }, `${r.files.toLocaleString("en")}${r.more ? " or more" : ""} files, ${size(r.bytes)}.${without}`),
    table("Files that were sent", [["path", "what"], ["size", "n"], ["sent"], ["dumps", "n"]], r.stored.map((x) => cells(h("code", { title: x.path }, short(x.path, 70)), size(x.size), when(x.changed),
      x.dumps ? h("a", { href: has(x) }, x.dumps.toLocaleString("en")) : "0"))),
    r.files > r.stored.length ? h("p", { class: "dim" }, `Only ${r.stored.length} are shown.`) : ""];
}
