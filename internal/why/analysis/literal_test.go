package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// mappedAt is a process with one mapping, known at one address; there is none if it has no permissions.
type mappedAt struct {
	Process
	at arch.Address
	m  libstate.Mapping
}

func (p mappedAt) MappingAt(addr arch.Address) (libstate.Mapping, bool) {
	return p.m, p.m.Perm != 0 && addr == p.at
}

// TestLiteral: a number next to the code that loads it was put there by the compiler, unless the memory is
// writable or not executable.
func TestLiteral(t *testing.T) {
	const at = 0x10000
	rx := libstate.Mapping{Start: at - 0x8000, End: at + 0x8000, Perm: libstate.Read | libstate.Exec}
	for name, c := range map[string]struct {
		arch        *arch.Arch
		perm        libstate.Perm
		code        uint64 // address of the load
		base, index arch.Reg
		want        bool
	}{
		"beside code":          {arch.ARM, rx.Perm, at - 64, arch.NoReg, arch.NoReg, true},
		"as far as can be":     {arch.ARM64, rx.Perm, at - 4096, arch.NoReg, arch.NoReg, true},
		"before it":            {arch.ARM64, rx.Perm, at + 4096, arch.NoReg, arch.NoReg, true},
		"too far behind":       {arch.ARM, rx.Perm, at - 4097, arch.NoReg, arch.NoReg, false},
		"too far before":       {arch.ARM, rx.Perm, at + 4097, arch.NoReg, arch.NoReg, false},
		"data beside code":     {arch.ARM, libstate.Read, at - 64, arch.NoReg, arch.NoReg, false},
		"code that is written": {arch.ARM, rx.Perm | libstate.Write, at - 64, arch.NoReg, arch.NoReg, false},
		"by a register":        {arch.ARM, rx.Perm, at - 64, arch.ARMR0, arch.NoReg, false},
		"by an index":          {arch.ARM, rx.Perm, at - 64, arch.NoReg, arch.ARMR0, false},
		"x86 keeps none there": {arch.AMD64, rx.Perm, at - 64, arch.NoReg, arch.NoReg, false},
		"no mapping is there":  {arch.ARM, 0, at - 64, arch.NoReg, arch.NoReg, false},
	} {
		m := rx
		m.Perm = c.perm
		in := &Engine{arch: c.arch, Parts: Parts{Proc: mappedAt{at: at, m: m}}}
		v := &provenance.Value{Kind: provenance.Load, K: at, At: c.code, Base: c.base, Index: c.index}
		if got := in.literal(v); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
