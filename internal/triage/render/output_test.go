package render

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/stranger"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/report"
)

// strange returns groups, dumps and a report whose every string is hostile.
func strange(t *testing.T) *Summary {
	t.Helper()
	var r report.Report
	stranger.Fill(&r)
	var doc bytes.Buffer
	if err := report.WriteJSON(&doc, &r); err != nil {
		t.Fatal(err)
	}
	s := &Summary{Elapsed: time.Second, Since: time.Unix(1, 0), Broken: true, Kept: true}
	stranger.Fill(&s.Run)
	stranger.Fill(&s.Groups)
	stranger.Fill(&s.Failed)
	stranger.Fill(&s.Dumps)
	stranger.Fill(&s.Notes)
	for i := range s.Groups {
		g := &s.Groups[i]
		g.ID += string(rune('a' + i))
		g.Report = doc.Bytes()
		s.Dumps[i].Group, s.Dumps[i].FaultKind = g.ID, ""
		g.Similar[0].Group = s.Groups[1-i].ID
	}
	return s
}

// What a stranger wrote is shown, and obeyed by nobody.
func TestOutputIsSafe(t *testing.T) {
	s := strange(t)
	d := &Diff{Old: s.Run, New: s.Run, OldGroups: s.Groups, NewGroups: append([]ledger.Group(nil), s.Groups[0])}
	lines := func(out []byte) error { return stranger.Lines(string(out), false) }
	for _, test := range []struct {
		name  string
		write func(io.Writer) error
		check func([]byte) error
	}{
		{"text", func(w io.Writer) error { return WriteText(w, s) }, lines},
		{"group", func(w io.Writer) error { return WriteGroupText(w, s) }, lines},
		{"diff", func(w io.Writer) error { return d.WriteText(w, true) }, lines},
		{"diff json", d.WriteJSON, stranger.JSON},
		{"dump line", func(w io.Writer) error { return WriteDump(w, &s.Dumps[0], true) }, stranger.JSON},
		{"failed line", func(w io.Writer) error { return WriteDump(w, &s.Failed[0], true) }, stranger.JSON},
		{"groups", func(w io.Writer) error { return WriteGroups(w, s, true) }, stranger.JSON},
		{"sarif", func(w io.Writer) error { return WriteSARIF(w, s, stranger.Text) }, stranger.JSON},
		{"html", func(w io.Writer) error { return WriteHTML(w, s) }, func(out []byte) error { return stranger.HTML(string(out)) }},
	} {
		var b bytes.Buffer
		if err := test.write(&b); err != nil {
			t.Fatal(err)
		}
		if err := test.check(b.Bytes()); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if !bytes.Contains(b.Bytes(), []byte("31m")) {
			t.Errorf("%s: the texts are not there:\n%.500s", test.name, b.Bytes())
		}
	}
}
