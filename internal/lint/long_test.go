package lint

import (
	"regexp"
	"strings"
	"testing"
)

// asksForLong matches code by which a test does more in the long run.
var asksForLong = regexp.MustCompile(`\b(fixture\.(IsLong|Long|Sample|Third)|(Sample|Third)Only)\(`)

// TestTestsAskForLong: .ci/run finds the packages of the long run by their tests that ask for it, which a helper in another package would hide.
func TestTestsAskForLong(t *testing.T) {
	n := 0
	for _, s := range sources(t) {
		switch {
		case !strings.Contains(s.text, "fixture.") && !strings.Contains(s.text, "Only("): // what it matches has one of them; the rest takes it long
		case !asksForLong.MatchString(s.text):
		case s.test:
			n++
		case s.room != "internal/fixture":
			t.Errorf("%s is no test, and asks whether this is the long run", s.file)
		}
	}
	if n < 20 {
		t.Errorf("only %d tests ask", n)
	}
}
