package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// top is what each package of TestLocksAreSeen begins with.
const top = `package p
import ("sync"; "time"; "os"; "slices")
var _ time.Duration
var _ *os.File
var _ = slices.Max[[]int]
type file struct { decompress func(int) int; once sync.Once; lazily sync.Once; get func() int }
func (f *file) storable(keep func(int)) { f.once.Do(func() { keep(f.decompress(1)) }) }
type image struct { mu, other sync.Mutex; elf *file; sections []int }
func (im *image) inflate(n int) int { im.mu.Lock(); defer im.mu.Unlock(); im.sections = append(im.sections, n); return n }
func open() *image { im := &image{elf: &file{}}; im.elf.decompress = im.inflate; return im }
type asker interface { ask() int }
func (im *image) ask() int { return im.inflate(2) }
`

// The law finds a lock that is taken again through whatever kind of call, and passes what is asked for without it.
func TestLocksAreSeen(t *testing.T) {
	outside := exportImporter(goList(t))
	for name, c := range map[string]struct {
		src  string
		want []string // how the faults begin
	}{
		// Keeping what was decompressed held the lock, and had an index made: that read a section, which was decompressed, under the same lock.
		"a function in a field": {`func (im *image) keep() { im.mu.Lock(); defer im.mu.Unlock(); im.elf.storable(func(int) {}) }`,
			[]string{"locks that are taken in a circle", "p.image.mu may be taken while it is held", "under p.image.mu: p.file.once"}},
		"mended":                {`func (im *image) keep() { im.mu.Lock(); list := im.sections; im.mu.Unlock(); im.elf.storable(func(int) {}); _ = list }`, nil},
		"a branch that unlocks": {`func (im *image) keep(b bool) { im.mu.Lock(); if b { im.mu.Unlock(); im.inflate(1); return }; im.mu.Unlock() }`, nil},
		"a branch that locks":   {`func (im *image) keep(b bool) { if b { im.mu.Lock() }; im.inflate(1) }`, []string{"p.image.mu may be taken"}},
		"a method":              {`func (im *image) keep() { im.mu.Lock(); im.inflate(1); im.mu.Unlock() }`, []string{"p.image.mu may be taken"}},
		"at once":               {`func (im *image) keep() { im.mu.Lock(); im.mu.Lock() }`, []string{"p.image.mu may be taken"}},
		"in a loop":             {`func (im *image) keep() { for range 2 { im.mu.Lock() } }`, nil}, // of one pass nothing is held in the next
		"an interface":          {`func (im *image) keep(a asker) { im.mu.Lock(); a.ask(); im.mu.Unlock() }`, []string{"p.image.mu may be taken"}},
		"a method as a value":   {`func (im *image) keep() { f := im.ask; im.mu.Lock(); f(); im.mu.Unlock() }`, []string{"p.image.mu may be taken"}},
		"a closure":             {`func (im *image) keep() { f := func() { im.inflate(1) }; im.mu.Lock(); f(); im.mu.Unlock() }`, []string{"p.image.mu may be taken"}},
		"a parameter":           {`func call(f func()) { f() }; func (im *image) keep() { im.mu.Lock(); call(func() { im.inflate(1) }); im.mu.Unlock() }`, []string{"p.image.mu may be taken"}},
		"a parameter under a lock": {`func (im *image) locked(f func()) { im.mu.Lock(); defer im.mu.Unlock(); f() }
func (im *image) pass(f func()) { im.locked(f) }
func (im *image) keep() { im.pass(func() { im.inflate(1) }); im.pass(func() {}) }`, []string{"p.image.mu may be taken"}},
		"a function that is returned": {`func (im *image) lazy() func() int { return func() int { return im.inflate(1) } }
func (im *image) keep() { f := im.lazy(); im.mu.Lock(); f(); im.mu.Unlock() }`, []string{"p.image.mu may be taken"}},
		"a function in a map": {`var all = map[string]func(*image) int{"a": (*image).ask}; func (im *image) keep() { im.mu.Lock(); all["a"](im); im.mu.Unlock() }`, []string{"p.image.mu may be taken"}},
		"an iterator": {`func (im *image) list() func(func(int) bool) { return func(yield func(int) bool) { yield(im.inflate(1)) } }
func (im *image) keep() { im.mu.Lock(); for range im.list() {}; im.mu.Unlock() }`, []string{"p.image.mu may be taken"}},
		"the body of an iterator": {`func (im *image) each(yield func(int) bool) { yield(1) }; func (im *image) keep() { for range im.each { im.mu.Lock(); im.inflate(1); im.mu.Unlock() } }`, []string{"p.image.mu may be taken"}},
		"through Go's packages":   {`func (im *image) keep() { im.mu.Lock(); slices.SortFunc(im.sections, func(a, b int) int { return im.inflate(a) }); im.mu.Unlock() }`, []string{"p.image.mu may be taken"}},
		"a deferred call":         {`func (im *image) keep() { im.mu.Lock(); defer im.mu.Unlock(); defer im.inflate(1) }`, []string{"p.image.mu may be taken"}},
		"a value made once":       {`func (im *image) keep() { im.elf.get = sync.OnceValue(im.ask); im.mu.Lock(); im.elf.get(); im.mu.Unlock() }`, []string{"locks that are taken in a circle", "p.image.mu may be taken", "under p.image.mu: once at"}},
		"a goroutine":             {`func (im *image) keep() { im.mu.Lock(); go im.inflate(1); im.mu.Unlock() }`, nil},
		"a lock that is embedded": {`type e struct { sync.RWMutex }; func (x *e) get() { x.RLock(); x.RUnlock() }; func (x *e) keep() { x.Lock(); x.get(); x.Unlock() }`, []string{"p.e.RWMutex may be taken"}},
		"a variable":              {`var mu sync.Mutex; func get() { mu.Lock(); mu.Unlock() }; func keep() { mu.Lock(); defer mu.Unlock(); get() }`, []string{"p.mu may be taken"}},
		"a once in itself":        {`func (f *file) make() { f.lazily.Do(func() { f.again() }) }; func (f *file) again() { f.make() }`, []string{"p.file.lazily may be taken"}},
		"another lock":            {`func (im *image) keep() { im.other.Lock(); im.inflate(1); im.other.Unlock() }`, []string{"under p.image.other: p.image.mu"}},
		"a circle": {`func (im *image) keep() { im.other.Lock(); im.inflate(1); im.other.Unlock() }
func (im *image) back() { im.mu.Lock(); im.other.Lock(); im.other.Unlock(); im.mu.Unlock() }`,
			[]string{"locks that are taken in a circle", "under p.image.mu: p.image.other", "under p.image.other: p.image.mu"}},
		"a channel":           {`func (im *image) keep(c chan int) { im.mu.Lock(); <-c; im.mu.Unlock() }`, []string{"under p.image.mu: waiting"}},
		"a group":             {`func (im *image) keep(g *sync.WaitGroup) { im.mu.Lock(); g.Wait(); im.mu.Unlock() }`, []string{"under p.image.mu: waiting"}},
		"a file":              {`func (im *image) keep() { im.mu.Lock(); os.Remove("x"); im.mu.Unlock() }`, []string{"under p.image.mu: input or output"}},
		"an unknown function": {`func (im *image) keep() { im.mu.Lock(); im.elf.get(); im.mu.Unlock() }`, []string{"under p.image.mu: an unknown function"}},
		"not to block":        {`func (im *image) keep(c chan int) { im.mu.Lock(); select { case <-c: default: }; im.mu.Unlock() }`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, "p.go", top+c.src, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			g := newLockGraph(fset)
			g.judged = func(lockKey) bool { return true }
			in := &mixedImporter{outside: outside, own: map[string]*types.Package{}}
			g.add(in.check(t, "p", fset, []*ast.File{f}))
			g.solve()
			got, _ := faults(g, nil, nil)
			if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
				t.Errorf("found:\n%s\nwant: %q", strings.Join(got, "\n"), c.want)
			}
		})
	}
}
