package lint

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// toolRooms are programs that are for the work on this module: nobody else's input reaches them.
var toolRooms = []string{"internal/release", "internal/mutants", "internal/fuzzing", "internal/benchpeers", "internal/testsof", "internal/torture", "internal/fixture", "internal/stranger", "internal/corebuild", "internal/runtimes/golang/layouts"}

// TestStandardErrorIsBounded: what another process says to standard error is kept in something with a limit. The process may read what strangers sent, and have been taken over.
func TestStandardErrorIsBounded(t *testing.T) {
	grows := regexp.MustCompile(`(?m)^\s*(?:var )?([\w, ]+?) (?:bytes\.Buffer|strings\.Builder)\b`)
	said, seen := regexp.MustCompile(`(?m)^.*\.Stderr\b.* = .*$`), 0
	for _, s := range sources(t) {
		if s.test || slices.Contains(toolRooms, s.room) {
			continue
		}
		for _, line := range said.FindAllString(s.text, -1) {
			seen++
			for _, m := range grows.FindAllStringSubmatch(s.text, -1) {
				for name := range strings.SplitSeq(m[1], ",") {
					if regexp.MustCompile(`&` + regexp.QuoteMeta(strings.TrimSpace(name)) + `\b`).MatchString(line) {
						t.Errorf("%s: %s: %s has no limit", s.file, strings.TrimSpace(line), strings.TrimSpace(name))
					}
				}
			}
		}
	}
	if seen < 5 {
		t.Errorf("%d places were looked at", seen)
	}
}
