package lint

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// projects matches what shows reports: the engine of facts finds out what it is asked for, and never knows by whom.
var projects = regexp.MustCompile(`\breport\.(TextOptions|TextWriter|NewTextWriter|LineWriter|NewLineWriter|ForJSON|Projection|InRounds|Write[A-Z]\w*)\b`)

// asksEngine matches the import of the engine.
var asksEngine = regexp.MustCompile(`^\s*"github\.com/corewalk/corewalk/internal/why/analysis"$`)

// TestEngineKnowsNoProjection: no projection is below the engine, and no engine above: others reach it through Facts.
func TestEngineKnowsNoProjection(t *testing.T) {
	reaches := []string{"", "session"} // session shows values of expressions as the engine shows those of variables
	seen := 0
	eachLine(t, func(s source, n int, line string) {
		if s.room == "internal/why/analysis" {
			if projects.MatchString(line) {
				t.Errorf("%s:%d: the engine knows who asks: %s", s.file, n, strings.TrimSpace(line))
			}
		}
		if asksEngine.MatchString(line) {
			if seen++; !slices.Contains(reaches, s.room) {
				t.Errorf("%s:%d: asks the engine itself, not Facts", s.file, n)
			}
		}
	})
	if seen == 0 {
		t.Error("nobody asks the engine")
	}
}

// walks matches what walks a stack of a process.
var walks = regexp.MustCompile(`\.(WalkStack|WalkStackContext|WalkMore|WalkStackFromFrame)\(`)

// walking lists the files in which stacks are walked, with the reason why it is not the engine that does it.
var walking = map[string]string{
	"internal/why/analysis/walks.go":    "the engine",
	"internal/why/analysis/tasks.go":    "the engine: tasks, of which there may be many, are not kept",
	"internal/why/analysis/ahead.go":    "only which modules stacks go through, all at once, before anything is known",
	"facts.go":                          "more of a task's stack, which its StackFacts keep",
	"tasks.go":                          "raw stacks of tasks for programs with a Walker of their own",
	"moment.go":                         "addresses of a moment; names come later, for all moments together",
	"sampler.go":                        "likewise",
	"info.go":                           "only which modules stacks go through, with the files that are there",
	"slim.go":                           "what the steps read is recorded",
	"internal/carry/slim/same.go":       "likewise",
	"internal/live/corecheck/parity.go": "two walks of one thread are compared",
}

// TestOnlyTheEngineWalks: no other place walks threads but for another purpose than to say what they do.
func TestOnlyTheEngineWalks(t *testing.T) {
	seen := map[string]bool{}
	eachLine(t, func(s source, n int, line string) {
		if s.room == "unwind" || !walks.MatchString(line) {
			return
		}
		file := filepath.ToSlash(s.file)
		if seen[file] = true; walking[file] == "" {
			t.Errorf("%s:%d: walks a stack by itself: %s", s.file, n, strings.TrimSpace(line))
		}
	})
	for file := range walking {
		if !seen[file] {
			t.Errorf("%s walks no stacks any more", file)
		}
	}
}
