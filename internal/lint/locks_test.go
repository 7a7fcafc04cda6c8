package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// lockRooms are the rooms whose locks the law is about.
var lockRooms = []string{"internal/files", "modules", "libstate", "symlookup", "dwarfvars", "session", "livestate", "internal/service"}

// root is the directory of the module.
var root = func() string { dir, _ := filepath.Abs(filepath.Join("..", "..")); return dir }()

// cuts are calls of methods of interfaces that do not happen.
var cuts = map[lockCut]string{
	{"modules", "(corestate.ownMemory).ReadMem"}:              "that reads no files: readMem's own",
	{"modules", "(*internal/why/analysis.someReads).ReadMem"}: "it is made for who reads a heap, after modules",
	{"modules", "(*internal/procmem.charged).ReadMem"}:        "it is made for runtimes, which read a process: no Set has it",
	{"modules", "(*corestate.anyDump).ReadMem"}:               "a Set's memory is the dump's own, without what files add: modules.New says so",
	{"internal/format/winunwind", "(steppers.codeImage).At"}:  "of a table of its own, which only a stepper asks, under no lock",
}

// A holding says why other locks may be taken while one is held.
type holding struct {
	inside []lockKey // which; nil for all: what is under the lock is made under it, as in a sync.Once
	why    string
}

// holds are the locks of these rooms under which others are taken, or something waits or reads. No other lock is taken
// under one that is not here.
var holds = map[lockKey]holding{
	"dwarfvars.globals.mu":                {nil, "a unit's variables are read on under it: who wants another waits for them anyway"},
	"libstate.lateFinder.mu":              {nil, "held during the search, of which SetLate says what it may call"},
	"libstate.Table.replacing":            {[]lockKey{"libstate.Table.mu"}, "so that notifications come in order"},
	"livestate.liveLibraries.mu":          {nil, "held while the libraries are found"},
	"livestate.Process.mapMu":             {[]lockKey{inOut}, "held while the kernel lists the mappings"},
	"livestate.SelfState.memMu":           {[]lockKey{inOut}, "held while a file of /proc is opened, which is there at once"},
	"livestate.memory.mu":                 {[]lockKey{inOut}, "a file of /proc is closed, which waits for nobody"},
	"livestate.events.mu":                 {[]lockKey{waits, inOut}, "its condition is waited for, which releases it; an eventfd is read, which does not block"},
	"modules.Cache.mu":                    {[]lockKey{"internal/files/image.Cache.mu", "internal/files/image.onDisk.mu"}, "what is not kept is listed"},
	"internal/files/find.Finder.expandMu": {[]lockKey{inOut, "internal/files/find.notes.mu", "internal/files/mmapfile.File.close", "internal/format/elffile.File.buildIDOnce", "internal/format/elffile.File.sectionsOnce"}, "held while a file of a store is expanded: a second one would write the same file"},
	"internal/files/rootfs.Image.mu":      {nil, "held while an image is read: whoever asks waits for that"},
	"internal/files/kept.Part.mu":         {[]lockKey{"internal/format/decompress.Lazy.mu", "internal/lazy.Value.once"}, "held while a block is decompressed"},
	"internal/service.held.making":        {[]lockKey{inOut, "internal/service.held.mu"}, "held while a snapshot is made: a second one would be the same"},
	"internal/service.resumable.mu":       {[]lockKey{inOut}, "a project's directory is made once"},
	"internal/service.sessions.mu":        {[]lockKey{waits}, "a new dump's channel of one gets its one element"},
	"internal/service.ledgers.mu":         {[]lockKey{unknown}, "held while a project's ledger is opened: a second one would make the same file"},
	"livestate.tracer.callMu":             {nil, "held with do"},
	"internal/service/work.Worker.mu":     {nil, "held while a dump is taken in the store: no two of them take for one project"},
}

// elsewhere are orders that the graph has and no run does, because the two locks are never those that the graph takes them for.
var elsewhere = map[lockOrder]string{
	{"internal/files/rootfs.Image.mu", "internal/files/rootfs.Root.once"}: "of a Root that nobody else has yet",
}

// Under a lock nothing is asked for that may take the same lock again, or wait for who holds it.
func TestLocks(t *testing.T) {
	fixture.Long(t) // make lint runs it at every change
	g := moduleLocks(t)
	bad, used := faults(g, holds, elsewhere)
	for _, b := range bad {
		t.Error(b)
	}
	for k := range holds {
		if !used[k] {
			t.Errorf("%s: no other lock is taken inside: remove it from the list", k)
		}
	}
	n := 0
	for k := range g.declared {
		if k.in() && !g.onces[k] {
			n++
		}
	}
	if n < 50 {
		t.Errorf("only %d mutexes were found", n)
	}
}

