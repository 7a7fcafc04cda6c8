// The stacks of a dump: of a report, and of a dump that the service has open.
import { ask } from "./ask.js";
import { fill, h, later } from "./dom.js";
import { complain } from "./tell.js";
import { short } from "./words.js";

// crashOf shows why the process died: its causes first. A reason that is the page's title already is not shown again.
export function crashOf(r, title) {
  const c = r.crash;
  const locks = (r.deadlocks || []).map((d) => h("p", { class: "bad" }, `Deadlock (${d.certainty}): tasks ${(d.tasks || []).map((t) => t.id || t).join(", ")}`));
  if (!c) return h("div", {}, locks);
  const i = c.instruction, sure = { certain: "fixed", likely: "quiet", possible: "quiet" };
  return h("div", {}, h("div", { class: "crash" },
    (c.causes || []).map((x) => h("p", { class: "why" }, x.text, " ", x.confidence ? h("span", { class: "badge " + (sure[x.confidence] || "quiet") }, x.confidence) : "")),
    c.message ? h("p", { class: "why" }, h("q", {}, c.message)) : "",
    h("p", {}, h("b", {}, c.signal || c.exception || ""), c.reason && c.reason !== title ? " " + c.reason : "",
      i && i.text ? [" at ", h("code", {}, i.text), " ", Object.entries(i.registers || {}).map(([k, v]) => h("code", { class: "dim" }, `${k} = ${v} `)), i.note ? h("span", { class: "dim" }, i.note) : ""] : "")), locks);
}

// stacksOf shows the stacks of a report, whose frames open to their variables.
export function stacksOf(r) {
  const out = h("div", {});
  const stacks = [...(r.threads || []).map((t) => ({ t, title: `Thread ${t.id}${t.name ? ` "${t.name}"` : ""}${t.crashed ? ", crashed" : ""}` })),
    ...(r.tasks || []).filter((t) => t.kind !== "thread" && t.frames).map((t) => ({ t, title: `${t.kind} ${t.id}${t.name ? ` "${t.name}"` : ""}: ${(t.wait || {}).reason || t.state}` }))];
  stacks.sort((a, b) => (b.t.crashed ? 1 : 0) - (a.t.crashed ? 1 : 0));
  stacks.slice(0, 500).forEach(({ t, title }, i) => {
    const top = (t.frames || [])[0];
    const body = h("details", { open: i === 0 }, h("summary", {}, title, top && i > 0 ? h("span", { class: "dim" }, " " + (top.function || top.pc || "")) : ""));
    fill(body, () => [(t.frames || []).slice(0, 300).map(frame), t.frames && t.frames.length > 300 ? h("p", { class: "dim" }, `and ${t.frames.length - 300} more frames`) : "", typeof t.end === "string" && t.end !== "bottom" ? h("p", { class: "dim" }, t.end) : ""]);
    out.append(body);
  });
  if (stacks.length > 500) out.append(h("p", { class: "dim" }, `and ${stacks.length - 500} more stacks`));
  return out;
}

// entries appends a page of a list that is asked for to an element, and a button for those that follow.
export async function entries(to, path, name, count, make, first = 0) {
  const r = await ask(`${path}first=${first}&count=${count}`);
  const list = (r[name] || []).map((x, i) => make(x, first + i));
  to.append(...list);
  if (r.more) to.append(more(to, path, name, count, make, first + list.length));
  else if (r.end) to.append(h("p", { class: "dim" }, r.end));
  return list[0];
}

function more(to, path, name, count, make, first) {
  const button = h("button", { type: "button", class: "more", onclick: async () => {
    button.disabled = true;
    try {
      const next = await entries(to, path, name, count, make, first);
      button.remove();
      const focus = next && (next.querySelector("summary") || next);
      if (focus) { if (focus.tagName !== "SUMMARY") focus.tabIndex = -1; focus.focus(); }
    } catch (e) {
      button.disabled = false;
      complain(e.message);
    }
  } }, `More ${name}, from number ${first} on`);
  return to.tagName === "UL" ? h("li", {}, button) : button;
}

// stack shows one whose frames are asked for when it is opened.
export function stack(dump, s, n) {
  const title = `${s.kind === "thread" ? "Thread" : s.kind} ${s.id}${s.name ? ` "${s.name}"` : ""}${s.crashed ? ", crashed" : s.status ? ": " + s.status : ""}`;
  return later(h("details", { class: "stack", open: n === 0 }, h("summary", {}, title, s.top ? h("span", { class: "dim mono" }, " " + short(s.top, 120)) : "")), async () => {
    const list = h("div", {});
    await entries(list, `dumps/${dump}/stacks/${n}/frames?`, "frames", 100, (f, i) => openFrame(dump, n, f, i));
    return [list];
  });
}

