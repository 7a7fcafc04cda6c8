package systemtest

import (
	"context"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestStructuredData: a report has the keys of a map, and how often an element repeats.
func TestStructuredData(t *testing.T) {
	r, err := openCase(t, fixture.Get(t, "amd64-vars-cxx-O0")).Analyze(context.Background(),
		corewalk.AnalyzeOptions{For: report.Whole{Trees: true}, Locals: corewalk.LocalsAll})
	if err != nil {
		t.Fatal(err)
	}
	ages := variableData(r, "ages")
	if ages == nil || ages.Kind != "map" || len(ages.Children) == 0 {
		t.Fatalf("ages: %+v", ages)
	}
	for _, c := range ages.Children {
		if c.Key == nil || c.Key.Text == "" || c.Data.Text == "" || c.Repeat != 0 {
			t.Errorf("an element of ages: %+v", c)
		}
	}
	words := variableData(r, "words")
	if words == nil || len(words.Children) == 0 || words.Children[0].Key != nil {
		t.Errorf("words: %+v", words)
	}
	r, err = openCase(t, fixture.Get(t, "amd64-vars-c-O0")).Analyze(context.Background(),
		corewalk.AnalyzeOptions{For: report.Whole{Trees: true}, Locals: corewalk.LocalsAll})
	if err != nil {
		t.Fatal(err)
	}
	repeated := false
	for _, th := range r.Threads {
		for _, f := range th.Frames {
			for _, v := range f.Locals {
				for i := 0; v.Data != nil && i < len(v.Data.Children); i++ {
					repeated = repeated || v.Data.Children[i].Repeat > 1
				}
			}
		}
	}
	if !repeated {
		t.Error("no element of an array repeats")
	}
}

// variableData is the value of the first local variable of a name.
func variableData(r *report.Report, name string) *report.Data {
	for _, th := range r.Threads {
		for _, f := range th.Frames {
			for _, v := range f.Locals {
				if v.Name == name && v.Data != nil {
					return v.Data
				}
			}
		}
	}
	return nil
}
