package corestate_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/fixture"
)

// Addresses of data may have tags where the processor ignores them.
func TestTaggedAddresses(t *testing.T) {
	const tag = 0xb4 << 56
	for name, ignored := range map[string]bool{"aarch64-threads": true, "amd64-threads": false} {
		dump, err := corestate.Open(context.Background(), fixture.Get(t, name).Core(t))
		if err != nil {
			t.Fatal(err)
		}
		defer dump.Close()
		id, err := dump.DefaultThread()
		if err != nil {
			t.Fatal(err)
		}
		regs, err := dump.Registers(id)
		if err != nil {
			t.Fatal(err)
		}
		sp, _ := regs.Get(dump.Arch().SP)
		plain, tagged := make([]byte, 64), make([]byte, 64)
		if _, err := dump.ReadMem(sp, plain); err != nil {
			t.Fatal(err)
		}
		_, err = dump.ReadMem(sp|tag, tagged)
		if ok := err == nil && bytes.Equal(plain, tagged); ok != ignored {
			t.Errorf("%s: read through a tag: %v, %v", name, ok, err)
		}
		if ok := bytes.Equal(plain, dump.ViewMem(sp|tag, len(plain))); ok != ignored {
			t.Errorf("%s: view through a tag: %v", name, ok)
		}
		want, _ := dump.ReadWord(sp)
		got, err := dump.ReadWord(sp | tag)
		if ok := err == nil && got == want; ok != ignored {
			t.Errorf("%s: word through a tag: %#x, %v; want %#x", name, got, err, want)
		}
		m, _ := dump.MappingAt(sp)
		if at, ok := dump.MappingAt(sp | tag); ok != ignored || ok && at != m {
			t.Errorf("%s: mapping through a tag: %+v", name, at)
		}
	}
}
