package signature

import (
	"strings"
	"sync"

	"github.com/corewalk/corewalk/report"
)

// A Cache remembers what names mean from one report to the next: the dumps of a batch
// have the same functions again and again. It may be used by several goroutines; its
// zero value is empty. Signatures made with one are those of Of.
type Cache struct {
	mu    sync.RWMutex
	known map[function]meaning
}

// maxKnown bounds how many functions are remembered: all are forgotten then.
const maxKnown = 1 << 14

// A function is what its name and its rule depend on.
type function struct{ name, symbol, module, file string }

// A meaning is what is known of a function.
type meaning struct {
	name   string // normalised
	module string // the module's name without version
	file   string // the source file's name without directories
	rule   *rule
}

// Of is the function Of.
func (c *Cache) Of(r *report.Report) Signature { return of(r, c) }

// meanings answers what is known of each function of a stack.
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

// fill takes what is known of functions, up to the first of which nothing is.
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
		return function{"", f.Symbol, f.Module, f.Source.File} // its name is of another build
	}
	return function{f.Function, f.Symbol, f.Module, f.Source.File}
}

// learn finds out about a frame's function.
func (c *Cache) learn(f *report.Frame) meaning {
	key := keyOf(f)
	m := meaning{module: moduleName(key.module), file: report.Clean(baseName(key.file))}
	if key.name != "" {
		m.name = Normalize(key.name)
	}
	m.rule = ruleFor(m.name, f)
	// Texts of a report may be parts of larger ones that are to go.
	m.name, m.module, m.file = strings.Clone(m.name), strings.Clone(m.module), strings.Clone(m.file)
	key = function{strings.Clone(key.name), strings.Clone(key.symbol), strings.Clone(key.module), strings.Clone(key.file)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxKnown {
		c.known = make(map[function]meaning)
	}
	c.known[key] = m
	return m
}
