// The modules of a dump: what they lack, and how that gets here.
import { ask, may, me } from "./ask.js";
import { command, h, table } from "./dom.js";
import { badge } from "./lists.js";
import { base, short } from "./words.js";

const states = { matched: ["fixed", "found"], missing: ["regressed", "file missing"], mismatched: ["regressed", "file of another build"], unverified: ["quiet", "found, not verified"] };
const symbols = { dwarf: "all", pdb: "all", breakpad: "all", gopclntab: "functions, lines", symtab: "functions", exports: "exports only", none: "none" };
const most = 500; // that are shown

// modules lists them, those that lack something first.
export async function modules(d) {
  const r = await ask(`dumps/${d.id}/modules?count=${most}`), list = r.modules || [], lacking = list.filter((m) => m.wanted).length;
  if (!list.length) return [];
  return [h("h3", {}, "Modules"), h("p", { class: "dim" }, lacking ? `${lacking} of ${list.length}${r.more ? " and more" : ""} lack symbols: their frames have fewer names, lines and variables.` : "Nothing is missing."),
    table("Modules", [["module", "what"], ["file"], ["symbols"], ["build"]], list.map(row)),
    r.more ? h("p", { class: "dim" }, `Only ${most} are shown. The whole report has all.`) : ""];
}

function row(m) {
  const [kind, text] = states[m.status] || ["quiet", m.status];
  return h("tr", {}, h("td", {}, h("b", { class: "name" }, base(m.path) || "unknown"), m.main ? [" ", badge("quiet", "program")] : "", base(m.path) === m.path ? "" : h("span", { class: "dim where", title: m.path }, short(m.path, 160)), m.wanted ? get(m) : ""),
    h("td", {}, badge(kind, text)), h("td", { class: "dim" }, symbols[m.symbols] || m.symbols), h("td", {}, m.id ? h("code", { class: "dim", title: m.id }, short(m.id, 18)) : h("span", { class: "dim" }, "none"), m.version ? h("span", { class: "dim under" }, m.version) : ""));
}

// get says how what a module lacks gets here. All of a path is as the service made it: only characters that a shell leaves as they are.
function get(m) {
  const at = `${location.origin}/api/v1/projects/${me.who.project}/symbols/`, elf = m.wanted[0].startsWith("buildid/");
  return h("details", {}, h("summary", {}, "How to get it"),
    h("ol", { class: "steps" }, elf ? h("li", {}, "Where the build's files are served by debuginfod, fetch them:", command(m.wanted.map((p) => `debuginfod-find ${p.split("/")[2]} ${p.split("/")[1]}`).join("\n"))) :
      h("li", {}, "Take the files from where the build was made, or from its symbol server: ", m.wanted.map((p) => [h("code", {}, p), " "])),
      h("li", {}, "Send them, with a token that may send ", h("code", {}, "symbols"), ":", command(m.wanted.map((p) => `curl -H "Authorization: Bearer $TOKEN" -T FILE ${at}${p}`).join("\n"))),
      h("li", {}, may("triage") ? "Then choose \u201cAnalyse again\u201d above." : "Then have the dump analysed again.")));
}