// openFrame shows a frame whose variables are asked for when it is opened.
function openFrame(dump, stackNumber, f, n) {
  const at = f.file ? `${f.file.split("/").pop()}:${f.line}` : (f.module || "").split("/").pop() + (f.offset ? "+" + f.offset : "");
  const line = frameLine(n, f.signal ? `signal ${f.signal} delivered here` : f.function || f.pc, at + (f.trust === "scan" ? " (found by scanning: it may be wrong)" : ""), f.inlined);
  return later(h("details", { class: "frame" }, h("summary", {}, line)), async () => {
    const path = `dumps/${dump}/stacks/${stackNumber}/frames/${n}/variables?`;
    const r = await ask(path + "count=100");
    const out = [];
    if (r.source) {
      out.push(h("pre", { class: "source", "aria-label": "source of " + at, tabindex: 0 }, r.source.lines.map((text, i) => {
        const now = r.source.first + i === r.source.line;
        return h("span", { class: now ? "now" : null }, `${now ? "\u25b6" : " "}${String(r.source.first + i).padStart(5)}  ${text}\n`);
      })), r.source.newer ? h("p", { class: "dim" }, "The file was changed since the program was built.") : "");
    }
    (r.groups || []).forEach((g, i) => {
      const list = h("ul", { class: "vars", "aria-label": g.name });
      const make = (v, k) => h("li", {}, openVariable(path, v, [i, k], g.name));
      if (!g.variables) {
        if (g.count) out.push(later(h("details", {}, h("summary", {}, `${g.name} (${g.count})`)), async () => { await entries(list, `${path}path=${i}&`, "variables", 100, make); return [list]; }));
        return;
      }
      list.append(...g.variables.map(make));
      if (g.more) list.append(more(list, `${path}path=${i}&`, "variables", 100, make, g.variables.length));
      out.push(list);
    });
    return out.length ? out : [h("p", { class: "dim" }, "Nothing is known of its variables.")];
  });
}

// openVariable shows a variable whose parts are asked for when it is opened.
function openVariable(path, v, at, group) {
  const value = v.reason ? `<${v.reason}>` : v.value ?? "";
  const line = h("code", { title: [group, v.type].filter(Boolean).join(", ") }, `${v.name} = ${short(value, 500)}`, v.entry ? h("span", { class: "dim" }, ` (on entry ${v.entry})`) : "");
  if (!v.parts) return line;
  return later(h("details", {}, h("summary", {}, line)), async () => {
    const list = h("ul", { class: "vars" });
    await entries(list, `${path}path=${at.join(".")}&`, "variables", 100, (x, k) => h("li", {}, openVariable(path, x, [...at, k])));
    return list.children.length ? [list] : [h("p", { class: "dim" }, "nothing")];
  });
}

function frameLine(index, name, at, inlined) {
  return [h("span", { class: "mono dim" }, `#${index} `), h("span", { class: "fn mono" }, name || "unknown"), h("span", { class: "dim" }, " " + at + (inlined ? " (inlined)" : ""))];
}

function frame(f) {
  const at = f.source && f.source.file ? `${f.source.file.split("/").pop()}:${f.source.line}` : (f.module || "").split("/").pop() + (f.offset ? "+" + f.offset : "");
  const vars = [...(f.args || []).map((v) => ["argument", v]), ...(f.locals || []).map((v) => ["local", v])];
  const line = frameLine(f.index, f.function || f.pc, at, f.inline || f.inlined);
  if (!vars.length) return h("div", { class: "frame" }, line);
  const d = h("details", { class: "frame" }, h("summary", {}, line));
  fill(d, () => [h("ul", { class: "vars" }, vars.map(([kind, v]) => h("li", {}, variable(v.name, v.status && v.status !== "glvv_Success" ? `<${v.reason || v.status}>` : v.value, v.type, v.data, kind))))]);
  return d;
}

function variable(name, value, type, data, kind) {
  const line = h("code", { title: [kind, type].filter(Boolean).join(", ") }, `${name} = ${value ?? ""}`);
  if (!data || !(data.children || []).length) return line;
  const d = h("details", {}, h("summary", {}, line));
  fill(d, () => [h("ul", { class: "vars" }, data.children.slice(0, 500).map((c) => h("li", {}, variable(c.name ?? "", (c.data || {}).text ?? textOf(c.data), (c.data || {}).type, c.data))))]);
  return d;
}

const textOf = (data) => data && data.children ? `{${data.children.length}}` : "";
