package export

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/fixture/browser"
	"github.com/corewalk/corewalk/internal/heap/graph"
	"github.com/corewalk/corewalk/internal/stranger"
)

func TestHTML(t *testing.T) {
	out := string(write(t, WriteHTML, shop(t)))
	for _, want := range []string{
		"<title>Heap of server</title>", "core.4242 of server, 2026-11-20 17:02:11 UTC", "<dt>that no root reaches</dt><dd data-b=\"7096\">7\u202f096</dd>",
		`<dt class="t">Allocator</dt><dd class="t">glibc 2.36</dd>`, "std::vector&lt;Item, std::allocator&lt;Item&gt; &gt;",
		`<th scope="row" class="t fn">Node</th><td class="num" data-v="3">3</td><td class="num" data-v="96" data-b="96">96</td><td class="num" data-v="96" data-b="96">96</td>`,
		`<li class="t">g_cache</li><li><span class="t fn">std::vector&lt;Item, std::allocator&lt;Item&gt; &gt;</span> <span class="t src">.field1</span> <code class="dim">0x7f0000000000</code></li><li><span class="t fn">Order</span>`,
		"\n[0,3,0,0,5284],\n[4,4,1,64,5284]",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if t.Failed() {
		t.Logf("%.20000s", out[strings.Index(out, "<body>"):strings.Index(out, "// The map")])
	}
}

// TestTypes: what objects of a type keep alive counts once, also where other types are between them.
func TestTypes(t *testing.T) {
	h := heap(t, []object{
		{16, order, []int{1}}, {32, item, []int{2}}, {64, order, []int{3}}, {128, item, nil}, // each keeps the next alive
		{256, item, []int{3}}, // does not
	}, 0)
	o, err := owners(t.Context(), h, 100, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := o.types(t.Context())
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v, %+v", err, rows)
	}
	a, b := rows[1], rows[0]
	if o.names[a.class] != "Order" || a.count != 2 || a.bytes != 80 || a.retained != 240 || b.count != 3 || b.bytes != 416 || b.retained != 224+256 {
		t.Errorf("%+v", rows)
	}
}

// TestHeaviest: of a list the first counts.
func TestHeaviest(t *testing.T) {
	h := shop(t)
	for _, c := range []struct {
		by   bool
		most int
		want []graph.Node
	}{
		{true, 100, []graph.Node{11, 0, 2, 4, 9, 10, 1, 3, 5, 6}}, {true, 2, []graph.Node{11, 0}}, {false, 3, []graph.Node{11, 4, 9}},
	} {
		if !c.by {
			h.By, h.Retained = nil, nil
		}
		o, err := owners(t.Context(), h, 100, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := o.heaviest(t.Context(), c.most); err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%v, %d, want %d", err, got, c.want)
		}
	}
}

// TestWay: of a long way both ends are shown, of a longer one not where it begins.
func TestWay(t *testing.T) {
	objects := make([]object, maxSteps+10)
	for i := range objects {
		objects[i] = object{size: 16, kind: list}
		if i > 0 {
			objects[i-1].to = []int{i}
		}
	}
	h := heap(t, objects, 0)
	g := guide{classes: newClasses(h)}
	for n, want := range map[graph.Node]string{
		0: "g_cache 0", 2: "g_cache 0.field0 1.field0 2",
		11:           "g_cache 0.field0 1.field0 2.field0 3.field0 4.field0 5.field0 6.field0 7.field0 8.field0 9.field0 10.field0 11",
		100:          "g_cache 0.field0 1.field0 2.field0 3 (89) 93.field0 94.field0 95.field0 96.field0 97.field0 98.field0 99.field0 100",
		maxSteps + 4: fmt.Sprintf("more than %d objects away from a root 5.field0 6.field0 7.field0 8 (99988) 99997.field0 99998.field0 99999.field0 100000.field0 100001.field0 100002.field0 100003.field0 100004", maxSteps),
	} {
		w := g.to(n)
		got := w.root
		for _, s := range w.steps {
			if s.left > 0 {
				got += fmt.Sprintf(" (%d)", s.left)
			}
			got += fmt.Sprintf(" %d", s.node)
			if s.field != "" {
				got += "." + s.field
			}
		}
		if got != want {
			t.Errorf("%d: %s\nwant %s", n, got, want)
		}
	}
	for range 1000 {
		g.to(100)
	}
	if g.asked > maxAsked {
		t.Errorf("%d names asked", g.asked)
	}
	huge := heap(t, []object{{maxSearch + 8, order, []int{1}}, {8, order, nil}}, 0)
	if w := (&guide{classes: newClasses(huge)}).to(1); len(w.steps) != 2 || w.steps[0].field != "" {
		t.Errorf("a large object is searched: %+v", w)
	}
	if w := g.to(0); w.root != "g_cache" {
		t.Error(w.root)
	}
}

func TestHTMLOfStrangers(t *testing.T) {
	out := string(write(t, WriteHTML, hostile(t)))
	if err := stranger.HTML(out); err != nil {
		t.Error(err)
	}
	if len(out) > 150_000 {
		t.Errorf("%d bytes", len(out))
	}
}

// diverse is a heap of many types and roots.
func diverse(t testing.TB, types int) *Heap {
	var objects []object
	for i := range types * 10 {
		objects = append(objects, object{size: uint64(16 + i%97*8), kind: graph.Kind(i % types)})
		if i > 0 {
			p := &objects[i/3]
			p.to = append(p.to, i)
			p.size = max(p.size, uint64(8*len(p.to)))
		}
	}
	h := heap(t, objects, 0, 1, 2, 3, 4, 5)
	h.Type = func(k graph.Kind) string { return fmt.Sprintf("namespace::Type%d<int>", k) }
	h.Root = func(r graph.Root) string { return fmt.Sprintf("g_root%d", r.At) }
	return h
}

// TestHTMLBounded: of many types and entries there is only so much on the page, and it says so.
func TestHTMLBounded(t *testing.T) {
	h := diverse(t, 5000)
	for range 1000 {
		h.Summary = append(h.Summary, [2]string{"row", "row"})
	}
	out := string(write(t, WriteHTML, h))
	if !strings.Contains(out, ">and 4\u202f000 more types with 40\u202f000 objects of ") || strings.Count(out, "],\n[") != maxPageTiles-1 || strings.Count(out, "<dt class") != maxPageRows || len(out) > 1<<20 {
		t.Errorf("%d bytes, %d tiles", len(out), strings.Count(out, "],\n["))
		i := strings.Index(out, ">and ")
		t.Logf("%.200s", out[max(i, 0):])
	}
}

// put writes a page to a file and returns its URL.
func put(t *testing.T, h *Heap) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "heap.html")
	if err := os.WriteFile(path, write(t, WriteHTML, h), 0o600); err != nil {
		t.Fatal(err)
	}
	return "file://" + path
}

