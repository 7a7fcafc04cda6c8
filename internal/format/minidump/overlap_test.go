package minidump_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
)

// All modules may have one CodeView record, with a long path: not all paths are kept.
func TestSharedCodeView(t *testing.T) {
	const n, size = 2000, 20_000
	d := linuxDump(cpuAMD64)
	list := make([]dumpbuild.Module, n)
	for i := range list {
		list[i] = dumpbuild.Module{Base: uint64(i) << 20, Size: 16, Name: "m.dll"}
	}
	list[0].CodeView = d.PDB70(1, 2, 3, [8]byte{4}, 5, strings.Repeat("p", size))
	d.Modules(list...)
	b := d.Bytes()
	modules := stream(t, b, 4)[4:]
	for i := 1; i < n; i++ {
		copy(modules[108*i+76:], modules[76:84])
	}
	f, err := minidump.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for i := range f.Modules {
		total += len(f.Modules[i].DebugFile)
	}
	if len(f.Modules) != n || total < size || total > 1<<20+4*len(b) {
		t.Errorf("%d modules in %d bytes have paths of %d", len(f.Modules), len(b), total)
	}
	if len(f.Warnings) == 0 || !strings.HasPrefix(f.Warnings[0], "strings overlap too much") {
		t.Errorf("warnings %q", f.Warnings)
	}
}

// stream returns the bytes of the file from the first stream of a kind on.
func stream(t *testing.T, b []byte, kind uint32) []byte {
	t.Helper()
	le := binary.LittleEndian
	for i := range int(le.Uint32(b[8:])) {
		if entry := b[int(le.Uint32(b[12:]))+12*i:]; le.Uint32(entry) == kind {
			return b[le.Uint32(entry[8:]):]
		}
	}
	t.Fatalf("no stream %d", kind)
	return nil
}
