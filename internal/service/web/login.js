// How one gets in: with a name and a password, with a token, or by a link that has one.
import { me } from "./ask.js";
import { h, put, when } from "./dom.js";
import { begin, show } from "./router.js";

const main = document.getElementById("main");
let failed = ""; // why a login failed
let linked = null; // the token of the link that was opened, until the reader has decided
let invited = null; // the name and the secret of a link with which a password is chosen

// takeLink takes the secret out of the address of a link that logs in, or with which one chooses a password.
export function takeLink() {
  const person = /^#\/in\/([a-z][a-z0-9._-]*)\/([\w-]+)$/.exec(location.hash);
  if (person) {
    history.replaceState(null, "", "#/");
    invited = { name: person[1], secret: person[2] };
  }
  const token = /^#(cw_\w[\w-]*)$/.exec(location.hash);
  if (!token) return;
  history.replaceState(null, "", "#/");
  linked = token[1];
}

// entrance is what is shown to those who are not in, or have opened a link.
export async function entrance() {
  if (invited) return invitedPage(invited);
  if (linked) return linkPage(linked);
  return me.who ? null : loginPage();
}

async function login(token) {
  const r = await fetch("/login", { method: "POST", headers: { "X-Requested-With": "corewalk" }, body: new URLSearchParams({ token }) });
  if (!r.ok) throw new Error("This token is not known.");
}

// post sends a form about passwords, and returns the answer. The error is the service's, to be shown.
export async function post(path, fields) {
  const r = await fetch(path, { method: "POST", headers: { "X-Requested-With": "corewalk" }, body: new URLSearchParams(fields) });
  if (r.ok) return r.status === 204 ? null : r.json();
  const said = await r.json().catch(() => ({}));
  throw new Error(said.error || "The service does not answer.");
}

// failures are why a login by an identity provider failed, by the word that the service puts into the address.
const failures = {
  provider: "The identity provider does not answer as it should. Who runs the service finds more in its log.",
  state: "The login took too long, or began in another browser. Try again.",
  refused: "The identity provider refused the login.",
  nobody: "You are known, and no project here is open to you. Ask who administers it.",
  busy: "Too many people log in at this moment. Try again.",
};

// takeFailure takes why a login failed out of the address.
export function takeFailure() {
  const code = /^#\/out\/(\w+)$/.exec(location.hash);
  if (!code) return;
  history.replaceState(null, "", "#/");
  failed = Object.hasOwn(failures, code[1]) ? failures[code[1]] : "The login failed.";
}

async function loginPage(why) {
  const ways = await fetch("/login/ways").then((r) => r.json(), () => ({}));
  const provider = ways.oidc ? [h("p", {}, h("a", { class: "button main", id: "oidc", href: "/login/oidc" }, "Log in with " + ways.oidc)), h("p", { class: "dim" }, "Or:")] : "";
  return [h("h2", {}, "Log in"), why || failed ? h("p", { class: "bad", role: "alert" }, why || failed) : "", provider, ways.password ? [passwordForm(), h("p", { class: "dim" }, "Or:")] : "", tokenForm()];
}

function passwordForm() {
  const form = h("form", { class: "bar", id: "person", onsubmit: async (e) => {
    e.preventDefault();
    const f = new FormData(form);
    try {
      await post("/login/password", { name: f.get("name").trim(), password: f.get("password") });
      failed = "";
      location.hash = "#/";
      await begin();
    } catch (err) { put(main, await loginPage(err.message)); document.querySelector("#person [name=name]").value = f.get("name"); }
  } }, h("label", {}, "Name", h("input", { name: "name", autocomplete: "username", autocapitalize: "none", spellcheck: "false", required: true, maxlength: 40, size: 20 })),
    h("label", {}, "Password", h("input", { name: "password", type: "password", autocomplete: "current-password", required: true, maxlength: 256, size: 28 })), h("button", { class: "main" }, "Log in"));
  return form;
}

function tokenForm() {
  const field = h("input", { id: "token", name: "token", type: "password", autocomplete: "off", required: true, size: 50 });
  return [h("p", { class: "dim" }, "With a token of a project. The service writes the first one into its directory when it starts; who administers the project makes others."),
    h("form", { class: "bar", onsubmit: async (e) => {
      e.preventDefault();
      try { await login(field.value); failed = ""; location.hash = "#/"; await begin(); } catch (err) { put(main, await loginPage(err.message)); }
    } }, h("label", { class: "wide" }, "Token", field), h("button", {}, "Log in with it"))];
}

// newPassword has two fields for a password that one chooses; both returns it, or says that they differ.
export function newPassword() {
  return ["A new password, of at least 10 characters", "The same again"].map((text, i) => h("label", {}, text, h("input", { name: i ? "again" : "new", type: "password", autocomplete: "new-password", required: true, minlength: 10, maxlength: 256 })));
}

export function both(f) {
  if (f.get("new") !== f.get("again")) throw new Error("These are two different passwords.");
  return f.get("new");
}

// invitedPage has who was sent a link choose a password.
async function invitedPage({ name, secret }) {
  let to;
  try {
    to = await post("/login/invitation", { name, secret });
  } catch (err) {
    invited = null;
    return loginPage(err.message);
  }
  const why = h("p", { class: "bad", role: "alert" });
  const form = h("form", { class: "stacked narrow", id: "choose", onsubmit: async (e) => {
    e.preventDefault();
    try {
      await post("/login/invitation", { name, secret, password: both(new FormData(form)) });
      invited = null;
      await begin();
    } catch (err) { why.textContent = err.message; }
  } }, h("input", { name: "name", type: "text", value: to.name, autocomplete: "username", readonly: true, hidden: true, "aria-label": "Name" }), newPassword(), why,
    h("p", { class: "row" }, h("button", { class: "main" }, "Choose it, and log in"), h("button", { type: "button", class: "plain", onclick: async () => { invited = null; await show(); } }, "Not now")));
  return [h("h2", {}, "Welcome, ", to.name), h("p", {}, "Choose the password with which you log in from now on. The link is of use once, and no more after ", when(to.until), "."),
    me.who ? h("p", {}, "You are logged in to the project ", h("strong", {}, me.who.project), ", and would be logged out there.") : "", form];
}

// linkPage asks before a link logs in: who made the link sees what is uploaded and decided with its token.
async function linkPage(token) {
  let to;
  try {
    const r = await fetch("/api/v1/whoami", { headers: { Authorization: "Bearer " + token }, credentials: "omit" });
    if (!r.ok) throw new Error();
    to = await r.json();
  } catch {
    linked = null;
    return loginPage("The token in this link is not known.");
  }
  const yes = h("button", { type: "button", class: "main", id: "link-yes", onclick: async () => {
    try { await login(token); linked = null; await begin(); } catch (err) { put(main, await loginPage(err.message)); }
  } }, "Log in");
  const no = h("button", { type: "button", id: "link-no", onclick: async () => { linked = null; await show(); } }, "Do not");
  return [h("h2", {}, "Log in by this link?"),
    h("p", {}, "The link has a token of the project ", h("strong", {}, to.project), to.note ? [" (", to.note, ")"] : "", ". Whoever made it can see what you do with it."),
    me.who ? h("p", {}, "You are logged in to the project ", h("strong", {}, me.who.project), ", and would be logged out there.") : "",
    h("p", { class: "row" }, yes, no)];
}
