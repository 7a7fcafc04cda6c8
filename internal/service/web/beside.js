// What came with a dump: files, and what a user wrote. All of it may be anybody's: it is only ever text, or a picture of pixels.
import { h, later, when } from "./dom.js";
import { me } from "./ask.js";
import { plural, short, size } from "./words.js";

const shown = 100_000; // characters of a text
const picture = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

export function attachments(d) {
  const list = d.attachments || [];
  if (!list.length) return "";
  return [h("h3", {}, plural(list.length, "attachment")), h("ul", { class: "attachments" }, list.map((a) => h("li", {}, attachment(d, a))))];
}

function attachment(d, a) {
  const url = `/api/v1/projects/${me.who.project}/dumps/${d.id}/attachments/${encodeURIComponent(a.id)}`, name = short(a.name, 120) || "without a name";
  const link = h("a", { href: url, download: true, "aria-label": "Download " + name }, "Download");
  if (picture.has(a.type)) return [later(h("details", {}, h("summary", {}, name, " ", about(a))), () => [h("img", { class: "shot", src: url, alt: "Screenshot " + name })]), link];
  if (a.type.startsWith("text/plain")) return [later(h("details", {}, h("summary", {}, name, " ", about(a))), () => text(url, name)), link];
  return [h("span", {}, name, " ", about(a)), link];
}

const about = (a) => h("span", { class: "dim" }, `${size(a.size)}`);

async function text(url, name) {
  const r = await fetch(url, { headers: { "X-Requested-With": "corewalk", Range: `bytes=0-${shown - 1}` } });
  if (!r.ok) throw new Error(r.statusText);
  const all = Number((r.headers.get("Content-Range") || "").split("/")[1] || 0);
  return [h("pre", { class: "log", tabindex: 0, "aria-label": name }, await r.text()), all > shown ? h("p", { class: "dim" }, `The first ${size(shown)}. Download it for all.`) : ""];
}

export function feedback(d) {
  const list = d.feedback || [];
  if (!list.length) return "";
  return [h("h3", {}, "What users wrote"), list.map((f) => h("blockquote", {}, h("div", { class: "note" }, f.text), h("div", { class: "dim" }, [f.name, f.email].filter(Boolean).join(", "), " ", when(f.at))))];
}
