package v8

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/tasks"
)

// raisedRecordings are of frames.js.
var raisedRecordings = []string{"node18-missing.zst", "node18-worker.zst", "node24-later.zst", "node24-detailed.zst", "node24-rejected.zst", "node22-invalid.zst"}

// raisedLines writes exceptions in lines.
func raisedLines(list []tasks.Exception) (out []string) {
	for _, x := range list {
		out = append(out, fmt.Sprintf("%s %s: %s %s in %s at %s:%d", x.Relation, x.Type, x.Message, x.Details, x.Function, path.Base(x.File), x.Line))
	}
	return out
}

// TestRaisedRecordings reads exceptions in recorded memory of real programs.
func TestRaisedRecordings(t *testing.T) {
	for _, name := range raisedRecordings {
		r := read(t, name)
		if got := raisedLines(r.script().anywhere().chain(r.Error, r.Reason)); !slices.Equal(got, r.Want) || len(got) == 0 {
			t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(r.Want, "\n"))
		}
	}
}

// TestRaisedDamaged: what is read of an exception ends, whatever is there, and is short.
func TestRaisedDamaged(t *testing.T) {
	rounds := 200
	if fixture.IsLong(t) {
		rounds *= 20
	}
	for _, name := range raisedRecordings {
		r := read(t, name)
		var words []uint64
		for at, b := range r.Pages {
			for i := 0; i+8 <= len(b); i += 8 {
				if littleEndian.Uint64(b[i:]) != 0 {
					words = append(words, at+uint64(i))
				}
			}
		}
		slices.Sort(words)
		for i := range rounds {
			at := words[i*7919%len(words)]
			for _, v := range []uint64{0, ^uint64(0), r.Error, words[i*104729%len(words)] + 1, r.word(at) ^ 1<<(i%64)} {
				list := r.changed(map[uint64]uint64{at: v}).script()
				e := list.anywhere()
				if e == nil {
					continue
				}
				for _, x := range e.chain(r.Error, r.Reason) {
					if len(x.Details) > 8*maxDetails+8*maxString {
						t.Errorf("%s: word %#x is %#x: %d bytes of details", name, at, v, len(x.Details))
					}
				}
			}
		}
	}
}
