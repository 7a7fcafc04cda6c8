package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/stranger"
)

// What a stranger wrote is shown, and obeyed by nobody: every string of a report is hostile, in every format.
func TestOutputIsSafe(t *testing.T) {
	var r Report
	var in Info
	stranger.Fill(&r)
	stranger.Fill(&in)
	f := &r.Threads[0].Frames[0]
	f.Listing.First, f.Listing.Lines = f.Source.Line, []string{stranger.Text, "\t" + stranger.Text}
	r.Memory[0].Bytes = "1b5b33316d9bffe280ae"
	for _, s := range []struct {
		kind, format, status string
		opts                 TextOptions
	}{
		{stranger.Text, stranger.Text, stranger.Text, TextOptions{}},
		{CrashAbort, FormatELFCore, ModuleMissing, TextOptions{Color: true, ShowRegisters: true, Explain: true, AllLocals: true}},
		{CrashNullRead, FormatMinidump, ModuleMismatched, TextOptions{Wide: true, AllLocals: true}},
		{CrashAbort, FormatLive, ModuleMatched, TextOptions{Width: 60, Explain: true}},
	} {
		r.Crash.Kind, r.Dump.Format, in.Dump.Format = s.kind, s.format, s.format
		for i := range r.Modules {
			r.Modules[i].Status, in.Modules[i].Status = s.status, s.status
		}
		name := fmt.Sprintf("%.9q %.9q %.9q", s.kind, s.format, s.status)
		lines(t, "report "+name, s.opts.Color, func(w io.Writer) error { return WriteText(w, &r, s.opts) })
		lines(t, "info "+name, s.opts.Color, func(w io.Writer) error { return WriteInfoText(w, &in, s.opts) })
	}
	r.Modules[0].BuildID, r.Modules[0].DebugID, r.Modules[0].CodeID, r.Modules[0].Status = "ab", "", "", ModuleMissing
	r.Modules[1].CodeID, r.Modules[1].DebugID = "cd", "ef"
	lines(t, "missing", false, func(w io.Writer) error { return WriteMissing(w, r.Modules) })
	lines(t, "columns", false, func(w io.Writer) error { return WriteColumns(w, []string{"a"}, [][]string{{stranger.Text}}) })
	for name, write := range map[string]func(io.Writer) error{
		"json": func(w io.Writer) error { return WriteJSON(w, &r) }, "info": func(w io.Writer) error { return WriteInfoJSON(w, &in) },
		"stackwalk": func(w io.Writer) error { return WriteStackwalk(w, &r) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if err := stranger.JSON(b.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func lines(t *testing.T, name string, color bool, write func(io.Writer) error) {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	if err := stranger.Lines(b.String(), color); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if b.Len() == 0 {
		t.Errorf("%s: nothing was written", name)
	}
}

// Every writer of text goes through put: what is put raw is not raw any more.
func TestPutCleans(t *testing.T) {
	var b strings.Builder
	l := newLineWriter(&b, TextOptions{})
	l.put(plain, stranger.Text)
	l.end()
	l.w.Flush()
	if err := stranger.Lines(b.String(), false); err != nil {
		t.Error(err)
	}
}

// What is escaped may be wider than what it stands for, and fits all the same.
func TestEscapesFit(t *testing.T) {
	r := sampleQueue()
	wide := strings.Repeat("\u202e\x1b", 300)
	r.Crash.Message, r.Crash.Reason, r.Dump.Path, r.Threads[0].Name = wide, wide+" "+wide, wide, wide
	f := &r.Threads[0].Frames[0]
	f.Function, f.Module, f.Source.File = wide, "/"+wide, wide
	f.Locals = []Variable{{Name: wide, Value: wide}}
	r.Process = &Process{Arguments: []string{wide}, Environment: []EnvironmentVariable{{Name: "A", Value: wide}}}
	for _, columns := range []int{40, 80, 120} {
		var b strings.Builder
		if err := WriteText(&b, r, TextOptions{Width: columns, AllLocals: true}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := width(strings.TrimSuffix(line, "\n")); n > columns {
				t.Errorf("%d of %d columns: %s", n, columns, line)
			}
		}
	}
}

func TestExactBytes(t *testing.T) {
	in := &Info{Dump: Dump{Path: "/a\xffb"}, Modules: []Module{{Path: "/é", File: "\xfe", DebugFile: "\xfd"}}, Mappings: []Mapping{{File: "\xff"}}}
	var b strings.Builder
	if err := WriteInfoJSON(&b, in); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"path": "/a\\xffb",` + "\n" + `  "path_bytes": "L2H/Yg=="`, `"path": "/é", "base"`, `"file": "\\xfe", "file_bytes": "/g=="`,
		`"debug_file": "\\xfd", "debug_file_bytes": "/Q=="`, `"file": "\\xff", "file_bytes": "/w=="`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
	if got := UTF8("a\x1b\xff\xed\xa0\x80é\xc0"); got != "a\x1b"+`\xff\u{d800}é\xc0` {
		t.Errorf("UTF8: %q", got)
	}
	if got := string(EscapeJSON([]byte(`{"é": "a` + "\u202e\x7f\U000e0001\u0301" + `"}`))); got != `{"é": "a\u202e\u007f\udb40\udc01\u0301"}` {
		t.Errorf("EscapeJSON: %s", got)
	}
}

// JSON escapes as WriteJSON does, whatever the strings are in, and means what encoding/json's means.
func TestJSONEscapes(t *testing.T) {
	const bad = "a\u202eb\u009bc\x1bd\u200be<&>"
	type inner struct{ S string }
	v := struct {
		Text  string            `json:"text"`
		List  []string          `json:"list"`
		Map   map[string]string `json:"map"`
		Array [1]inner          `json:"array"`
		Any   any               `json:"any"`
		Of    *inner            `json:"of"`
		Raw   json.RawMessage   `json:"raw"`
		Time  time.Time         `json:"time"`
		Nil   map[string]int    `json:"nil"`
	}{bad, []string{bad, "\xff"}, map[string]string{bad: bad}, [1]inner{{bad}}, []any{bad, nil}, &inner{bad}, json.RawMessage(`{"x":"` + "\u202e" + `"}`), time.Unix(1, 0).UTC(), nil}
	for _, indent := range []string{"", "  "} {
		got, err := JSON(v, indent)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []string{"\u202e", "\u009b", "\x1b", "\u200b", "<", "\ufffd"} {
			if strings.Contains(string(got), c) {
				t.Errorf("%q in %s", c, got)
			}
		}
		if !strings.Contains(string(got), `\\xff`) || strings.Contains(string(got), "\n") != (indent != "") {
			t.Errorf("%s", got)
		}
		plain := v
		plain.List = []string{bad, `\xff`}
		want, err := json.Marshal(plain)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := json.Unmarshal(got, &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(want, &b); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s\n%s", got, want)
		}
	}
	if got, err := JSON(nil, ""); err != nil || string(got) != "null" {
		t.Errorf("%s %v", got, err)
	}
}