// quiet checks that the browser reported nothing: no error, no violation of the policy, no request.
func quiet(t *testing.T, c *browser.Browser) {
	t.Helper()
	for _, s := range c.Complaints() {
		t.Error(s)
	}
}

// TestPageInBrowser uses a page like a person.
func TestPageInBrowser(t *testing.T) {
	fixture.Long(t)
	fixture.Tools(t)
	c := browser.Start(t)
	c.Open(put(t, shop(t)), nil)
	const names = `[...document.querySelectorAll("#cw-typelist tbody tr")].map(r => r.cells[0].textContent).join("|")`
	const tile = `(name => [...document.querySelectorAll(".tile")].find(t => t.getAttribute("aria-label").startsWith(name)))`
	c.Want(`!document.getElementById("cw-map").hidden && document.querySelectorAll(".tile").length > 8`)
	c.Want(`document.querySelector(".tiles dd").textContent == "21\u00a0kB"`)
	c.Run("map", func(t *testing.T) {
		c.Want(`[...document.querySelectorAll(".tile")].every(t => t.offsetLeft >= 0 && t.offsetLeft + t.offsetWidth <= document.getElementById("cw-tiles").clientWidth + 1)`)
		c.Want(tile + `("(unreached), 7.1").classList.contains("cl")`)
		// Areas are as bytes.
		c.Want(`(() => { let a = t => t.offsetWidth * t.offsetHeight, x = a(` + tile + `("(unnamed root)")) / a(` + tile + `("(unreached)")); return Math.abs(x - 9000 / 7096) < 0.05 })()`)
		c.Eval(tile + `("g_cache").click()`)
		c.Want(`[...document.querySelectorAll("#cw-crumbs button")].map(b => b.textContent).join() == "heap,g_cache"`)
		c.Eval(tile + `("Order").click()`) // it is within the vector, which comes first
		c.Want(`document.querySelectorAll("#cw-crumbs button").length == 3`)
		c.Eval(`document.querySelector("#cw-crumbs button").click()`)
		c.Want(`document.querySelectorAll("#cw-crumbs button").length == 1 && document.activeElement.classList.contains("tile")`)
	})
	c.Run("keyboard", func(t *testing.T) {
		c.Eval(`document.activeElement.blur()`)
		c.Key("m")
		c.Want(`document.activeElement.classList.contains("tile")`)
		c.Eval(tile + `("(unnamed root)").focus()`)
		c.Key("ArrowRight")
		c.Want(`!document.activeElement.getAttribute("aria-label").startsWith("(unnamed root)")`)
		c.Eval(tile + `("g_cache").focus()`)
		c.Key("Enter")
		c.Want(`document.querySelectorAll("#cw-crumbs button").length == 2`)
		c.Want(`document.getElementById("cw-info").textContent.startsWith("std::vector<Item, std::allocator<Item> > 5.3\u00a0kB, 25\u00a0%, 6 objects")`)
		c.Key("Escape")
		c.Want(`document.querySelectorAll("#cw-crumbs button").length == 1 && document.activeElement.getAttribute("aria-label").startsWith("g_cache")`)
		c.Key("/")
		c.Want(`document.activeElement.id == "cw-q"`)
		c.Key("m")
		c.Want(`document.activeElement.value == "m"`)
		c.Key("Escape")
		c.Want(`document.activeElement.value == ""`)
	})
	c.Run("search", func(t *testing.T) {
		all := c.Eval(names)
		set := func(s string) {
			c.Eval(fmt.Sprintf(`{ let q = document.getElementById("cw-q"); q.value = %q; q.dispatchEvent(new Event("input", {bubbles: true})) }`, s))
		}
		set("VECTOR item")
		c.Want(names + ` == "std::vector<Item, std::allocator<Item> >"`)
		c.Want(`document.querySelector(".shown").textContent == "1 of 8"`)
		c.Want(`!` + tile + `("g_cache").classList.contains("off") && ` + tile + `("(unreached)").classList.contains("off")`)
		set("g_cache") // a root is of objects
		c.Want(names + ` == "" && document.querySelectorAll("#cw-objectlist tbody tr").length == 6`)
		set("")
		c.Want(names + ` == ` + all)
	})
	c.Run("order", func(t *testing.T) {
		c.Eval(`document.querySelectorAll("#cw-typelist thead button")[1].click()`)
		c.Want(`document.querySelector("#cw-typelist tbody tr").cells[0].textContent == "Node"`)
		c.Eval(`document.querySelectorAll("#cw-typelist thead button")[0].click()`)
		c.Want(`document.querySelector("#cw-typelist tbody tr").cells[0].textContent == "Node" && document.querySelector("#cw-typelist th[aria-sort]").getAttribute("aria-sort") == "ascending"`)
		c.Eval(`document.querySelectorAll("#cw-typelist thead button")[0].click()`)
		c.Want(`document.querySelector("#cw-typelist tbody tr").cells[0].textContent.startsWith("untyped, more than 8")`)
	})
	c.Run("types", func(t *testing.T) {
		c.Eval(`{ let s = document.getElementById("cw-by"); s.value = "type"; s.dispatchEvent(new Event("change", {bubbles: true})) }`)
		c.Want(tile + `("g_cache") == undefined && ` + tile + `("char[]") != undefined`)
	})
	quiet(t, c)
	c.Run("dark", func(t *testing.T) {
		bg := `getComputedStyle(document.body).backgroundColor`
		light := c.Eval(bg)
		c.Do("Emulation.setEmulatedMedia", browser.Object{"features": []browser.Object{{"name": "prefers-color-scheme", "value": "dark"}}})
		if dark := c.Eval(bg); light != `"rgb(255, 255, 255)"` || dark == light {
			t.Errorf("background %s when light, %s when dark", light, dark)
		}
	})
	narrow := func() {
		c.Do("Emulation.setDeviceMetricsOverride", browser.Object{"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": true})
	}
	c.Run("narrow", func(t *testing.T) {
		narrow()
		c.Eval(`document.querySelectorAll("details").forEach(d => d.open = true)`)
		c.Want(`document.documentElement.scrollWidth <= 390`)
		c.Want(`[...document.querySelectorAll(".tile")].every(t => t.offsetLeft + t.offsetWidth <= 390)`)
	})
	c.Run("strangers", func(t *testing.T) {
		c.Open(put(t, hostile(t)), narrow)
		c.Eval(`document.querySelectorAll("details").forEach(d => d.open = true)`)
		c.Want(`document.querySelectorAll(".tile").length > 4 && document.images.length == 0`)
		c.Want(`document.documentElement.scrollWidth <= 390`)
		quiet(t, c)
	})
	c.Run("many", func(t *testing.T) {
		c.Open(put(t, diverse(t, 5000)), nil)
		c.Want(`document.querySelectorAll(".tile").length > 20`)
		quiet(t, c)
	})
	c.Run("nothing", func(t *testing.T) {
		c.Open(put(t, heap(t, nil)), nil)
		c.Want(`document.getElementById("cw-map").hidden && !document.getElementById("cw-form").hidden`)
		quiet(t, c)
	})
	c.Run("no script", func(t *testing.T) {
		c.Open(put(t, shop(t)), func() { c.Do("Emulation.setScriptExecutionDisabled", browser.Object{"value": true}) })
		c.Do("Emulation.setScriptExecutionDisabled", browser.Object{"value": false})
		c.Want(`document.querySelectorAll("#cw-typelist tbody tr").length == 8 && document.getElementById("cw-map").hidden`)
	})
}

