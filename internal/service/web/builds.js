// Builds and releases, and what changed between two.
import { ask, may } from "./ask.js";
import { h, table } from "./dom.js";
import { groupLink } from "./lists.js";
import { act } from "./router.js";
import { minute, short } from "./words.js";

export async function builds(args, query) {
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
}
