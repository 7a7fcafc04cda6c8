// Keys move through the rows of the page's first list.
import { back } from "./router.js";

const main = document.getElementById("main");

export function listen() {
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName) && e.target.type !== "checkbox") { if (e.key === "Escape") e.target.blur(); return; }
    const list = main.querySelector("table.list"), rows = list ? [...list.tBodies[0].rows] : [], now = rows.findIndex((r) => r.classList.contains("here"));
    if (e.key === "/") { const q = document.getElementById("q"); if (q) { e.preventDefault(); q.focus(); q.select(); } }
    else if ((e.key === "j" || e.key === "k") && rows.length) go(rows, now, Math.min(rows.length - 1, Math.max(0, now + (e.key === "j" ? 1 : -1))));
    else if (e.key === "x" && now >= 0) { const box = rows[now].querySelector("input[type=checkbox]"); if (box) box.click(); }
    else if (e.key === "u") back();
  });
}

function go(rows, from, to) {
  if (from >= 0) rows[from].classList.remove("here");
  rows[to].classList.add("here");
  const link = rows[to].querySelector("a");
  if (link) link.focus();
  rows[to].scrollIntoView({ block: "nearest" });
}