var shotDir = flag.String("pictures", "", "put pictures of pages into this directory")

// TestPictures makes pictures, to be looked at.
func TestPictures(t *testing.T) {
	if *shotDir == "" {
		t.Skip("no directory was given")
	}
	fixture.Tools(t)
	c := browser.Start(t)
	for name, h := range map[string]*Heap{"shop": shop(t), "diverse": diverse(t, 60), "strangers": hostile(t)} {
		url := put(t, h)
		for _, x := range []struct {
			name          string
			width, height int
			scheme        string
		}{{"light", 1200, 1500, "light"}, {"dark", 1200, 1500, "dark"}, {"narrow", 390, 1500, "light"}} {
			c.Open(url, func() {
				c.Do("Emulation.setEmulatedMedia", browser.Object{"features": []browser.Object{{"name": "prefers-color-scheme", "value": x.scheme}}})
				c.Do("Emulation.setDeviceMetricsOverride", browser.Object{"width": x.width, "height": x.height, "deviceScaleFactor": 1, "mobile": x.width < 800})
			})
			c.Want(`document.querySelectorAll(".tile").length > 4`)
			c.Eval(`document.querySelectorAll("details").forEach((d, i) => d.open = i == 1)`)
			c.Picture(filepath.Join(*shotDir, name+"-"+x.name+".png"))
		}
	}
}
