package triage

import (
	"context"
	"reflect"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/signature"
)

// TestAtOnce: an analysis that reads the variables at once finds what one does that reads them when it knows the
// signature.
func TestAtOnce(t *testing.T) {
	yes := func(*signature.Signature) bool { return true }
	for i, c := range append(fixture.Cases(t), fixture.Minidumps(t)...) {
		if i%8 != 0 && !fixture.IsLong() {
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
