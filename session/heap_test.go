package session_test

import (
	"context"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// What is at the addresses that pointers of a program have: blocks of the heap and who points at them, and the pointers themselves.
func TestAtHeap(t *testing.T) {
	exe := fixture.Compile(t, "gcc", "heap/bugs.c", "-g", "-O0", "-w")
	ctx := context.Background()
	target, err := corewalk.Open(ctx, fixture.Crash(t, nil, exe, "sound"), corewalk.WithExecutable(exe))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	s := session.New(target, session.Options{})
	defer s.Close()
	f, err := s.Focus(ctx)
	if err != nil || f.Function != "main" {
		t.Fatalf("%+v, %v", f, err)
	}
	for _, c := range []struct {
		expr, want string // want is in the text
		size, off  uint64 // of the block; 0 for none
	}{
		{"label", "in a block of 40 bytes at 0x# (label), glibc malloc", 40, 0},
		{"label+7", "(label), offset 7, glibc malloc", 40, 7},
		{"cache.items[3]", "(cache.items[3])", 40, 0},
		{"big", "in a block of 5000 bytes at 0x# (big)", 5000, 0},
		{"&cache.count", "in cache.count, int, program+0x#", 0, 0},
		{"&victim", "in victim of frame #", 0, 0},
		{"&main", "in main, program+0x#", 0, 0},
	} {
		addr, err := s.Address(ctx, f.ID, c.expr)
		if err != nil {
			t.Fatal(c.expr, err)
		}
		p, err := s.At(ctx, addr)
		if text := anyAddress(p.Text()); err != nil || !strings.Contains(text, c.want) {
			t.Errorf("%s: %q, %v, want %q", c.expr, text, err, c.want)
		}
		switch {
		case c.size == 0 && p.Block != nil, c.size != 0 && (p.Kind != report.PlaceHeap || p.Block == nil):
			t.Errorf("%s: %+v", c.expr, p)
		case c.size != 0 && (p.Block.Size != c.size || p.Block.Offset != c.off || p.Block.Free || uint64(p.Block.Start) != addr-c.off):
			t.Errorf("%s: %+v", c.expr, p.Block)
		}
	}
}

// anyAddress writes 0x# for each number of the form 0x...
func anyAddress(s string) string {
	parts := strings.Split(s, "0x")
	for i := range parts[1:] {
		parts[i+1] = "#" + strings.TrimLeft(parts[i+1], "0123456789abcdef")
	}
	return strings.Join(parts, "0x")
}
