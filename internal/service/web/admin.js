// What those who administer a project see.
import { ask, may } from "./ask.js";
import { h, say, table } from "./dom.js";
import { act, show } from "./router.js";
import { minute } from "./words.js";

export async function notify() {
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
}

export async function tokens() {
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
}
