package slim_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/carry/slim"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
	"github.com/corewalk/corewalk/report"
)

// full is a minidump with the whole memory, most of which nobody reads.
func full() []byte {
	d := dumpbuild.New(false)
	d.System(9, 2, 10, 0, 19041, "")
	d.Threads(false, dumpbuild.Thread{ID: 100, TEB: 0x30000, StackStart: 0x8000, Context: d.Blob(d.AMD64(0x10001f, 0x140001234, 0x8000, 0))})
	d.Modules(dumpbuild.Module{Base: 0x140000000, Size: 0x3000, Stamp: 0x5f5e1000, Name: `C:\prog\app one.exe`})
	d.Exception(dumpbuild.Exception{Thread: 100, Code: 0xc0000005, Address: 0x140001234, Params: []uint64{0, 0x10}, Context: d.Blob(d.AMD64(0x10001f, 0x140001234, 0x8000, 0))})
	d.MemoryInfo(48,
		dumpbuild.Region{Base: 0x8000, Size: 0x1000, State: 0x1000, Protect: 4, Type: 0x20000},
		dumpbuild.Region{Base: 0x30000, Size: 0x1000, State: 0x1000, Protect: 4, Type: 0x20000},
		dumpbuild.Region{Base: 0x200000, Size: 0x100000, State: 0x1000, Protect: 4, Type: 0x20000},
		dumpbuild.Region{Base: 0x140001000, Size: 0x1000, State: 0x1000, Protect: 0x20, Type: 0x1000000})
	d.Memory64(
		dumpbuild.Memory{Start: 0x8000, Data: d.W().U64(0, 0x140001111, 0x200010, 0x140001234).Pad(0x1000).B},
		dumpbuild.Memory{Start: 0x30000, Data: d.W().U64(0, 0x9000, 0x7000).Pad(0x68).U32(5).Pad(0x1000).B},
		dumpbuild.Memory{Start: 0x200000, Data: d.W().U64(1, 2, 3).Pad(0x100000).B},
		dumpbuild.Memory{Start: 0x140001000, Data: d.W().Pad(0x234).Bytes([]byte{0x48, 0x8b, 0x40, 0x10}).Pad(0x1000).B}) // mov rax, [rax+16]
	return d.Bytes()
}

func text(t *testing.T, dump []byte) string {
	t.Helper()
	target, err := corewalk.OpenReader(context.Background(), bytes.NewReader(dump), "dump")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Memory: true, Disassemble: true})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.WriteText(&b, r, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func small(dump []byte, o corewalk.SlimOptions) ([]byte, *corewalk.SlimWritten, error) {
	target, err := corewalk.OpenReader(context.Background(), bytes.NewReader(dump), "dump", corewalk.ForSlim())
	if err != nil {
		return nil, nil, err
	}
	defer target.Close()
	var b bytes.Buffer
	w, err := target.WriteSlim(context.Background(), &b, o)
	return b.Bytes(), w, err
}

// A slim minidump has the same report, and none of the memory that nobody reads.
func TestMinidump(t *testing.T) {
	whole := full()
	got, w, err := small(whole, corewalk.SlimOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) > 32<<10 || w.Size != uint64(len(got)) || w.Was != uint64(len(whole)) || len(w.Kept) == 0 {
		t.Errorf("%d of %d bytes: %+v", len(got), len(whole), w)
	}
	if a, b := text(t, whole), text(t, got); a != b {
		t.Errorf("%s\nbut of the slim one %s", a, b)
	}
	again, _, err := small(got, corewalk.SlimOptions{})
	if err != nil || text(t, again) != text(t, whole) {
		t.Errorf("once more: %v", err)
	}
}

func TestMinidumpRefused(t *testing.T) {
	if _, _, err := small(full(), corewalk.SlimOptions{Redact: true}); !errors.Is(err, slim.ErrRedact) {
		t.Errorf("redacted: %v", err)
	}
	if _, _, err := small(dumpbuild.Windows(), corewalk.SlimOptions{}); !errors.Is(err, slim.ErrLayout) {
		t.Errorf("with a MemoryList: %v", err)
	}
}
