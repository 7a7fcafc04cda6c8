// What the page tells of what was done, and what it asks before.
import { h } from "./dom.js";

// shown is how long what was done is shown, in milliseconds.
const shown = 6000;
const said = document.getElementById("said"), trouble = document.getElementById("trouble");
let end = 0;

function hide() { said.textContent = ""; }
said.addEventListener("pointerenter", () => clearTimeout(end));
said.addEventListener("pointerleave", () => { end = setTimeout(hide, shown); });

// say tells of what was done: once, and for some seconds.
export function say(text) {
  clearTimeout(end);
  said.textContent = text;
  end = setTimeout(hide, shown);
}

// complain tells of what failed, until it is closed. What is said already is not said again.
export function complain(text) {
  hide();
  if ([...trouble.children].some((x) => x.firstChild.textContent === text)) return;
  const box = h("div", { class: "trouble" }, h("p", {}, text), h("button", { type: "button", class: "plain", "aria-label": "Close: " + text, onclick: () => box.remove() }, "\u00d7"));
  trouble.append(box);
}

// askForm asks in a dialog, and returns its form's data, or null if it was left.
export function askForm(title, yes, danger, ...content) {
  return new Promise((done) => {
    let answer = null;
    const form = h("form", { onsubmit: (e) => { e.preventDefault(); answer = new FormData(form); dialog.close(); } },
      h("h2", { id: "asked" }, title), content,
      h("p", { class: "row" }, h("button", { class: danger ? "danger" : "main" }, yes), h("button", { type: "button", class: "plain", autofocus: danger, onclick: () => dialog.close() }, "Cancel")));
    const dialog = h("dialog", { "aria-labelledby": "asked", onclose: () => { dialog.remove(); done(answer); } }, form);
    document.body.append(dialog);
    dialog.showModal();
  });
}

// askText asks for a line of text, and returns "" if there is none.
export async function askText(title, label, yes, value = "", most = 200) {
  const f = await askForm(title, yes, false, h("label", {}, label, h("input", { name: "text", value, maxlength: most, required: true, autocomplete: "off" })));
  return f ? f.get("text").trim() : "";
}

// sure asks whether something is to be done that cannot be undone.
export async function sure(title, text, yes) { return Boolean(await askForm(title, yes, true, h("p", {}, text))); }
