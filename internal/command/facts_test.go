package command

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// placeLine is the line of a text report that has the place.
var placeLine = regexp.MustCompile(`(?m)^  (?:(.*), )?thread \d+ (?:".*" )?\(\d+ of \d+\)$`)

// TestFormatsSayTheSame: text, JSON, the brief report and minidump-stackwalk's JSON agree about the facts: the exit status, why it died,
// where, of what cause, and who waits for whom.
func TestFormatsSayTheSame(t *testing.T) {
	t.Parallel()
	for _, c := range fixture.Third(t, fixture.Cases(t)) {
		files := []string{"--sysroot", c.Sysroot(t), c.Core(t)}
		if b := c.Binary(t); b != "" {
			files = append(files, b)
		}
		out := map[string]string{}
		first := -1
		for name, args := range map[string][]string{"text": {"--wide"}, "brief": {"--brief", "--wide"}, "json": {"--format=json"}, "stackwalk": {"--format=minidump-stackwalk-json"}} {
			var o, e bytes.Buffer
			status := run(append(args, files...), env{context.Background(), nil, &o, &e, nil, nil})
			if first < 0 {
				first = status
			}
			if status != first {
				t.Errorf("%s, %s: status %d, another format %d", c.Name, name, status, first)
			}
			out[name] = o.String()
		}
		t.Run(c.Name, func(t *testing.T) { sameFacts(t, out) })
	}
}

func sameFacts(t *testing.T, out map[string]string) {
	var r report.Report
	if err := json.Unmarshal([]byte(out["json"]), &r); err != nil {
		t.Skip("no report")
	}
	var walked struct {
		Crash struct {
			Type   string `json:"type"`
			Thread *int   `json:"crashing_thread"`
		} `json:"crash_info"`
	}
	if err := json.Unmarshal([]byte(out["stackwalk"]), &walked); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"text", "brief"} {
		text := out[name]
		if got, want := strings.Count(text, "\n  deadlock [")+strings.Count(text, "\ndeadlock ["), len(r.Deadlocks); (got > 0) != (want > 0) {
			t.Errorf("%s: %d deadlocks, JSON has %d", name, got, want)
		}
		if r.Crash == nil {
			continue
		}
		if got, want := strings.Count(text, "\n  cause: "), len(r.Crash.Causes); got != want {
			t.Errorf("%s: %d causes, JSON has %d", name, got, want)
		}
		for _, cause := range r.Crash.Causes {
			if flat := strings.Join(strings.Fields(text), " "); !strings.Contains(flat, strings.Join(strings.Fields(report.Clean(cause.Text)), " ")) || !strings.Contains(flat, "["+cause.Confidence+"]") {
				t.Errorf("%s: no cause %q [%s]", name, cause.Text, cause.Confidence)
			}
		}
		headline, _, _ := strings.Cut(text, "\n")
		if (strings.Contains(headline, ": hang: ")) != (r.HangText() != "") || !strings.Contains(headline, r.Crash.Signal) {
			t.Errorf("%s: %s, JSON has %s, %s", name, headline, r.Crash.Signal, r.HangText())
		}
		m := placeLine.FindStringSubmatch(text)
		if m == nil || r.Crash.Frame == nil {
			if len(r.Threads) > 0 && len(r.Threads[0].Frames) > 0 {
				t.Errorf("%s: no place, JSON has %v", name, r.Crash.Frame)
			}
			continue
		}
		f := &r.Threads[0].Frames[*r.Crash.Frame]
		want := f.Function
		if f.Source.File != "" {
			want = filepath.Base(f.Source.File) + ":" + strconv.Itoa(f.Source.Line)
		} else if f.Module != "" {
			want = filepath.Base(f.Module)
		}
		if !strings.Contains(m[1], want) {
			t.Errorf("%s: at %s, JSON has %s", name, m[1], want)
		}
	}
	if r.Crash == nil {
		return
	}
	if !strings.HasPrefix(walked.Crash.Type, r.Crash.Signal) {
		t.Errorf("minidump-stackwalk: %s, JSON has %s", walked.Crash.Type, r.Crash.Signal)
	}
	if at := walked.Crash.Thread; len(r.Threads) > 0 && r.Threads[0].Crashed && at == nil {
		t.Error("minidump-stackwalk: no thread crashed")
	}
}
