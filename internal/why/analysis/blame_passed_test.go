package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestEntryText: only where each argument has one register it has a number.
func TestEntryText(t *testing.T) {
	c, goABI := provenance.ABIOf(arch.AMD64, false), provenance.GoABI(arch.AMD64, true)
	for _, x := range []struct {
		abi  *provenance.ABI
		v    provenance.Value
		want string
	}{
		{&c, provenance.Value{Kind: provenance.Entry, Reg: arch.RSI}, "argument 2"},
		{&goABI, provenance.Value{Kind: provenance.Entry, Reg: arch.RBX}, "argument in rbx"},
		{&c, provenance.Value{Kind: provenance.Entry, Reg: arch.RBX}, "argument on the stack"},
		{&c, provenance.Value{Kind: provenance.EntrySlot, Reg: arch.RSI}, "argument on the stack"},
	} {
		if got := entryText(arch.AMD64, x.abi, &x.v); got != x.want {
			t.Errorf("%+v: %q, want %q", x.v, got, x.want)
		}
	}
}
