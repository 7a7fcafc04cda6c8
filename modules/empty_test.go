package modules_test

import (
	"context"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind/arch"
)

// everywhere is memory that has whatever is read.
type everywhere struct{}

func (everywhere) ReadMem(_ arch.Address, b []byte) (int, error) { return len(b), nil }
func (everywhere) ReadWord(arch.Address) (uint64, error)         { return 0, nil }

// A vDSO of which a damaged core has no byte, or that ends before it starts, is
// missing.
func TestVDSOWithoutBytes(t *testing.T) {
	set := newSet(t, everywhere{})
	for _, lib := range []libstate.Library{{Start: 0x1000, End: 0x1000}, {Start: 0x2000, End: 0x1000}} {
		lib.Kind = libstate.VDSO
		if r := set.Resolve(&lib); r.Match != modules.Missing || r.Image != nil || r.Why == "" {
			t.Errorf("%#x..%#x: %+v", lib.Start, lib.End, r)
		}
	}
}

// newSet is a set of files, closed with the test.
func newSet(t *testing.T, mem arch.Memory, opts ...modules.Option) *modules.Set {
	t.Helper()
	set, err := modules.New(context.Background(), mem, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	return set
}
