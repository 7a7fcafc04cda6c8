// How one gets in: with a token, or by a link that has one.
import { me } from "./ask.js";
import { h, put } from "./dom.js";
import { begin, show } from "./router.js";

const main = document.getElementById("main");
let failed = ""; // why a login failed
let linked = null; // the token of the link that was opened, until the reader has decided

// takeLink takes the token out of the address of a link that logs in.
export function takeLink() {
  const token = /^#(cw_\w[\w-]*)$/.exec(location.hash);
  if (!token) return;
  history.replaceState(null, "", "#/");
  linked = token[1];
}

// entrance is what is shown to those who are not in, or have opened a link.
export async function entrance() {
  if (linked) return linkPage(linked);
  return me.who ? null : loginPage();
}

async function login(token) {
  const r = await fetch("/login", { method: "POST", headers: { "X-Requested-With": "corewalk" }, body: new URLSearchParams({ token }) });
  if (!r.ok) throw new Error("This token is not known.");
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
  return loginForm(why || failed, provider);
}

function loginForm(why, provider) {
  const field = h("input", { id: "token", name: "token", type: "password", autocomplete: "current-password", required: true, size: 50 });
  return [h("h2", {}, "Log in"), h("p", { class: "dim" }, "With a token of a project. The service writes the first one into its directory when it starts; who administers the project makes others."), why ? h("p", { class: "bad", role: "alert" }, why) : "", provider,
    h("form", { class: "bar", onsubmit: async (e) => {
      e.preventDefault();
      try { await login(field.value); failed = ""; location.hash = "#/"; await begin(); } catch (err) { put(main, await loginPage(err.message)); }
    } }, h("label", { class: "wide" }, "Token", field), h("button", { class: "main" }, "Log in"))];
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
