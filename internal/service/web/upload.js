// Dumps that are sent from the page.
import { may, me } from "./ask.js";
import { empty, h } from "./dom.js";
import { howToSend } from "./lists.js";
import { complain, say } from "./tell.js";
import { size } from "./words.js";

export async function upload() {
  if (!may("upload")) return [h("h2", {}, "Upload dumps"), empty("This token may not upload.", h("p", {}, "Log in with one that has the scope ", h("code", {}, "upload"), ": who administers the project makes it."))];
  const list = h("ul", { class: "sent" });
  const input = h("input", { type: "file", id: "files", multiple: true, onchange: () => send([...input.files], list) });
  const drop = h("div", { class: "drop",
    ondragover: (e) => { e.preventDefault(); drop.classList.add("over"); }, ondragleave: () => drop.classList.remove("over"),
    ondrop: (e) => { e.preventDefault(); drop.classList.remove("over"); send([...e.dataTransfer.files], list); } },
    h("p", { class: "title" }, h("label", { for: "files" }, "Drop dumps here, or choose them")), h("p", {}, input), h("p", { class: "dim" }, "ELF cores, minidumps and packs, also compressed. What is broken off goes on where it was."));
  return [h("h2", {}, "Upload dumps"), drop, list, h("h3", {}, "From elsewhere"), howToSend()];
}

async function send(files, list) {
  for (const f of files) {
    const bar = h("progress", { max: Math.max(f.size, 1), value: 0, "aria-label": "sent of " + f.name }), text = h("span", {}, f.name + ": sending");
    list.append(h("li", {}, text, h("span", { class: "dim" }, " " + size(f.size)), bar));
    try {
      const id = await resumable(f, (n) => { bar.value = n; });
      text.replaceChildren(f.name + ": ", h("a", { href: "#/d/" + id }, "sent"));
      say(f.name + " was sent.");
    } catch (e) {
      text.replaceChildren(h("span", { class: "bad" }, `${f.name}: ${e.message}`));
      complain(`${f.name} was not sent: ${e.message}`);
    }
    bar.remove();
  }
}

// resumable sends a file in parts, by the tus protocol: after a broken connection it goes on where the service is.
async function resumable(file, progress) {
  const headers = { "Tus-Resumable": "1.0.0", "X-Requested-With": "corewalk" };
  const name = btoa(String.fromCharCode(...new TextEncoder().encode(file.name)));
  const made = await fetch(`/api/v1/projects/${me.who.project}/uploads/`, { method: "POST", headers: { ...headers, "Upload-Length": String(file.size), "Upload-Metadata": "filename " + name } });
  if (!made.ok) throw new Error((await made.text()).slice(0, 200) || made.statusText);
  const url = new URL(made.headers.get("Location"), location.href).pathname;
  let at = 0, failures = 0;
  for (;;) {
    try {
      const r = await fetch(url, { method: "PATCH", headers: { ...headers, "Upload-Offset": String(at), "Content-Type": "application/offset+octet-stream" }, body: file.slice(at, at + (8 << 20)) });
      if (!r.ok) throw Object.assign(new Error((await r.text()).slice(0, 200) || r.statusText), { final: r.status < 500 && r.status !== 409 });
      failures = 0;
      at = Number(r.headers.get("Upload-Offset"));
      progress(at);
      if (at >= file.size) return r.headers.get("X-Corewalk-Dump");
    } catch (e) {
      if (e.final || ++failures > 5) throw e;
      await new Promise((done) => setTimeout(done, 500 * 2 ** failures));
      const r = await fetch(url, { method: "HEAD", headers });
      if (!r.ok) throw new Error("the upload is gone: send it again");
      at = Number(r.headers.get("Upload-Offset"));
    }
  }
}
