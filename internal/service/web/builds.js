// Builds and releases, and what changed between two.
import { ask, may } from "./ask.js";
import { cells, empty, h, table, when } from "./dom.js";
import { badge, groupLink, noDumps } from "./lists.js";
import { act } from "./router.js";
import { askText } from "./tell.js";
import { plural, short } from "./words.js";

export async function builds(args, query) {
  const [r, { releases }] = await Promise.all([ask("builds"), ask("releases")]);
  const params = new URLSearchParams(query), a = params.get("a"), b = params.get("b"), by = params.get("by") || "build";
  if (!r.builds.length && !releases.length) return [h("h2", {}, "Builds and releases"), (await ask("dumps?limit=1")).dumps.length ? empty("No dump says of which build or release it is.", h("p", {}, "Link programs with a build-id (", h("code", {}, "-Wl,--build-id"), "), and send the release with each dump, as ", h("code", {}, "version"), ".")) : noDumps()];
  const now = (kind, value, other) => by === kind && value || other || "";
  const counted = releases.filter((x) => x.count), seen = counted.length > 1 ? counted : releases; // one that is to come has nothing to compare
  const out = [h("h2", {}, "Builds and releases"), h("div", { class: "forms" },
    releases.length > 1 ? compareForm("release", releases.slice(0, 500).map((x) => [x.release, `${short(x.release, 40)} (${x.count})`]), now("release", a, seen[1].release), now("release", b, seen[0].release)) : "",
    r.builds.length > 1 ? compareForm("build", r.builds.map((x) => [x.build, `${short(x.build, 20)} ${x.program || ""} (${x.count})`]), now("build", a, r.builds[1].build), now("build", b, r.builds[0].build)) : "")];
  if (a && b) return [out, await compared(by, a, b)];
  return [out, h("h3", {}, "Releases"), releaseTable(releases), h("h3", {}, "Builds"), buildTable(r.builds)];
}

function compareForm(by, values, a, b) {
  const pick = (label, name, now) => h("label", {}, label, h("select", { name }, values.map(([value, text]) => h("option", { value, selected: value === now }, text))));
  const form = h("form", { class: "bar", "aria-label": `Compare two ${by}s`, onsubmit: (e) => { e.preventDefault(); location.hash = `#/builds?by=${by}&` + new URLSearchParams([...new FormData(form)]); } },
    pick(`Older ${by}`, "a", a), pick(`Newer ${by}`, "b", b), h("button", {}, `Compare ${by}s`));
  return form;
}

async function compared(by, a, b) {
  const all = h("p", {}, h("a", { href: "#/builds" }, "All builds and releases"));
  if (a === b) return [empty(`These are the same ${by}.`, h("p", {}, "Choose two that differ.")), all];
  const c = await ask("compare?" + new URLSearchParams({ by, a, b })), of = (x) => h("code", {}, short(x, 40));
  if (!c.groups.length) return [empty("Neither has a crash.", h("p", {}, "No dump of them is in a group.")), all];
  const fresh = c.groups.filter((g) => g.a === 0).length, gone = c.groups.filter((g) => g.b === 0).length;
  return [h("h3", {}, of(a), " and ", of(b)), h("p", { class: "meta" }, h("span", {}, plural(fresh, "new group")), h("span", {}, `${gone} gone`), h("span", {}, `${c.groups.length - fresh - gone} in both`)),
    table(`Groups of two ${by}s`, [["cause and place", "what"], ["change"], ["older", "n"], ["newer", "n"]], c.groups.map((g) => cells(groupLink(g), g.a === 0 ? badge("regressed", "new") : g.b === 0 ? badge("fixed", "gone") : badge("quiet", "both"), g.a, g.b))), all];
}

function releaseTable(releases) {
  if (!releases.length) return empty("No release is known.", h("p", {}, "A dump says of which it is, as ", h("code", {}, "version"), "; or name the builds below."));
  return table("Releases", [["release", "what"], ["dumps", "n"], ["first"], ["last"]], releases.slice(0, 500).map((x) => cells(h("a", { href: "#/?" + new URLSearchParams({ has: "release:" + x.release }) }, x.release), x.count, x.first ? when(x.first) : badge("quiet", "to come"), when(x.last))));
}

function buildTable(list) {
  if (!list.length) return empty("No dump says of which build it is.", h("p", {}, "Link programs with a build-id: ", h("code", {}, "-Wl,--build-id"), "."));
  const name = async (x) => {
    const release = await askText("Name a build", `Release of build ${short(x.build, 20)}`, "Name it", x.release || "");
    if (release) await act(() => ask("builds/" + encodeURIComponent(x.build), { method: "PUT", body: JSON.stringify({ release }) }), `The build is of ${release} now.`);
  };
  return table("Builds", [["build", "what"], ["release"], ["program"], ["dumps", "n"], ["first"], ["last"]], list.map((x) => cells(h("a", { href: "#/?build=" + encodeURIComponent(x.build) }, h("code", { class: "line" }, x.build)),
    [x.release || "", " ", may("triage") ? h("button", { type: "button", class: "small", "aria-label": `${x.release ? "Rename" : "Name"} build ${x.build}`, onclick: () => name(x) }, x.release ? "Rename" : "Name") : ""],
    x.program || "", x.count, when(x.first), when(x.last))));
}
