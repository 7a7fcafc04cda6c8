package analysis

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/report"
)

func TestData(t *testing.T) {
	leaf := func(s string) *dwarfvars.Value { return &dwarfvars.Value{Text: s, Addr: 16} }
	v := &dwarfvars.Value{Compound: true, More: true, Addr: 8, Parts: []dwarfvars.Part{
		{Name: "a", Value: leaf("1"), Repeat: 1},
		{Key: leaf(`"k"`), Value: leaf("2"), Repeat: 12},
		{Name: "gone", Value: &dwarfvars.Value{Err: errors.New("optimised out")}},
	}}
	want := report.Data{Kind: "struct", Address: 8, Truncated: true, Children: []report.Child{
		{Name: "a", Data: report.Data{Kind: "text", Text: "1", Address: 16}},
		{Key: &report.Data{Kind: "text", Text: `"k"`, Address: 16}, Repeat: 12, Data: report.Data{Kind: "text", Text: "2", Address: 16}},
		{Name: "gone", Data: report.Data{Kind: "text", Error: "optimised out"}},
	}}
	if diff := cmp.Diff(want, data(v)); diff != "" {
		t.Error(diff)
	}
}
