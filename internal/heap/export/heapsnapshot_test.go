package export

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/fixture/browser"
	"github.com/corewalk/corewalk/internal/heap/graph"
	"github.com/corewalk/corewalk/internal/stranger"
)

// A snapshotFile is one as it is read.
type snapshotFile struct {
	Snapshot struct {
		Meta struct {
			NodeFields []string `json:"node_fields"`
			NodeTypes  []any    `json:"node_types"`
			EdgeFields []string `json:"edge_fields"`
			EdgeTypes  []any    `json:"edge_types"`
		}
		NodeCount int `json:"node_count"`
		EdgeCount int `json:"edge_count"`
	}
	Nodes, Edges []uint64
	Strings      []string

	text []string // edges: "from name to"
}

// readSnapshot reads one and checks that all numbers are in their ranges.
func readSnapshot(t testing.TB, b []byte) *snapshotFile {
	t.Helper()
	var f snapshotFile
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	for i, c := range b {
		if c >= 0x7f || c < ' ' && c != '\n' {
			t.Fatalf("byte %d is %#x", i, c)
		}
	}
	s := &f.Snapshot
	if len(s.Meta.NodeFields) != nodeFields || len(f.Nodes) != nodeFields*s.NodeCount || len(f.Edges) != 3*s.EdgeCount {
		t.Fatalf("%d numbers of %d nodes, %d of %d edges", len(f.Nodes), s.NodeCount, len(f.Edges), s.EdgeCount)
	}
	types := s.Meta.EdgeTypes[0].([]any)
	e := 0
	for i := 0; i < len(f.Nodes); i += nodeFields {
		for range f.Nodes[i+4] {
			typ, name, to := f.Edges[3*e], f.Edges[3*e+1], f.Edges[3*e+2]
			e++
			if to%nodeFields != 0 || to >= uint64(len(f.Nodes)) || to == 0 {
				t.Fatalf("edge %d leads to %d", e, to)
			}
			label := fmt.Sprint(name)
			if types[typ] == "property" {
				label = f.Strings[name]
			}
			f.text = append(f.text, fmt.Sprintf("%s %s %s", f.name(uint64(i)), label, f.name(to)))
		}
	}
	if e != s.EdgeCount {
		t.Fatalf("nodes have %d edges of %d", e, s.EdgeCount)
	}
	return &f
}

func (f *snapshotFile) name(i uint64) string { return f.Strings[f.Nodes[i+1]] }

func (f *snapshotFile) size() (n uint64) {
	for i := 3; i < len(f.Nodes); i += nodeFields {
		n += f.Nodes[i]
	}
	return n
}

func TestHeapSnapshot(t *testing.T) {
	f := readSnapshot(t, write(t, WriteHeapSnapshot, shop(t)))
	if f.Snapshot.NodeCount != 12+1+4 || f.size() != shopBytes || f.Strings[0] != "core.4242 of server" {
		t.Errorf("%d nodes, %d bytes, %s", f.Snapshot.NodeCount, f.size(), f.Strings[0])
	}
	const want = `core.4242 of server 1 g_cache
core.4242 of server 2 stack of thread 12
core.4242 of server 3 (unnamed root)
core.4242 of server 4 (unreached)
g_cache 0 std::vector<Item, std::allocator<Item> >
stack of thread 12 0 Node
(unnamed root) 0 untyped, more than 8 KiB
(unreached) 9 std::vector<long>
(unreached) 10 untyped, more than 2 KiB
std::vector<Item, std::allocator<Item> > field0 Order
std::vector<Item, std::allocator<Item> > field1 Order
Order field0 untyped, 100 bytes
Order field1 char[]
Order field0 char[]
Order field1 char[]
Node field0 Node
Node field0 Node
std::vector<long> field0 untyped, more than 2 KiB
untyped, more than 2 KiB 0 std::vector<long>
untyped, more than 2 KiB 1 std::vector<Item, std::allocator<Item> >`
	if got := strings.Join(f.text, "\n"); got != want {
		t.Errorf("edges:\n%s", got)
	}
}

// TestHeapSnapshotAsksLittle: the name of a pointer is asked once for a kind and an offset, and not for large objects.
func TestHeapSnapshotAsksLittle(t *testing.T) {
	h := many(t, 3000)
	asked := 0
	large := heap(t, []object{{maxNamedSize + 8, order, []int{1}}, {8, order, nil}}, 0)
	large.Field = func(graph.Node, uint64) string {
		t.Error("a name is asked for of a large object")
		return ""
	}
	write(t, WriteHeapSnapshot, large)
	h.Field = func(n graph.Node, off uint64) string {
		asked++
		return "next"
	}
	f := readSnapshot(t, write(t, WriteHeapSnapshot, h))
	if asked > 6 || f.text[len(f.text)-1] != "Order next Order" && f.text[len(f.text)-1] != "Order next Node" {
		t.Errorf("asked %d times; %s", asked, f.text[len(f.text)-1])
	}
}

// TestHeapSnapshotChanges: memory that changes while it is read leaves a file whose numbers fit.
func TestHeapSnapshotChanges(t *testing.T) {
	h, m := remembered(t, []object{{32, order, []int{2}}, {32, order, []int{0, 2}}, {32, order, nil}}, 0)
	h.Root = func(graph.Root) string { // asked when pointers have been counted
		copy(m.data[8:], m.data[:8])
		clear(m.data[32:48])
		return "root"
	}
	if f := readSnapshot(t, write(t, WriteHeapSnapshot, h)); f.Snapshot.EdgeCount != 2+1+1+3 {
		t.Errorf("%d edges", f.Snapshot.EdgeCount)
	}
}

