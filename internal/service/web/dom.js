// The elements of the page. Text from dumps is only ever set as text.
import { ago, exact, known } from "./words.js";

// h makes an element. Attributes that begin with "on" are listeners; null ones are left out.
export function h(tag, attrs, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else el.setAttribute(name, value === true ? "" : value);
  }
  for (const c of children.flat(9)) {
    if (c !== null && c !== undefined && c !== "") el.append(c);
  }
  return el;
}

// put shows what a page returned: lists of elements and texts, with nothing in places.
export function put(to, content) { to.replaceChildren(...content.flat(9).filter((x) => x !== "" && x !== null && x !== undefined)); }

// when says how long ago a time was; the exact one is there for who points at it, and for who hears the page.
export function when(t) {
  if (!known(t)) return "";
  return h("time", { datetime: t, title: exact(t) }, h("span", {}, ago(t)), h("span", { class: "heard" }, ` (${exact(t)})`));
}

setInterval(() => {
  for (const t of document.querySelectorAll("time[datetime]")) {
    const now = ago(t.dateTime);
    if (t.firstChild.textContent !== now) t.firstChild.textContent = now;
  }
}, 30_000);

// withLinks makes links of the addresses in a text.
export function withLinks(text) {
  return text.split(/(https?:\/\/[^\s<>"']+)/).map((part, i) => i % 2 ? h("a", { href: part, rel: "noopener noreferrer nofollow", target: "_blank" }, part) : part);
}

// outside is a link to elsewhere; only to what is one.
export function outside(url, text) {
  return /^https?:\/\//.test(url || "") ? h("a", { href: url, rel: "noopener noreferrer", target: "_blank" }, text || url) : url || "";
}

export function facts(list) {
  return h("dl", {}, list.filter(([, v]) => v !== "" && v !== null && v !== undefined && v.length !== 0).map(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]));
}

// table makes a table. On narrow screens each row is a card, and each value in it has its column's name: what is laid out so is a table only by its roles.
export function table(caption, heads, rows) {
  rows = rows.flat(9);
  for (const row of rows) {
    row.setAttribute("role", "row");
    [...row.children].forEach((cell, i) => {
      cell.setAttribute("role", "cell");
      const [name, kind] = heads[i] || [];
      if (kind) cell.classList.add(kind);
      if (typeof name === "string" && name) cell.dataset.label = name;
    });
  }
  return h("table", { class: "list", role: "table" }, h("caption", { class: "heard" }, caption),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, heads.map(([name, kind]) => name === "" ? h("td", { class: kind, role: "cell" }) : h("th", { scope: "col", role: "columnheader", class: kind }, name)))),
    h("tbody", { role: "rowgroup" }, rows));
}

// cells makes a row.
export const cells = (...list) => h("tr", {}, list.map((x) => h("td", {}, x)));

// empty is what is shown in place of a list that has nothing: what is missing, and what to do next.
export function empty(title, ...next) {
  return h("div", { class: "empty" }, h("p", { class: "title" }, title), next);
}

// command is what is typed into a terminal, with a button that copies it.
export function command(text) {
  const copy = navigator.clipboard ? h("button", { type: "button", class: "small", onclick: () => navigator.clipboard.writeText(text).then(() => { copy.textContent = "Copied"; setTimeout(() => { copy.textContent = "Copy"; }, 3000); }, () => copy.remove()) }, "Copy") : "";
  return h("div", { class: "command" }, h("pre", { tabindex: 0, "aria-label": "command" }, h("code", {}, text)), copy);
}

// fill makes the content of an element when it is opened first.
export function fill(details, content) {
  let done = false;
  const make = () => { if (details.open && !done) { done = true; details.append(...content().flat(9).filter((x) => x !== "")); } };
  details.addEventListener("toggle", make);
  make();
}

// later makes the content of an element when it is opened first, from what has to be asked for.
export function later(details, content) {
  let asked = false;
  const make = async () => {
    if (!details.open || asked) return;
    asked = true;
    const wait = h("p", { class: "dim", role: "status" }, "Reading\u2026");
    details.append(wait);
    try {
      wait.replaceWith(...(await content()).flat(9).filter((x) => x !== ""));
    } catch (e) {
      asked = false; // the next opening tries again
      const why = h("p", { class: "bad" }, e.message);
      details.addEventListener("toggle", () => why.remove(), { once: true });
      wait.replaceWith(why);
    }
  };
  details.addEventListener("toggle", make);
  make();
  return details;
}
