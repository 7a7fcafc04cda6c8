package analysis

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
)

// What is said of musl's allocators.

// donated reports whether an address is in a block of musl's, which hands out what is left of pages of modules, too.
func (c *crash) donated(at uint64) bool {
	if !c.usesMusl() || c.heap() == nil {
		return false
	}
	b, ok := c.heap().BlockAt(at)
	if !ok {
		return c.behindAny(at)
	}
	return !b.Own && b.Contains(at)
}

// usesMusl reports whether musl is one of the modules.
func (in *Engine) usesMusl() bool {
	libs := in.Proc.LibraryTracker()
	if libs == nil {
		return false
	}
	list, _ := libs.Libraries(false)
	return slices.ContainsFunc(list, func(lib *libstate.Library) bool { return musl(lib.Path) })
}

// musl reports whether a module is musl.
func musl(module string) bool {
	name := find.BaseName(module)
	return name == "libc.so" || strings.HasPrefix(name, "ld-musl-") || strings.HasPrefix(name, "libc.musl-")
}

// muslRefused reports whether musl's allocator, which ends a program by an instruction that is not allowed and says nothing, found a record damaged: it is
// where the program died, and one is, or it was given what is no block.
func (c *crash) muslRefused() bool {
	top := c.top()
	if kind := c.stop().why.Kind; top == nil || kind != report.CrashPrivileged && !dataFault(kind) || !musl(c.libraryPath(top.LookupAddr())) || c.heap() == nil {
		return false
	}
	name := c.named.Frames[0].Function
	if name != "" && !allocators.Get()[libcName(name)] {
		return false
	}
	if name == "" && dataFault(c.stop().why.Kind) { // not every function of musl's without a name is of its allocator
		return slices.ContainsFunc(c.heap().Damages(), c.held)
	}
	return len(c.heap().Damages()) > 0 || len(c.noBlockGiven()) > 0
}

// held reports whether the youngest frame has the block in a register whose record is damaged, or the place of that.
func (c *crash) held(d heap.Damage) bool {
	regs := c.top().Registers()
	for m := regs.Valid; m != 0; m &= m - 1 {
		if v, _ := regs.Get(m.First()); v != 0 && (v == d.Of.Start || v-d.At < uint64(d.Size)) {
			return true
		}
	}
	return false
}
