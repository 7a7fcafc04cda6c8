package systemtest

import (
	"context"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
)

// TestSignalFramesHaveVectors looks for variables in floating-point registers of
// functions that signals interrupted, and of their callers: these are in the signal
// frames only, for the cores have no such registers.
func TestSignalFramesHaveVectors(t *testing.T) {
	for _, name := range []string{"aarch64-signal", "aarch64-pac-signal", "arm-signal", "arm-thumb-signal"} {
		r, err := openCase(t, fixture.Get(t, name)).Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, f := range r.Threads[0].Frames {
			for _, v := range f.Locals {
				if strings.Contains(v.Location, "register") {
					found[v.Name] = v.Value
				}
			}
		}
		if found["level"] != "5.5" || found["scale"] != "2.5" {
			t.Errorf("%s: %q", name, found)
		}
	}
}
