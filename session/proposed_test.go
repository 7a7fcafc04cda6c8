package session

import (
	"context"
	"slices"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
)

// Names for completion begin as is asked, are sorted, and are those of the first symbols and entries only.
func TestProposed(t *testing.T) {
	ctx := context.Background()
	c := fixture.Get(t, "amd64-vars-c-O0")
	target, err := corewalk.Open(ctx, c.Core(t), corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithExecutable(c.Binary(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	s := New(target, Options{})
	libs, err := target.ProcessState().LibraryTracker().Libraries(false)
	if err != nil {
		t.Fatal(err)
	}
	module := libs[0].Path
	for _, x := range []struct {
		variables bool
		begin     string
		want      []string
	}{
		{false, "rec", []string{"records"}},
		{false, "records.", nil},
		{true, "nam", []string{"names"}},
		{true, "rec", nil},
	} {
		got, err := s.Proposed(ctx, module, x.variables, x.begin, 50)
		if err != nil {
			t.Fatal(err)
		}
		if x.begin == "rec" && !x.variables { // and those of libraries
			got = slices.DeleteFunc(got, func(n string) bool { return n != "records" })
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%v %s: %q, want %q", x.variables, x.begin, got, x.want)
		}
	}
	if got, _ := s.Proposed(ctx, "/another", true, "nam", 50); len(got) > 0 {
		t.Errorf("of a module that is not there: %q", got)
	}
	if got, _ := s.Proposed(ctx, module, false, "m", 3); len(got) > 3 || !slices.IsSorted(got) {
		t.Errorf("%q", got)
	}
	few, _, _ := s.functions(ctx, "", 0, 100, 5)
	all, _, _ := s.functions(ctx, "", 0, 100, 100)
	if len(few) > 5 || len(all) <= 5 {
		t.Errorf("%d of 5 symbols, %d of 100", len(few), len(all))
	}
	none, _, _ := s.names(ctx, &module, true, "", 0, 100, 1)
	names, _, _ := s.names(ctx, &module, true, "", 0, 100, 10_000)
	if len(none) > 1 || len(names) <= 1 {
		t.Errorf("%d of an entry, %d of many", len(none), len(names))
	}
}
