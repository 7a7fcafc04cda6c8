// The elements of the page. Text from dumps is only ever set as text.
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

export function say(text) { document.getElementById("said").textContent = text; }

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

export function table(caption, heads, rows) {
  return h("table", { class: "list" }, h("caption", { class: "skip" }, caption),
    h("thead", {}, h("tr", {}, heads.map(([name, cls]) => h("th", { scope: "col", class: cls }, name)))),
    h("tbody", {}, rows));
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
