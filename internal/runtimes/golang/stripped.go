package golang

import (
	"slices"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Without a symbol table the variables of the runtime have no names, but its functions do:
// their code refers to the variables. What is found so is only a candidate, and memory decides.

// Functions that refer to the list of goroutines, and to the table of semaphores.
var (
	listFunctions = []string{"runtime.forEachGRace", "runtime.atomicAllG", "runtime.forEachG", "runtime.allgadd"}
	semaFunctions = []string{"runtime.semacquire1", "runtime.semrelease1"}
)

// maxCode limits the code of a function that is read, in bytes.
const maxCode = 16 << 10

// globals returns the addresses of data that a function's code refers to, in the order of
// the code, each once.
func (r *runtime) globals(function string) []uint64 {
	f, ok := r.p.Symbols.SymbolByName(r.lib, function)
	if !ok || f.Size == 0 || f.Size > maxCode {
		return nil
	}
	code := r.bytes(f.Addr, f.Size)
	var found []uint64
	held := map[arch.Reg]uint64{} // addresses in registers
	for pc := f.Addr; len(code) > 0; {
		in, err := disasm.Decode(r.Arch, code, pc)
		if err != nil || in.Len > len(code) {
			break
		}
		var address uint64
		for _, m := range in.Mems() {
			if m.Implicit || m.Index != arch.NoReg {
				continue
			}
			at, ok := uint64(m.Disp), m.Base == arch.NoReg
			if !ok {
				if base, has := held[m.Base]; has {
					at, ok = base+uint64(m.Disp), true
				}
			}
			if at = r.Arch.Truncate(at); ok && r.lib.Start <= at && at < r.lib.End {
				address = at
				if !slices.Contains(found, at) {
					found = append(found, at)
				}
			}
		}
		sum, sumOf := uint64(0), arch.NoReg // arm64 adds the lower bits by themselves
		if op, d, a, _, imm := in.ALU(); op == disasm.ALUAddImm {
			if base, has := held[a]; has {
				sum, sumOf = r.Arch.Truncate(base+uint64(imm)), d
				if r.lib.Start <= sum && sum < r.lib.End && !slices.Contains(found, sum) {
					found = append(found, sum)
				}
			}
		}
		for reg := range held {
			if in.Writes.Has(reg) {
				delete(held, reg)
			}
		}
		if in.Kind == disasm.Lea && address != 0 {
			held[in.Dst] = address
		}
		if sumOf != arch.NoReg {
			held[sumOf] = sum
		}
		code, pc = code[in.Len:], pc+uint64(in.Len)
	}
	return found
}

// rootsCost is what asking whether two candidates are the list and its length costs: some goroutines at both ends are looked at. The code
// of a hostile program has thousands of candidates, and so millions of pairs.
const rootsCost = 1 << 10

// searchRoots finds the list of goroutines in a program without a symbol table: a pointer to
// pointers to goroutines, and how many those are, among the variables that the functions
// which use the list refer to. Of several, the longest list whose goroutines make sense counts.
func (r *runtime) searchRoots() bool {
	var candidates []uint64
	for _, f := range listFunctions {
		for _, at := range r.globals(f) {
			if !slices.Contains(candidates, at) {
				candidates = append(candidates, at)
			}
		}
	}
	var best uint64
	var list uint64
	for _, length := range candidates {
		n, ok := r.word(length)
		if !ok || n == 0 || n > maxGoroutines || n <= best {
			continue
		}
		for _, at := range candidates {
			p, ok := r.word(at)
			if !ok || at == length || p%uint64(r.Arch.WordSize) != 0 {
				continue
			}
			if r.p.Spend(rootsCost) != nil {
				return false
			}
			if r.allgs, r.count = p, n; r.ends() && r.prove() == nil {
				best, list = n, p
				r.ptrAt, r.countAt = at, length
				break
			}
		}
	}
	r.allgs, r.count = list, best
	return best > 0
}

// ends reports whether the last of the list are goroutines, too: after the end of the real list there are none.
func (r *runtime) ends() bool {
	seen := map[uint64]bool{}
	bad := uint64(0)
	n := min(r.count, proveSample)
	for i := uint64(1); i <= n; i++ {
		g, ok := r.word(r.allgs + (r.count-i)*uint64(r.Arch.WordSize))
		if !ok || g == 0 || r.sense(g, seen) <= senseAbsent {
			if bad++; i == 1 {
				return false
			}
		}
	}
	return bad <= n/2
}

// semaTable finds the table of semaphores.
func (r *runtime) semaTable() (uint64, bool) {
	if at, ok := r.symbol("semtable"); ok {
		return at, true
	}
	for _, f := range semaFunctions {
		for _, at := range r.globals(f) {
			if r.isSemaTable(at) {
				return at, true
			}
		}
	}
	return 0, false
}

// isSemaTable reports whether a table of semaphores is at an address: somebody waits, and
// whoever waits is a goroutine, for an address whose place in the table this is.
func (r *runtime) isSemaTable(at uint64) bool {
	table := r.of("semtable")
	if table == nil {
		return false
	}
	stride, count := table.fields["stride"], table.fields["count"]
	good := 0
	for i := range count {
		root, ok := r.object(r.of("semaroot"), at+i*stride)
		if !ok || root.u32("nwait") > maxQueue {
			return false
		}
		treap := root.word("treap")
		if treap == 0 {
			continue
		}
		s, ok := r.object(r.of("sudog"), treap)
		if !ok || s.second("elem")>>3%count != i {
			return false
		}
		good++
	}
	return good > 0
}
