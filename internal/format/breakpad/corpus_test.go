package breakpad

import (
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// corpus returns other projects' test symbol files, which may be in a directory beside the
// repository.
func corpus(t testing.TB) map[string][]byte {
	t.Helper()
	_, files := fixture.Foreign(t)
	maps.DeleteFunc(files, func(name string, _ []byte) bool { return !strings.HasSuffix(name, ".sym") })
	return files
}

// TestCorpus parses every record of real files in the simplest way, line by line, and looks
// up what it says.
func TestCorpus(t *testing.T) {
	files := corpus(t)
	if len(files) < 10 {
		t.Errorf("%d files in the corpus", len(files))
	}
	for name, data := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			f, err := Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			if f.Skipped != 0 {
				t.Errorf("%d records skipped, the first at %#x", f.Skipped, f.FirstError)
			}
			c := checker{t: t, f: f, files: make(map[string]string), inits: make(map[uint64]int), funcs: make(map[uint64]int)}
			for _, e := range f.cfi {
				c.inits[e.key]++
			}
			for _, e := range f.funcs {
				c.funcs[e.key]++
			}
			for _, line := range strings.Split(string(data), "\n") {
				c.line(strings.TrimRight(line, "\r"))
			}
			if c.checked < 1 {
				t.Error("nothing to check")
			}
		})
	}
}

type checker struct {
	t       *testing.T
	f       *File
	files   map[string]string
	inits   map[uint64]int // INIT records at each address
	funcs   map[uint64]int // FUNC records at each address
	fn      Symbol
	init    uint64
	checked int
}

func hex(s string) uint64 {
	v, _ := strconv.ParseUint(s, 16, 64)
	return v
}

func (c *checker) line(line string) {
	w := strings.Fields(strings.Replace(line, "FUNC m ", "FUNC ", 1))
	if len(w) == 0 {
		return
	}
	switch w[0] {
	case "FILE":
		c.files[w[1]] = strings.SplitN(line, " ", 3)[2]
	case "FUNC":
		c.fn = Symbol{Start: hex(w[1]), Size: hex(w[2])}
		if s, ok := c.f.Lookup(c.fn.Start); c.fn.Size > 0 && (!ok || s.Start != c.fn.Start) {
			c.t.Errorf("%s: %+v", line, s)
		}
	case "PUBLIC":
		if s, ok := c.f.Lookup(hex(w[1])); !ok || s.Public && s.Start != hex(w[1]) {
			c.t.Errorf("%s: %+v", line, s) // within a function it is the function's name that counts
		}
		c.checked++
	case "STACK":
		c.stack(line, w)
	case "MODULE", "INFO", "INLINE", "INLINE_ORIGIN":
	default:
		s, ok := c.f.Lookup(hex(w[0]))
		if s.Start != c.fn.Start || s.Size != c.fn.Size || w[1] == "0" || c.funcs[s.Start] > 1 {
			return // of two functions at one place the other one is answered
		}
		if n, _ := strconv.Atoi(w[2]); !ok || s.Frames[0].Line != n || n != 0 && s.Frames[0].File != c.files[w[3]] {
			c.t.Errorf("%s: %+v", line, s.Frames)
		}
		c.checked++
	}
}

func (c *checker) stack(line string, w []string) {
	c.checked++
	switch w[1] + w[2] {
	case "CFIINIT":
		c.init = hex(w[3])
		r, err := c.f.CFI(hex(w[3]))
		if err != nil || r == nil || r.Start != hex(w[3]) {
			c.t.Errorf("%s: %v, %v", line, r, err)
		}
	case "WIN4", "WIN0":
		x, err := c.f.Win(hex(w[3]))
		if err != nil || x == nil || uint64(x.Start) != hex(w[3]) {
			c.t.Errorf("%s: %v, %v", line, x, err)
		}
	default:
		if c.inits[c.init] > 1 {
			return // sections that the linker left out are all at one address
		}
		r, err := c.f.CFI(hex(w[2]))
		if err != nil || r == nil {
			c.t.Errorf("%s: %v, %v", line, r, err)
			return
		}
		last := w[len(w)-1]
		if !strings.Contains(r.String(), last) {
			c.t.Errorf("%s: %s", line, r)
		}
	}
}

// BenchmarkParse indexes 100 MB of real files, one after the other.
func BenchmarkParse(b *testing.B) {
	var all [][]byte
	total := 0
	files := corpus(b)
	for total < 100<<20 {
		for _, data := range files {
			all = append(all, data)
			total += len(data)
		}
	}
	b.SetBytes(int64(total))
	b.ReportAllocs()
	for b.Loop() {
		for _, data := range all {
			if _, err := Parse(data); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	for name, data := range corpus(b) {
		if !strings.Contains(name, "test_app") {
			continue
		}
		f, err := Parse(data)
		if err != nil {
			b.Fatal(err)
		}
		at := f.funcs[len(f.funcs)/2].key
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := f.Lookup(at); !ok {
				b.Fatal("nothing found")
			}
		}
	}
}
