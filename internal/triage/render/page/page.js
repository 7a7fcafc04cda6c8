// Search, filters and order of the groups. Texts are set as texts, never as markup.
(function () {
  "use strict";
  var CHUNK = 100; // rows added at a time
  var data = JSON.parse(document.getElementById("cw-data").textContent);
  var list = document.getElementById("cw-list");
  if (!data || !list) return;
  var form = document.getElementById("cw-form");
  var field = {};
  ["q", "kind", "program", "build", "weak", "sort", "new"].forEach(function (name) {
    field[name] = document.getElementById("cw-" + name);
  });
  var shown = document.getElementById("cw-shown");
  var template = document.getElementById("cw-row");
  var groups = data.groups;
  var byID = new Map();
  var matching = []; // groups in the order they are listed
  var rendered = 0; // how many of them are in the document
  var end = document.createElement("div"); // comes into view when more rows are wanted
  end.id = "cw-more";
  list.after(end);

  function names(all, numbers) {
    return (numbers || []).map(function (n) { return all[n]; }).join(" ");
  }

  groups.forEach(function (g, n) {
    g.rank = n + 1;
    g.el = null;
    g.text = [g.r, g.w, g.i, g.s, data.kinds[g.k], names(data.programs, g.p), names(data.builds, g.b)].join(" ").toLowerCase();
    byID.set(g.i, g);
  });
  Array.from(list.children).forEach(function (el) {
    var g = byID.get(el.id);
    if (g) g.el = el;
  });

  function date(seconds) {
    return seconds ? new Date(seconds * 1000).toISOString().slice(0, 10) : "";
  }

  function part(el, name, text) {
    el.querySelector("." + name).textContent = text;
  }

  // row is the element of a group, made when it is wanted first.
  function row(g) {
    if (g.el) return g.el;
    var el = template.content.firstElementChild.cloneNode(true);
    el.id = g.i;
    part(el, "rank", g.rank);
    part(el, "n", String(g.c).replace(/\B(?=(\d{3})+$)/g, "\u202f"));
    part(el, "reason", g.r);
    part(el, "where", g.w || "");
    part(el, "first", date(g.f));
    part(el, "last", date(g.l));
    part(el, "builds", g.n || 0);
    part(el, "id", g.h);
    if (!g.new) el.querySelector(".new").remove();
    if (!g.weak) el.querySelector(".weak").remove();
    el.querySelector(".spark path").setAttribute("d", g.d || "");
    el.querySelector(".body code").textContent = "corewalk triage show " + g.h;
    g.el = el;
    return el;
  }

  var orders = {
    count: function (a, b) { return b.c - a.c || a.rank - b.rank; },
    last: function (a, b) { return (b.l || 0) - (a.l || 0) || a.rank - b.rank; },
    first: function (a, b) { return (b.f || 0) - (a.f || 0) || a.rank - b.rank; },
    oldest: function (a, b) { return (a.f || Infinity) - (b.f || Infinity) || a.rank - b.rank; }
  };

  function wanted() {
    var words = field.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    var kind = field.kind.value, program = field.program.value, build = field.build.value, weak = field.weak.value;
    return function (g) {
      return (kind === "" || g.k === +kind) &&
        (program === "" || (g.p || []).indexOf(+program) >= 0) &&
        (build === "" || (g.b || []).indexOf(+build) >= 0) &&
        (weak === "" || (g.weak || 0) === +weak) &&
        (!field.new.checked || g.new) &&
        words.every(function (w) { return g.text.indexOf(w) >= 0; });
    };
  }

  // grow adds rows until there are n of them.
  function grow(n) {
    n = Math.min(n, matching.length);
    var more = document.createDocumentFragment();
    for (; rendered < n; rendered++) more.append(row(matching[rendered]));
    list.append(more);
  }

  function update() {
    matching = groups.filter(wanted()).sort(orders[field.sort.value] || orders.count);
    rendered = 0;
    list.replaceChildren();
    grow(CHUNK);
    shown.textContent = matching.length === groups.length ? groups.length + "" : matching.length + " of " + groups.length;
  }

  // jump opens the group that the fragment names; the beginning of its name will do.
  function jump() {
    var id = decoded(location.hash.slice(1));
    if (!id || id.indexOf("cw-") === 0) return;
    var g = byID.get(id) || groups.find(function (x) { return x.i.indexOf(id) === 0; });
    if (!g) return;
    if (matching.indexOf(g) < 0) {
      form.reset();
      update();
    }
    grow(matching.indexOf(g) + 1);
    g.el.open = true;
    g.el.scrollIntoView({ block: "start" });
    g.el.firstElementChild.focus({ preventScroll: true });
  }

  function decoded(s) {
    try { return decodeURIComponent(s); } catch (e) { return s; }
  }

  // group is the element of the group that holds the focus.
  function group() {
    var el = document.activeElement && document.activeElement.closest(".g");
    return el && list.contains(el) ? el : null;
  }

  function step(by) {
    var el = group();
    var next = !el ? list.firstElementChild : by > 0 ? el.nextElementSibling : el.previousElementSibling;
    if (!next && by > 0 && rendered < matching.length) {
      grow(rendered + CHUNK);
      next = el.nextElementSibling;
    }
    if (!next) return;
    next.firstElementChild.focus({ preventScroll: true });
    next.firstElementChild.scrollIntoView({ block: "nearest" });
  }

  function key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    var inField = e.target.closest && e.target.closest("input, select, textarea");
    if (e.key === "Escape") {
      if (e.target === field.q) {
        if (field.q.value) {
          field.q.value = "";
          update();
        } else {
          field.q.blur();
        }
      } else if (group()) {
        var el = group();
        el.open = false;
        el.firstElementChild.focus();
      }
      e.preventDefault();
      return;
    }
    if (e.target === field.q && e.key === "Enter") {
      e.preventDefault();
      if (list.firstElementChild) step(1);
      return;
    }
    if (inField) return;
    if (e.key === "/") {
      e.preventDefault();
      field.q.focus();
      field.q.select();
    } else if (e.key === "j" || e.key === "k") {
      e.preventDefault();
      step(e.key === "j" ? 1 : -1);
    }
  }

  var timer = 0;
  field.q.addEventListener("input", function () {
    clearTimeout(timer);
    timer = setTimeout(update, groups.length > 2000 ? 120 : 0);
  });
  form.addEventListener("change", function (e) { if (e.target !== field.q) update(); });
  form.addEventListener("submit", function (e) { e.preventDefault(); });
  form.addEventListener("reset", function () { setTimeout(update, 0); });
  document.addEventListener("keydown", key);
  window.addEventListener("hashchange", jump);
  window.addEventListener("beforeprint", function () { grow(1000); });
  // What a person opens is what the address says, to be copied.
  list.addEventListener("click", function (e) {
    var s = e.target.closest("summary");
    if (!s || !s.parentElement.classList.contains("g")) return;
    try { history.replaceState(null, "", s.parentElement.open ? location.pathname + location.search : "#" + s.parentElement.id); } catch (err) { /* not from every place */ }
  });
  new IntersectionObserver(function (entries) {
    if (entries.some(function (x) { return x.isIntersecting; })) grow(rendered + CHUNK);
  }, { rootMargin: "600px" }).observe(end);

  form.hidden = false;
  document.getElementById("cw-keys").hidden = false;
  update();
  jump();
})();