// faults lists what is against the law: a lock that may be taken while it is held, locks that are taken in both orders, and any lock
// that is taken under a mutex that is not allowed to.
func faults(g *lockGraph, holds map[lockKey]holding, elsewhere map[lockOrder]string) (list []string, used map[lockKey]bool) {
	used = map[lockKey]bool{}
	next := map[lockKey][]lockKey{}
	orders := g.orders()
	for o, place := range orders {
		if !g.judged(o.held) || elsewhere[o] != "" {
			continue
		}
		switch h, ok := holds[o.held]; {
		case o.held == o.taken:
			list = append(list, fmt.Sprintf("%s may be taken while it is held: %s", o.held, g.describe(place, o.taken)))
		case g.onces[o.held]:
		case !ok || h.inside != nil && !slices.Contains(h.inside, o.taken):
			list = append(list, fmt.Sprintf("under %s: %s: %s", o.held, o.taken, g.describe(place, o.taken)))
		}
		used[o.held] = true
		if !slices.Contains([]lockKey{waits, inOut, unknown}, o.taken) {
			next[o.held] = append(next[o.held], o.taken)
		}
	}
	for _, c := range cycles(next) {
		var lines []string
		for i, k := range c {
			to := c[(i+1)%len(c)]
			lines = append(lines, fmt.Sprintf("\n\t%s, then %s: %s", k, to, g.describe(orders[lockOrder{k, to}], to)))
		}
		list = append(list, "locks that are taken in a circle:"+strings.Join(lines, ""))
	}
	slices.Sort(list)
	return list, used
}

// cycles returns a shortest circle for each lock that is in one, each circle once.
func cycles(next map[lockKey][]lockKey) (list [][]lockKey) {
	done := map[lockKey]bool{}
	for _, from := range slices.Sorted(maps.Keys(next)) {
		if done[from] {
			continue
		}
		up, todo := map[lockKey]lockKey{}, []lockKey{from}
	search:
		for len(todo) > 0 {
			at := todo[0]
			todo = todo[1:]
			for _, to := range slices.Sorted(slices.Values(next[at])) {
				if to == from && at != from {
					var circle []lockKey
					for k := at; k != from; k = up[k] {
						circle = append(circle, k)
					}
					circle = append(circle, from)
					slices.Reverse(circle)
					for _, k := range circle {
						done[k] = true
					}
					list = append(list, circle)
					break search
				}
				if _, ok := up[to]; !ok && to != from {
					up[to] = at
					todo = append(todo, to)
				}
			}
		}
	}
	return list
}

// in reports whether a lock is one that the law is about.
func (k lockKey) in() bool {
	return slices.ContainsFunc(lockRooms, func(room string) bool {
		return strings.HasPrefix(string(k), room+".") || strings.HasPrefix(string(k), room+"/")
	})
}

// moduleLocks returns the graph of the rooms and of what they import.
func moduleLocks(t *testing.T) *lockGraph {
	t.Helper()
	list := goList(t)
	wanted := map[string]bool{}
	for _, p := range slices.Backward(list) { // who imports comes after what is imported
		room := strings.TrimPrefix(p.path, module+"/")
		if wanted[p.path] || lockKey(room+".").in() {
			wanted[p.path] = true
			for _, i := range p.imports {
				wanted[i] = true
			}
		}
	}
	parsed := map[string]*ast.File{}
	for _, s := range sources(t) {
		parsed[filepath.Join(root, s.file)] = s.parsed
	}
	g := newLockGraph(sourceSet)
	g.cuts, g.judged = cuts, lockKey.in
	in := &mixedImporter{outside: exportImporter(list), own: map[string]*types.Package{}}
	for _, p := range list {
		if !wanted[p.path] || !strings.HasPrefix(p.path, module) {
			continue
		}
		var files []*ast.File
		for _, name := range p.files {
			f := parsed[filepath.Join(p.dir, name)]
			if f == nil {
				t.Fatalf("%s: %s is not among the sources", p.path, name)
			}
			files = append(files, f)
		}
		g.add(in.check(t, p.path, sourceSet, files))
	}
	g.solve()
	return g
}

// A mixedImporter imports what was checked before, and other packages as they were compiled.
type mixedImporter struct {
	outside types.Importer
	own     map[string]*types.Package
}

func (m *mixedImporter) Import(path string) (*types.Package, error) {
	if p := m.own[path]; p != nil {
		return p, nil
	}
	return m.outside.Import(path)
}

func (m *mixedImporter) check(t *testing.T, path string, fset *token.FileSet, files []*ast.File) (*types.Package, *types.Info, []*ast.File) {
	t.Helper()
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	conf := types.Config{Importer: m}
	p, err := conf.Check(path, fset, files, info)
	if err != nil {
		t.Fatal(err)
	}
	m.own[path] = p
	return p, info, files
}
