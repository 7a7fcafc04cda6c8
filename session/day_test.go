package session_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/session"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A session stays open for a day in an editor: what it keeps does not grow with the questions, however often all are asked.
func TestKeepsNoMore(t *testing.T) {
	rounds := 20
	if fixture.IsLong(t) {
		rounds = 400
	}
	for _, name := range []string{"amd64-vars-cxx-O0", "amd64-vars-go-O0"} {
		if name == "amd64-vars-cxx-O0" && !fixture.IsLong(t) { // takes ten times as long
			continue
		}
		s := session.New(open(t, fixture.Get(t, name)), session.Options{MaxRefs: 64})
		t.Cleanup(s.Close)
		for i := range 20 {
			askAll(t, s, i)
		}
		before := kept()
		for i := range rounds {
			askAll(t, s, 20+i)
		}
		grown := kept() - before
		t.Logf("%s: %d KiB more after %d rounds", name, grown>>10, rounds)
		if grown > 128<<10+int64(rounds)*64 {
			t.Errorf("%s: %d bytes are kept of each round of questions", name, grown/int64(rounds))
		}
		runtime.KeepAlive(s)
	}
}

func kept() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// askAll asks what an editor, a prompt and an agent ask; other expressions and other patterns in each round.
func askAll(t *testing.T, s *session.Session, round int) {
	t.Helper()
	ctx := context.Background()
	threads, err := s.Threads(ctx)
	if err != nil {
		t.Fatal(err)
	}
	frames, _, err := s.Frames(ctx, threads[0].ID, 0, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		scopes, err := s.Scopes(ctx, f.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, sc := range scopes {
			list, _, err := s.Children(ctx, sc.Ref, 0, 20)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range list {
				if v.Ref != 0 {
					if _, _, err := s.Children(ctx, v.Ref, 0, 20); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if v, err := s.Evaluate(ctx, f.ID, fmt.Sprintf("%d + 1", round)); err != nil || v.Value != fmt.Sprint(round+1) {
			t.Fatalf("%d + 1 = %s, %v", round, v.Value, err)
		}
		pc := arch.Address(f.PC)
		if _, err := s.Disassemble(ctx, pc, 2, 5); err != nil {
			t.Fatal(err)
		}
		if _, err := s.At(ctx, pc); err != nil {
			t.Fatal(err)
		}
		if b, err := s.ReadMemory(ctx, pc, 64); err != nil || len(b) == 0 {
			t.Fatal(len(b), err)
		}
	}
	if _, _, err := s.Functions(ctx, fmt.Sprintf("^no%d$", round), 0, 10); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Tasks(ctx, 0, 10); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Info(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Focus(ctx); err != nil {
		t.Fatal(err)
	}
}
