// Which page is shown.
import { ask, may, me } from "./ask.js";
import { empty, h, put } from "./dom.js";
import { complain, say } from "./tell.js";

const main = document.getElementById("main");
const above = { g: "", d: "dumps" }; // in which list a page's thing is
let latest = 0, pages = {}, entrance = null, visited = 0;

// route takes the pages, by the first word after #/, and what is shown in place of them: it returns its content, or null.
export function route(all, first) { pages = all; entrance = first; }

const parts = () => {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return [path.split("/").map((x) => { try { return decodeURIComponent(x); } catch { return x; } }), query];
};

// show shows the page of the address. If it stays, the reader's place on it does.
export async function show(stay) {
  const mine = ++latest;
  const first = await entrance();
  if (mine !== latest) return;
  if (first) { put(main, first); return; }
  const [[page, ...args], query] = parts();
  document.title = "Crashes";
  for (const a of document.querySelectorAll("nav a")) {
    if (a.getAttribute("href") === "#/" + (above[page] ?? page)) a.setAttribute("aria-current", "page"); else a.removeAttribute("aria-current");
  }
  let content;
  try {
    content = Object.hasOwn(pages, page) ? await pages[page](args, query) : [h("h2", {}, "There is no such page"), empty("The address names a page that this service does not have.", h("p", {}, h("a", { href: "#/" }, "All groups")))];
  } catch (e) {
    if (e.status === 401) { me.who = null; return show(); }
    content = [h("h2", {}, e.status === 404 ? "Not found" : "That failed"), h("p", { class: "bad", role: "alert" }, e.message), h("p", {}, h("a", { href: "#/" + (above[page] ?? "") }, "Back to the list"))];
  }
  if (mine !== latest) return;
  put(main, content);
  if (!stay) { visited++; window.scrollTo(0, 0); main.focus({ preventScroll: true }); }
}

// back goes to the page before, or, on the first one that was opened, to the list that it belongs to.
export function back() {
  if (visited > 1) history.back(); else location.hash = "#/" + (above[parts()[0][0]] ?? "");
}

// act does something and shows the page anew.
export async function act(what, done) {
  try {
    await what();
    say(done);
    await show(true);
  } catch (e) {
    complain(e.message);
  }
}

// other leads to another project of the same person: the provider, or the service, makes another session.
function other(x) {
  const name = "Go to the project " + x;
  if (!me.who.account) return h("a", { href: "/login/oidc?" + new URLSearchParams({ project: x }), "aria-label": name }, x);
  return h("button", { type: "button", class: "plain", "aria-label": name, onclick: async () => {
    const r = await fetch("/login/project", { method: "POST", headers: { "X-Requested-With": "corewalk" }, body: new URLSearchParams({ project: x }) });
    if (r.ok) location.hash = "#/"; else complain("This project is not open to you any more.");
    await begin();
  } }, x);
}

// begin asks who is logged in, and shows the page as that one sees it.
export async function begin() {
  try {
    me.who = null;
    me.who = await ask("/api/v1/whoami");
  } catch { me.who = null; }
  document.getElementById("project").textContent = me.who ? me.who.project : "";
  document.getElementById("others").replaceChildren(...((me.who || {}).also || []).map(other));
  const self = document.getElementById("self");
  self.hidden = !(me.who && me.who.account);
  self.textContent = self.hidden ? "" : me.who.account;
  document.getElementById("nav").hidden = !me.who;
  for (const a of document.querySelectorAll("nav .admin")) a.hidden = !may("admin");
  await show();
}
