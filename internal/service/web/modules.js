// The modules of a dump: what they lack, and how that gets here.
import { ask, may, me } from "./ask.js";
import { cells, command, h, table } from "./dom.js";
import { badge } from "./lists.js";
import { base, short } from "./words.js";

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
  const paths = lacking.slice(0, commands).flatMap((m) => m.wanted), elf = paths.filter((p) => p.startsWith("buildid/"));
  const send = (file, p) => `curl -H "Authorization: Bearer $TOKEN" -T ${file} ${location.origin}/api/v1/projects/${me.who.project}/symbols/${p}`;
  const fetched = (p) => { const [, id, what] = p.split("/"); return send(`"$(debuginfod-find ${what} ${id})"`, p); };
  return h("details", { class: "notes" }, h("summary", {}, "How to get what is missing"), 
    elf.length ? [h("p", {}, "Where debuginfod serves the files of the builds, with a token that may send ", h("code", {}, "symbols"), ":"), command(elf.map(fetched).join("\n"))] : "",
    h("p", {}, "Where you have the files yourself:"), command(paths.map((p) => send("FILE", p)).join("\n")),
    lacking.length > commands ? h("p", { class: "dim" }, `These are the first ${commands} modules.`) : "",
    h("p", {}, may("triage") ? "Then choose \u201cAnalyse again\u201d above." : "Then have the dump analysed again."));
}
