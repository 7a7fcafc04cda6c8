package triage

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/signature"
)

// TestAtOnce: an analysis that reads the variables at once finds what one does that reads them when it knows the
// signature.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	yes := func(*signature.Signature) bool { return true }
	for i, c := range append(fixture.Cases(t), fixture.Minidumps(t)...) {
		if i%8 != 0 && c.Name != "amd64-cxx-destructor" && c.Name != "amd64-passed-O2" && !fixture.IsLong(t) { // there the blame is in the signature
			continue
		}
		var dumps [2]ledger.Dump
		for i := range dumps {
			target, err := corewalk.Open(t.Context(), c.Core(t), corewalk.WithSearch(c.Binary(t)), corewalk.WithSysroot(c.Sysroot(t)))
			if err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
			a := analysis{names: new(signature.Cache), full: yes, likely: i == 1}
			if _, err := a.analyze(context.Background(), target, &dumps[i]); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
			target.Close()
		}
		if !reflect.DeepEqual(dumps[0], dumps[1]) {
			t.Errorf("%s:\n%+v\nat once\n%+v", c.Name, dumps[0], dumps[1])
		}
	}
}

// TestTimeForVariables: a dump of which there is no time to read the variables has its group, and its report says so.
func TestTimeForVariables(t *testing.T) {
	c := fixture.Get(t, "amd64-cxx-sort")
	yes := func(*signature.Signature) bool { return true }
	var dumps [2]ledger.Dump
	for i, ctx := range []context.Context{t.Context(), overdue{t.Context()}} {
		target, err := corewalk.Open(t.Context(), c.Core(t), corewalk.WithSearch(c.Binary(t)), corewalk.WithSysroot(c.Sysroot(t)))
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		a := analysis{names: new(signature.Cache), full: yes, likely: true}
		if _, err := a.analyze(ctx, target, &dumps[i]); err != nil {
			t.Fatal(err)
		}
		said := strings.Contains(string(dumps[i].Report), `"code": "variables"`)
		read := strings.Contains(string(dumps[i].Report), `"args"`)
		if late := i == 1; said != late || read == late {
			t.Errorf("late %v: a warning %v, variables %v", late, said, read)
		}
		dumps[i].Report = nil
	}
	if !reflect.DeepEqual(dumps[0], dumps[1]) {
		t.Errorf("%+v\nwithout time\n%+v", dumps[0], dumps[1])
	}
}

// overdue is a context whose time is over, and that nobody has ended yet.
type overdue struct{ context.Context }

func (overdue) Deadline() (time.Time, bool) { return time.Now().Add(-time.Hour), true }
