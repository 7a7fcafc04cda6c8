// What those who administer a project see.
import { ask, may } from "./ask.js";
import { cells, command, empty, h, table, when } from "./dom.js";
import { act, show } from "./router.js";
import { complain, sure } from "./tell.js";

export const forbidden = (title) => [h("h2", {}, title), empty("This token may not see them.", h("p", {}, "Log in with one that has the scope ", h("code", {}, "admin"), "."))];

// once shows a secret, after the page: it is there until the reader goes on.
export async function once(what, secret, more = "Keep it now: it is not shown again.") {
  await show(true);
  document.getElementById("made").append(h("div", { class: "made", role: "status" }, h("p", { class: "title" }, what), h("p", {}, more), h("code", { id: "secret" }, secret)));
}

const events = { new: "a new group", regressed: "one that was fixed is back", spiking: "many more dumps of one than usual" };

export async function notify() {
  if (!may("admin")) return forbidden("Notifications");
  const [r, settings] = await Promise.all([ask("hooks"), ask("settings")]);
  return [h("h2", {}, "Notifications"), h("div", { id: "made" }),
    r.hooks.length ? hookTable(r.hooks) : empty("Nobody is told of anything yet.", h("p", {}, "Add a URL or an address below. A test message shows at once whether it gets there.")),
    h("h3", {}, "Tell somebody"), hookForm(r.mail), h("h3", {}, "Tracker of issues"), trackerForm(settings.tracker)];
}

function hookTable(hooks) {
  const remove = async (x) => await sure("Tell nothing any more?", `${x.to} is told of nothing from then on.`, "Remove it") && act(() => ask("hooks/" + x.id, { method: "DELETE" }), "It is told of nothing any more.");
  return table("Who is told", [["to", "what"], ["kind"], ["of"], ["quiet hours"], ["last failure"], [""]], hooks.map((x) => cells(x.to, x.kind, x.events.join(", "), x.quiet || h("span", { class: "dim" }, "none"),
    [x.failure ? h("span", { class: "bad" }, when(x.failed), `: ${x.failure}`) : h("span", { class: "dim" }, "none"), x.dropped ? ` ${x.dropped} not sent` : ""],
    h("span", { class: "row" }, h("button", { type: "button", class: "small", "aria-label": "Test " + x.to, onclick: () => act(() => ask(`hooks/${x.id}/test`, { method: "POST" }), "A test is on its way.") }, "Test"),
      h("button", { type: "button", class: "small", "aria-label": "Remove " + x.to, onclick: () => remove(x) }, "Remove")))));
}

function hookForm(mail) {
  const kinds = { webhook: "webhook: JSON, signed", chat: "chat: Slack, Mattermost and others", ...(mail ? { mail: "mail" } : {}) };
  const form = h("form", { class: "bar panel", onsubmit: async (e) => {
    e.preventDefault();
    const f = new FormData(form);
    try {
      const made = await ask("hooks", { method: "POST", body: JSON.stringify({ kind: f.get("kind"), to: f.get("to").trim(), events: f.getAll("event"), quiet: f.get("quiet").trim() }) });
      if (made.kind === "mail") await show(true); else await once("The key of its signatures", made.secret);
    } catch (err) { complain(err.message); }
  } }, h("label", {}, "Kind", h("select", { name: "kind" }, Object.entries(kinds).map(([k, text]) => h("option", { value: k }, text)))),
    h("label", { class: "wide" }, "Where to: a URL, or an address", h("input", { name: "to", required: true, maxlength: 2000, autocomplete: "off" })),
    h("fieldset", {}, h("legend", {}, "Is told of"), Object.entries(events).map(([k, text]) => h("label", { class: "check" }, h("input", { type: "checkbox", name: "event", value: k, checked: true }), text))),
    h("label", {}, "Quiet hours, if any", h("input", { name: "quiet", placeholder: "22:00-07:00 Europe/Berlin", size: 26, maxlength: 80, autocomplete: "off" })), h("button", { class: "main" }, "Add"));
  return form;
}

function trackerForm(url) {
  const form = h("form", { class: "bar panel", onsubmit: (e) => { e.preventDefault(); act(() => ask("settings", { method: "PUT", body: JSON.stringify({ tracker: new FormData(form).get("tracker").trim() }) }), "The tracker is kept."); } },
    h("label", { class: "wide" }, "New issues are made at a URL with {title}, {group} and {url}", h("input", { name: "tracker", value: url, maxlength: 2000, autocomplete: "off", placeholder: "https://tracker.example/new?title={title}&body={url}" })), h("button", {}, "Keep"));
  return form;
}

const scopes = { upload: "send dumps", symbols: "send symbols", fetch: "get symbols", read: "see everything", triage: "decide about groups", admin: "add people, make tokens, remove dumps" };

export async function tokens() {
  if (!may("admin")) return forbidden("Tokens");
  const r = await ask("tokens");
  const revoke = async (t) => await sure("Revoke the token?", `Programs that use ${t.note || t.id} are refused from then on.`, "Revoke it") && act(() => ask("tokens/" + t.id, { method: "DELETE" }), "The token is revoked.");
  return [h("h2", {}, "Tokens"), h("div", { id: "made" }), r.tokens.length ? table("Tokens of this project", [["note", "what"], ["may"], ["made"], ["id"], [""]], r.tokens.map((t) => cells(t.note || h("span", { class: "dim" }, "no note"), t.scopes.join(", "), [when(t.created), t.expires ? h("span", { class: "dim under" }, "a session") : ""], h("code", {}, t.id),
    h("button", { type: "button", class: "small", onclick: () => revoke(t), "aria-label": "Revoke " + (t.note || t.id) }, "Revoke")))) :
    empty("No token is kept for this project.", h("p", {}, "Make one below, or on the service's machine:"), command("corewalk serve token add --dir DIR --scope upload,read")),
    h("h3", {}, "Make a token"), tokenForm()];
}

// scopeBoxes asks what somebody may do.
export function scopeBoxes(title, checked = []) {
  return h("fieldset", {}, h("legend", {}, title), Object.entries(scopes).map(([s, what]) => h("label", { class: "check" }, h("input", { type: "checkbox", name: "scope", value: s, checked: checked.includes(s) }), h("span", {}, h("b", {}, s), ": " + what))));
}

function tokenForm() {
  const form = h("form", { class: "bar panel", onsubmit: async (e) => {
    e.preventDefault();
    const f = new FormData(form);
    try {
      const t = await ask("tokens", { method: "POST", body: JSON.stringify({ scopes: f.getAll("scope"), note: f.get("note") }) });
      await once("The new token", t.token);
    } catch (err) { complain(err.message); }
  } }, scopeBoxes("It may"),
    h("label", { class: "wide" }, "Note: what has it", h("input", { name: "note", maxlength: 200, autocomplete: "off" })), h("button", { class: "main" }, "Make it"));
  return form;
}
