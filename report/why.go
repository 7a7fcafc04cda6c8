package report

import (
	"bytes"
	"strings"
)

// Why returns the lines that WriteText begins with: what happened, where, and the causes. The first is the headline, without the system and the time. Texts of
// the dump in them are made safe to print, as all text is.
func (r *Report) Why() []string {
	var b bytes.Buffer
	w := NewTextWriter(&b, TextOptions{Wide: true})
	w.t.about(r)
	w.t.happened()
	w.t.end()
	w.t.reasons()
	_ = w.t.w.Flush() // nothing fails in memory
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
}
