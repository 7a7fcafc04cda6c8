// The map of the heap, search, and the order of the tables. Texts are set as texts, never as markup.
(function () {
  "use strict";
  var MOST = 1500; // tiles in the map at a time
  var LEAST = 5; // pixels of a tile's sides
  var HEAD = 18; // pixels for the name of a tile that has others in it
  var data = JSON.parse(document.getElementById("cw-data").textContent);
  var form = document.getElementById("cw-form");
  var query = document.getElementById("cw-q");
  var by = document.getElementById("cw-by");
  var map = document.getElementById("cw-map");
  var box = document.getElementById("cw-tiles");
  var crumbs = document.getElementById("cw-crumbs");
  var info = document.getElementById("cw-info");
  var typeTable = document.getElementById("cw-typelist");
  var rows = Array.from(typeTable.tBodies[0].rows);

  // size is a number of bytes for people, as reports have it.
  function size(n) {
    if (n < 1000) return n + " bytes";
    var unit = 0;
    for (; n >= 999.5 && unit < 4; unit++) n /= 1000;
    return (n < 9.95 ? n.toFixed(1) : n.toFixed(0)) + "\u00a0" + " kMGT"[unit] + "B";
  }

  function count(n) {
    return String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f") + (n === 1 ? " object" : " objects");
  }

  function share(n, of) {
    var p = of ? 100 * n / of : 0;
    return (p < 9.95 && p > 0 ? p.toFixed(1) : p.toFixed(0)) + "\u00a0%";
  }

  document.querySelectorAll("[data-b]").forEach(function (el) {
    if (el.id === "cw-resttypes") return;
    el.title = el.textContent + " bytes";
    el.textContent = size(+el.dataset.b);
  });

  // Two trees: what keeps what alive, and types alone. A node has a name, kids, and figures.
  function node(name, look, n, own, total) {
    return { name: name, look: look, count: n, own: own, total: total, kids: [], up: null, text: name.toLowerCase() };
  }

  function colour(name) {
    var h = 0;
    for (var i = 0; i < name.length; i++) h = (h * 31 + name.charCodeAt(i)) >>> 0;
    return "c" + h % 8;
  }

  function join(up, kid) {
    kid.up = up;
    up.kids.push(kid);
  }

  // complete adds what a node has besides its kids, and puts the largest first.
  function complete(n) {
    var rest = n.total - n.own;
    n.kids.forEach(function (k) { rest -= k.total; });
    if (n.kids.length && n.own && n.up) join(n, node("itself", n.look, n.count, n.own, n.own));
    if (rest > 0) join(n, node("other", "cx", 0, rest, rest));
    n.kids.sort(function (a, b) { return b.total - a.total; });
    // Only what is below is counted; a tile says how many objects are in all of it.
    n.all = n.kids.reduce(function (s, k) { return s + (k.name === "itself" ? 0 : k.all || 0); }, n.count);
  }

  var owners = (function () {
    var list = data.tree.map(function (e, i) {
      var name = i ? data.names[e[1]] : "heap";
      var look = !i ? "cr" : data.roots[e[1]] ? (name === "(unreached)" ? "cl" : "cr") : colour(name);
      return node(name, look, e[2], e[3], e[4]);
    });
    list.forEach(function (n, i) { if (i) join(list[data.tree[i][0]], n); });
    for (var i = list.length - 1; i >= 0; i--) complete(list[i]);
    return list[0];
  })();

  var types = (function () {
    var root = node("heap", "cr", 0, 0, owners.total);
    rows.forEach(function (r) {
      var name = r.cells[0].textContent, bytes = +r.cells[2].dataset.v;
      if (bytes) join(root, node(name, colour(name), +r.cells[1].dataset.v, bytes, bytes));
    });
    root.kids.forEach(complete);
    complete(root);
    return root;
  })();

  var root = owners, at = owners; // what the map shows
  var tiles = []; // those that are there: {n, el, x, y, w, h}

  // squarify puts nodes into a rectangle, each as square as can be (Bruls, Huizing, van Wijk).
  function squarify(kids, x, y, w, h, put) {
    var sum = kids.reduce(function (s, k) { return s + k.total; }, 0);
    if (!sum) return;
    var scale = w * h / sum, i = 0;
    while (i < kids.length && w > 0 && h > 0) {
      var side = Math.min(w, h), area = 0, worst = Infinity, j = i;
      for (; j < kids.length; j++) {
        var a = kids[j].total * scale, s = area + a;
        var w2 = side * side, most = kids[i].total * scale;
        var now = Math.max(w2 * most / (s * s), s * s / (w2 * a));
        if (j > i && now > worst) break;
        worst = now;
        area = s;
      }
      var thick = area / side, along = 0;
      for (; i < j; i++) {
        var long = kids[i].total * scale / thick;
        if (w >= h) put(kids[i], x, y + along, thick, long);
        else put(kids[i], x + along, y, long, thick);
        along += long;
      }
      if (w >= h) { x += thick; w -= thick; } else { y += thick; h -= thick; }
    }
  }

  function draw() {
    var made = document.createDocumentFragment();
    tiles = [];
    function fill(n, x, y, w, h, depth) {
      squarify(n.kids, x, y, w, h, function (k, x, y, w, h) {
        if (w < LEAST || h < LEAST || tiles.length >= MOST) return;
        var el = document.createElement("button");
        el.type = "button";
        el.tabIndex = tiles.length ? -1 : 0;
        el.className = "tile " + k.look + (k.kids.length ? "" : " leaf") + (w < 40 || h < 14 ? " small" : "");
        el.style.left = x + "px";
        el.style.top = y + "px";
        el.style.width = w + "px";
        el.style.height = h + "px";
        el.setAttribute("aria-label", k.name + ", " + size(k.total) + ", " + share(k.total, root.total));
        if (w >= 40 && h >= 14) {
          var name = document.createElement("span");
          name.textContent = k.name;
          el.append(name);
          if (h >= 34 && !k.kids.length || h >= 14 && w >= 150) {
            var s = document.createElement("span");
            s.className = "size";
            s.textContent = size(k.total);
            if (k.kids.length || h < 34) name.append(" ", s), s.style.display = "inline";
            else el.append(s);
          }
        }
        tiles.push({ n: k, el: el, x: x, y: y, w: w, h: h });
        made.append(el);
        if (k.kids.length && depth < 3 && w > 24 && h > HEAD + 14) fill(k, x + 2, y + HEAD, w - 4, h - HEAD - 2, depth + 1);
      });
    }
    fill(at, 0, 0, box.clientWidth, box.clientHeight, 0);
    box.replaceChildren(made);
    trail();
    dim();
  }

  function trail() {
    var list = [];
    for (var n = at; n; n = n.up) list.unshift(n);
    crumbs.replaceChildren();
    list.forEach(function (n, i) {
      if (i) {
        var mark = document.createElement("span");
        mark.textContent = "\u203a";
        crumbs.append(mark);
      }
      var b = document.createElement("button");
      b.type = "button";
      b.textContent = n.name;
      b.disabled = n === at;
      b.addEventListener("click", function () { go(n); });
      crumbs.append(b);
    });
    tell(at);
  }

  // tell describes a node below the map.
  function tell(n) {
    var path = [];
    for (var m = n.up; m && m.up; m = m.up) path.push(m.name);
    var b = document.createElement("b");
    b.textContent = n.name;
    var text = " " + size(n.total) + ", " + share(n.total, root.total);
    if (n.name !== "other" && n.all) text += ", " + count(n.all);
    if (path.length) text += ", reached by " + path.join(" \u2039 ");
    info.replaceChildren(b, text);
  }

  function go(n) {
    var from = at;
    if (n === at || !n.kids.length) return;
    at = n;
    draw();
    // Where one came from has the focus; else the first.
    var t = tiles.find(function (t) { return t.n === from; }) || tiles[0];
    if (t) focus(t);
  }

  function tileOf(el) {
    var b = el && el.closest && el.closest(".tile");
    return b && tiles.find(function (t) { return t.el === b; });
  }

  function focus(t) {
    tiles.forEach(function (o) { o.el.tabIndex = -1; });
    t.el.tabIndex = 0;
    t.el.focus({ preventScroll: true });
  }

  // beside is the nearest tile in a direction that is not within this one, nor around it.
  function beside(t, key) {
    var best = null, least = Infinity;
    var cx = t.x + t.w / 2, cy = t.y + t.h / 2;
    tiles.forEach(function (o) {
      if (o === t || o.n.up !== t.n.up && inside(o.n, t.n) || inside(t.n, o.n)) return;
      var dx = o.x + o.w / 2 - cx, dy = o.y + o.h / 2 - cy;
      var along = key === "ArrowRight" ? dx : key === "ArrowLeft" ? -dx : key === "ArrowDown" ? dy : -dy;
      var across = Math.abs(key === "ArrowRight" || key === "ArrowLeft" ? dy : dx);
      if (along < 1) return;
      var far = along + 2 * across + (o.n.up === t.n.up ? 0 : 40);
      if (far < least) {
        least = far;
        best = o;
      }
    });
    return best;
  }

  function inside(n, of) {
    for (; n; n = n.up) if (n === of) return true;
    return false;
  }

  // step shows what was clicked: of nested tiles the one right below what is shown.
  function step(n) {
    if (!n.kids.length) n = n.up;
    while (n.up && n.up !== at && n !== at) n = n.up;
    go(n);
  }

  box.addEventListener("click", function (e) {
    var t = tileOf(e.target);
    if (t) step(t.n);
  });
  box.addEventListener("focusin", function (e) {
    var t = tileOf(e.target);
    if (t) tell(t.n);
  });
  box.addEventListener("mouseover", function (e) {
    var t = tileOf(e.target);
    if (t) tell(t.n);
  });
  box.addEventListener("mouseleave", function () {
    var t = tileOf(document.activeElement);
    tell(t ? t.n : at);
  });

  function words() { return query.value.toLowerCase().split(/\s+/).filter(Boolean); }

  function has(text, list) {
    return list.every(function (w) { return text.indexOf(w) >= 0; });
  }

  function dim() {
    var list = words();
    tiles.forEach(function (t) {
      var on = !list.length;
      for (var n = t.n; n && !on; n = n.up) on = has(n.text, list);
      t.el.classList.toggle("off", !on && !t.n.kids.some(function found(k) { return has(k.text, list) || k.kids.some(found); }));
    });
  }

  var tables = [];
  [typeTable, document.getElementById("cw-objectlist")].forEach(function (table) {
    if (!table) return;
    var body = table.tBodies[0], all = Array.from(body.rows);
    var shown = table.closest("section").querySelector(".shown");
    var most = {};
    all.forEach(function (r, i) {
      r.text = r.cells[0].textContent.toLowerCase();
      r.rank = i;
      Array.from(r.cells).forEach(function (c, k) { if (c.dataset.b) most[k] = Math.max(most[k] || 1, +c.dataset.b); });
    });
    all.forEach(function (r) {
      Array.from(r.cells).forEach(function (c, k) { if (c.dataset.b) c.style.setProperty("--part", 100 * c.dataset.b / most[k] + "%"); });
    });
    var t = {
      update: function () {
        var list = words();
        var some = all.filter(function (r) { return has(r.text, list); });
        body.replaceChildren.apply(body, some);
        shown.textContent = some.length === all.length ? all.length + "" : some.length + " of " + all.length;
      }
    };
    function key(r, k) {
      var c = r.cells[k];
      return c.dataset.v === undefined ? c.textContent : +c.dataset.v;
    }
    var heads = Array.from(table.tHead.rows[0].cells);
    function sort(k, up) {
      heads.forEach(function (h, i) { if (i === k) h.setAttribute("aria-sort", up ? "ascending" : "descending"); else h.removeAttribute("aria-sort"); });
      all.sort(function (a, b) {
        var x = key(a, k), y = key(b, k);
        var d = x < y ? -1 : x > y ? 1 : 0;
        return (up ? d : -d) || a.rank - b.rank;
      });
      t.update();
    }
    heads.forEach(function (h, k) {
      var b = document.createElement("button");
      b.type = "button";
      b.textContent = h.textContent;
      h.replaceChildren(b);
      b.addEventListener("click", function () {
        var now = h.getAttribute("aria-sort"), number = h.classList.contains("num");
        sort(k, now ? now === "descending" : !number);
      });
    });
    heads[heads.length - 1].setAttribute("aria-sort", "descending");
    t.update();
    tables.push(t);
  });

  function update() {
    tables.forEach(function (t) { t.update(); });
    dim();
  }

  query.addEventListener("input", update);
  form.addEventListener("submit", function (e) { e.preventDefault(); });
  by.addEventListener("change", function () {
    root = at = by.value === "type" ? types : owners;
    draw();
  });
  document.addEventListener("keydown", function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.target === query) {
      if (e.key !== "Escape") return;
      e.preventDefault();
      if (query.value) {
        query.value = "";
        update();
      } else {
        query.blur();
      }
      return;
    }
    if (e.target.closest && e.target.closest("select")) return;
    var t = tileOf(e.target);
    if (e.key === "/") {
      e.preventDefault();
      query.focus();
      query.select();
    } else if (e.key === "m" && tiles.length) {
      e.preventDefault();
      focus(tiles.find(function (t) { return t.el.tabIndex === 0; }) || tiles[0]);
      map.scrollIntoView({ block: "nearest" });
    } else if (t && /^Arrow/.test(e.key)) {
      e.preventDefault();
      var next = beside(t, e.key);
      if (next) focus(next);
    } else if (e.key === "Escape" && at.up) {
      e.preventDefault();
      go(at.up);
    }
  });

  form.hidden = false;
  if (owners.total) {
    map.hidden = false;
    var width = 0;
    new ResizeObserver(function () {
      if (box.clientWidth === width) return;
      width = box.clientWidth;
      draw();
    }).observe(box);
    width = box.clientWidth;
    draw();
  }
})();
