// People who have a password here: for those who administer the project, and for oneself.
import { forbidden, once, scopeBoxes } from "./admin.js";
import { ask, may, me } from "./ask.js";
import { cells, empty, h, table, when } from "./dom.js";
import { both, newPassword, post } from "./login.js";
import { act } from "./router.js";
import { askForm, complain, say, sure } from "./tell.js";

export async function people() {
  if (!may("admin")) return forbidden("People");
  const r = await ask("accounts");
  return [h("h2", {}, "People"), h("div", { id: "made" }),
    r.accounts.length ? table("Accounts of this project", [["name", "what"], ["may"], ["last login"], ["password"], [""]], r.accounts.map(row)) :
      empty("Nobody has an account here.", h("p", {}, "With one a person logs in by a name and a password, and what the person decides and writes has that name. Tokens are for programs.")),
    h("h3", {}, "Add a person"), addForm()];
}

function row(a) {
  const path = "accounts/" + encodeURIComponent(a.name);
  const remove = async () => await sure(`Remove ${a.name}?`, "Who is logged in with this account is logged out at once. What was decided and written stays.", "Remove") && act(() => ask(path, { method: "DELETE" }), `${a.name} is removed.`);
  const change = async () => {
    const f = await askForm(`What may ${a.name} do?`, "Keep", false, scopeBoxes("In this project", a.scopes), h("p", { class: "dim" }, "Who is logged in with this account logs in again."));
    if (f) await act(() => ask(path, { method: "PUT", body: JSON.stringify({ scopes: f.getAll("scope") }) }), "It is kept.");
  };
  const link = async () => { try { await showLink(await ask(path + "/invitation", { method: "POST" })); } catch (e) { complain(e.message); } };
  const button = (text, what, onclick) => h("button", { type: "button", class: "small", "aria-label": `${what} ${a.name}`, onclick }, text);
  return cells(a.name, a.scopes.join(", "), a.seen ? when(a.seen) : h("span", { class: "dim" }, "never"),
    [a.password ? "has one" : h("span", { class: "dim" }, "none yet"), a.invited ? h("span", { class: "dim under" }, "may be chosen by a link") : ""],
    h("span", { class: "row" }, button("Change", "Change what may be done by", change), button("New link", "New link for", link), button("Remove", "Remove", remove)));
}

const showLink = (a) => once(`A link for ${a.name}`, new URL(a.link, location.origin).href, "Give it to nobody else. Whoever opens it chooses the password: once, within three days. It is not shown again.");

function addForm() {
  const form = h("form", { class: "bar panel", onsubmit: async (e) => {
    e.preventDefault();
    const f = new FormData(form);
    try {
      await showLink(await ask("accounts", { method: "POST", body: JSON.stringify({ name: f.get("name").trim(), scopes: f.getAll("scope") }) }));
    } catch (err) { complain(err.message); }
  } }, h("label", { class: "wide" }, "Name: small letters, digits, and . _ -", h("input", { name: "name", required: true, maxlength: 40, autocomplete: "off", autocapitalize: "none", spellcheck: "false" })), scopeBoxes("The person may", ["read", "triage"]), h("button", { class: "main" }, "Add, and make a link"));
  return form;
}

// account is the page of who is logged in.
export async function account() {
  if (!me.who.account) return [h("h2", {}, "Your account"), empty("You are not logged in with a name and a password.")];
  const form = h("form", { class: "stacked narrow", onsubmit: async (e) => {
    e.preventDefault();
    const f = new FormData(form);
    try {
      await post("/account/password", { old: f.get("old"), new: both(f) });
      form.reset();
      say("The password is another one. Where else you were logged in, you are not any more.");
    } catch (err) { complain(err.message); }
  } }, h("input", { name: "name", type: "text", value: me.who.account, autocomplete: "username", readonly: true, hidden: true, "aria-label": "Name" }),
    h("label", {}, "The password now", h("input", { name: "old", type: "password", autocomplete: "current-password", required: true, maxlength: 256 })), newPassword(), h("p", { class: "row" }, h("button", { class: "main" }, "Change the password")));
  return [h("h2", {}, me.who.account), h("p", {}, "In the project ", h("strong", {}, me.who.project), " you may: ", me.who.scopes.join(", "), "."), h("h3", {}, "Change the password"), form];
}
