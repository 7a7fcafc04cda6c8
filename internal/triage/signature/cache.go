package signature

import (
	"strings"
	"sync"

	"github.com/corewalk/corewalk/report"
)

// A Cache remembers the meaning of names from one report to the next: the dumps of a batch have the same
// functions. It is safe for concurrent use; its zero value is empty and ready to use. Its signatures equal
// those of Of.
type Cache struct {
	mu    sync.RWMutex
	known map[function]meaning
}

// maxKnown is how many functions are remembered; when it is reached, all are forgotten.
const maxKnown = 1 << 14

// A function is everything that the name and the rule of a frame depend on.
type function struct{ name, symbol, module, file, language string }

// A meaning is what is known of a function.
type meaning struct {
	name   string // normalised
	module string // name of the module without version
	file   string // name of the source file without directories
	rule   *rule
	scoped bool // all debugging information has the whole name
}

// Of is like the function Of.
func (c *Cache) Of(r *report.Report) Signature { return of(r, c) }

// meanings returns the meaning of each frame's function.
func (c *Cache) meanings(frames []report.Frame) []meaning {
	out := make([]meaning, len(frames))
	c.mu.RLock()
	from := c.fill(out, frames, 0)
	c.mu.RUnlock()
	for from < len(frames) {
		out[from] = c.learn(&frames[from])
		c.mu.RLock()
		from = c.fill(out, frames, from+1)
		c.mu.RUnlock()
	}
	return out
}

// fill copies known meanings, up to the first function without one.
func (c *Cache) fill(out []meaning, frames []report.Frame, from int) int {
	for i := from; i < len(frames); i++ {
		f := &frames[i]
		if i > 0 && f.PC == frames[i-1].PC && keyOf(f) == keyOf(&frames[i-1]) {
			out[i] = out[i-1] // a recursion
			continue
		}
		m, ok := c.known[keyOf(f)]
		if !ok {
			return i
		}
		out[i] = m
	}
	return len(frames)
}

func keyOf(f *report.Frame) function {
	if f.Mismatched {
		return function{"", f.Symbol, f.Module, f.Source.File, f.Language} // the name belongs to another build
	}
	return function{f.Function, f.Symbol, f.Module, f.Source.File, f.Language}
}

// learn computes the meaning of a frame's function.
func (c *Cache) learn(f *report.Frame) meaning {
	key := keyOf(f)
	m := meaning{name: Normalize(key.name), module: moduleName(key.module), file: report.Clean(baseName(key.file))}
	if f.Language != "" {
		// Which native code executes it, the interpreter's or compiled one, may change from run to run.
		m.module = ""
		if f.Language == "python" || f.Language == "javascript" || f.Language == "lua" || f.Language == "ruby" || f.Language == "erlang" || f.Language == "perl" {
			m.module = m.file
		}
	}
	if f.Language == "php" {
		m.name, m.file = phpName(key.name), phpFile(m.file)
		m.module = m.file
	}
	if f.Language == "perl" {
		m.name = report.Clean(key.name)
	}
	if f.Language == "python" {
		m.name = pythonName(key.name)
	}
	m.rule = ruleFor(m.name, f)
	m.scoped = f.Language != "" || strings.HasSuffix(m.file, ".rs") || rustSymbol(key.symbol)
	if f.Language != "php" && f.Language != "perl" { // closures have the name of their class or package only
		m.name = home(m.name)
	}
	// Do not keep a report's large strings alive.
	m.name, m.module, m.file = strings.Clone(m.name), strings.Clone(m.module), strings.Clone(m.file)
	key = function{strings.Clone(key.name), strings.Clone(key.symbol), strings.Clone(key.module), strings.Clone(key.file), strings.Clone(key.language)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxKnown {
		c.known = make(map[function]meaning)
	}
	c.known[key] = m
	return m
}
