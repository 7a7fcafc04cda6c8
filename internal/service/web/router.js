// Which page is shown.
import { ask, may, me } from "./ask.js";
import { h, put, say } from "./dom.js";

const main = document.getElementById("main");
let latest = 0, pages = {}, entrance = null;

// route takes the pages, by the first word after #/, and what is shown in place of them: it returns its content, or null.
export function route(all, first) { pages = all; entrance = first; }

// show shows the page of the address. If it stays, the reader's place on it does.
export async function show(stay) {
  const mine = ++latest;
  const first = await entrance();
  if (mine !== latest) return;
  if (first) { put(main, first); return; }
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [page, ...args] = path.split("/").map(decodeURIComponent);
  document.title = "Crashes";
  for (const a of document.querySelectorAll("nav a")) {
    if (a.getAttribute("href") === "#/" + (page === "g" ? "" : page === "d" ? "dumps" : page)) a.setAttribute("aria-current", "page"); else a.removeAttribute("aria-current");
  }
  let content;
  try {
    content = Object.hasOwn(pages, page) ? await pages[page](args, query) : [h("p", {}, "There is no such page.")];
  } catch (e) {
    if (e.status === 401) { me.who = null; return show(); }
    content = [h("p", { class: "bad", role: "alert" }, e.message)];
  }
  if (mine !== latest) return;
  put(main, content);
  if (!stay) { window.scrollTo(0, 0); main.focus({ preventScroll: true }); }
}

// act does something and shows the page anew.
export async function act(what, said) {
  try {
    await what();
    say(said);
    await show(true);
  } catch (e) {
    say(e.message);
  }
}

// begin asks who is logged in, and shows the page as that one sees it.
export async function begin() {
  try {
    me.who = null;
    me.who = await ask("/api/v1/whoami");
  } catch { me.who = null; }
  document.getElementById("project").textContent = me.who ? me.who.project : "";
  document.getElementById("nav").hidden = !me.who;
  for (const a of document.querySelectorAll("nav .admin")) a.hidden = !may("admin");
  await show();
}
