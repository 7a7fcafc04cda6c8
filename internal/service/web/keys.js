// Keys move through the rows of the page's first list.
const main = document.getElementById("main");

export function listen() {
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) { if (e.key === "Escape") e.target.blur(); return; }
    const rows = [...main.querySelectorAll("table.list tbody tr")], now = rows.findIndex((r) => r.classList.contains("here"));
    if (e.key === "/") { const q = document.getElementById("q"); if (q) { e.preventDefault(); q.focus(); } }
    else if ((e.key === "j" || e.key === "k") && rows.length) {
      const next = Math.min(rows.length - 1, Math.max(0, now + (e.key === "j" ? 1 : -1)));
      if (now >= 0) rows[now].classList.remove("here");
      rows[next].classList.add("here");
      const link = rows[next].querySelector("a");
      if (link) link.focus();
      rows[next].scrollIntoView({ block: "nearest" });
    } else if (e.key === "u") history.back();
  });
}
