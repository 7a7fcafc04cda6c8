"use strict";
(() => {
  const form = document.getElementById("cw-find"), box = document.getElementById("cw-q"), said = document.getElementById("cw-said");
  const frames = [...document.querySelectorAll("li[data-f]")];
  const stacks = [...document.querySelectorAll("section.stack")];
  form.hidden = false;
  const words = frames.map(f => f.textContent.toLowerCase());
  const search = () => {
    const q = box.value.trim().toLowerCase();
    let n = 0;
    frames.forEach((f, i) => {
      const hit = q === "" || words[i].includes(q);
      f.classList.toggle("hit-none", !hit);
      if (hit) n++;
    });
    for (const s of stacks) s.classList.toggle("hit-none", q !== "" && !s.querySelector("li[data-f]:not(.hit-none)"));
    said.textContent = q === "" ? "" : n + (n === 1 ? " frame" : " frames");
  };
  let waits = 0;
  box.addEventListener("input", () => { clearTimeout(waits); waits = setTimeout(search, 80); });
  form.addEventListener("submit", e => { e.preventDefault(); search(); });
  const all = open => { for (const d of document.querySelectorAll("li[data-f] > details, details.fold")) d.open = open; };
  document.getElementById("cw-open").addEventListener("click", () => all(true));
  document.getElementById("cw-close").addEventListener("click", () => all(false));
  const step = by => {
    const list = [...document.querySelectorAll("li[data-f]:not(.hit-none) summary, li[data-f]:not(.hit-none) > .f[tabindex]")];
    const at = list.indexOf(document.activeElement);
    const next = list[Math.min(Math.max(at + by, 0), list.length - 1)];
    if (next) { next.focus(); next.scrollIntoView({ block: "nearest" }); }
  };
  document.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "Escape" && e.target === box) { box.value = ""; search(); box.blur(); return; }
    if (e.target.tagName === "INPUT") return;
    switch (e.key) {
      case "/": e.preventDefault(); box.focus(); break;
      case "j": step(1); break;
      case "k": step(-1); break;
      case "e": all(true); break;
      case "c": all(false); break;
    }
  });
  addEventListener("beforeprint", () => all(true));
})();