// TestHeapSnapshotTogether: of many objects there are few nodes, and as many bytes.
func TestHeapSnapshotTogether(t *testing.T) {
	h := many(t, 5000)
	for _, edges := range []int{1 << 20, 3} {
		b := write(t, func(ctx context.Context, w io.Writer, h *Heap) error { return writeHeapSnapshot(ctx, w, h, 100, edges) }, h)
		f := readSnapshot(t, b)
		if n := f.Snapshot.NodeCount; n < 20 || n > 110 {
			t.Errorf("%d nodes", n)
		}
		if f.size() != h.Graph.Total() {
			t.Errorf("%d bytes of %d", f.size(), h.Graph.Total())
		}
		if s := f.Strings[0]; !strings.Contains(s, "of 5000 objects, ") || strings.Contains(s, "left out") != (edges == 3) {
			t.Error(s)
		}
		if n := f.Snapshot.EdgeCount; n < f.Snapshot.NodeCount-1 || edges == 3 && n > f.Snapshot.NodeCount+2*edges+8 {
			t.Errorf("%d edges of %d nodes", n, f.Snapshot.NodeCount)
		}
	}
}

// TestHeapSnapshotLarge: DevTools has 32 bits for a size; the title says what does not fit.
func TestHeapSnapshotLarge(t *testing.T) {
	f := readSnapshot(t, write(t, WriteHeapSnapshot, heap(t, []object{{size: 5 << 30}}, 0)))
	if f.size() != math.MaxUint32 || !strings.Contains(f.Strings[0], "1 of more than 4 GiB") {
		t.Errorf("%d bytes, %s", f.size(), f.Strings[0])
	}
}

func TestHeapSnapshotOfStrangers(t *testing.T) {
	b := write(t, WriteHeapSnapshot, hostile(t))
	f := readSnapshot(t, b)
	if err := stranger.JSON(b); err != nil {
		t.Error(err)
	}
	if f.size() != shopBytes || len(b) > 30_000 {
		t.Errorf("%d bytes in %d", f.size(), len(b))
	}
}

// devtools loads a snapshot by the DevTools that the browser has, and returns for each node: class, size, retained size, distance.
func devtools(t *testing.T, c *browser.Browser, snapshot []byte) (nodes []struct {
	Class          string
	Size, Retained uint64
	Distance       int
}) {
	c.Eval(`window.text = []; window.done = null; 1`)
	const piece = 1 << 20
	for len(snapshot) > 0 {
		n := min(piece, len(snapshot))
		s, _ := json.Marshal(string(snapshot[:n]))
		c.Eval(`window.text.push(` + string(s) + `)`)
		snapshot = snapshot[n:]
	}
	c.Eval(`import("devtools://devtools/bundled/entrypoints/heap_snapshot_worker/heap_snapshot_worker.js").then(async m => {
		const problems = [], loader = new m.HeapSnapshotLoader.HeapSnapshotLoader({sendEvent(name, what) { if (/Broken/i.test(name)) problems.push(what) }});
		for (const s of window.text) loader.write(s);
		loader.close();
		const ports = new MessageChannel();
		new m.HeapSnapshot.SecondaryInitManager(ports.port2);
		const s = await loader.buildSnapshot(ports.port1), list = [];
		for (let i = 0; i < s.nodeCount; i++) {
			const n = s.createNode(i * 7);
			list.push({Class: n.className(), Size: n.selfSize(), Retained: n.retainedSize(), Distance: n.distance()});
		}
		window.done = {list, problems};
	}).catch(e => { window.done = {problems: [String(e) + e.stack]} }); 1`)
	c.Want(`window.done != null`)
	if p := c.Eval(`window.done.problems`); p != "[]" {
		t.Fatal(p)
	}
	if err := json.Unmarshal([]byte(c.Eval(`window.done.list`)), &nodes); err != nil {
		t.Fatal(err)
	}
	return nodes
}

// TestDevTools: DevTools reads what is written, and finds that objects keep as much alive as the graph says.
func TestDevTools(t *testing.T) {
	fixture.Long(t)
	c := browser.Start(t)
	c.Open("devtools://devtools/bundled/inspector.html", nil)
	for name, h := range map[string]*Heap{"shop": shop(t), "many": many(t, 20_000), "nothing": heap(t, nil), "strangers": hostile(t)} {
		c.Run(name, func(t *testing.T) {
			nodes := devtools(t, c, write(t, WriteHeapSnapshot, h))
			first := len(nodes) - h.Graph.Len()
			names := newClasses(h)
			total := uint64(0)
			for i, n := range nodes {
				total += n.Size
				if i < first {
					continue
				}
				o := graph.Node(i - first)
				retained := h.Retained[o]
				if !h.Graph.Reached(o) {
					retained = n.Retained // of the leaks, which DevTools reaches
				}
				if class := names.names[names.of(o)]; n.Class != class || n.Size != h.Graph.Size(o) || n.Retained != retained || n.Distance < 2 {
					t.Fatalf("%d: %+v; want %s, %d, %d", o, n, class, h.Graph.Size(o), retained)
				}
			}
			if total != h.Graph.Total() || nodes[0].Retained != total {
				t.Errorf("%d bytes, %d below the root, want %d", total, nodes[0].Retained, h.Graph.Total())
			}
		})
	}
	c.Run("together", func(t *testing.T) {
		h := many(t, 20_000)
		nodes := devtools(t, c, write(t, func(ctx context.Context, w io.Writer, h *Heap) error {
			return writeHeapSnapshot(ctx, w, h, 1000, 1<<20)
		}, h))
		if len(nodes) > 1010 || nodes[0].Retained != h.Graph.Total() {
			t.Errorf("%d nodes, %d bytes, want %d", len(nodes), nodes[0].Retained, h.Graph.Total())
		}
	})
}
