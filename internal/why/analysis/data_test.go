package analysis

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/report"
)

func TestDataOfNone(t *testing.T) {
	if diff := cmp.Diff(report.Data{Kind: "text"}, data(dwarfvars.Value{})); diff != "" {
		t.Error(diff)
	}
}
