package render

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/triage/ledger"
)

var update = flag.Bool("update", false, "write the golden files anew")

var day0 = time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC)

const reportJSON = `{"schema":"corewalk/1","dump":{"path":"core.1","command":"queue"},"crash":{"signal":"SIGSEGV","kind":"null-read","reason":"read of 4 bytes at null+0x8","thread":7},
"threads":[{"id":7,"crashed":true,"frames":[
{"index":0,"physical":0,"pc":"0x401000","function":"visit","module":"/bin/queue","trust":"context","source":{"file":"/src/queue.c","line":15},"locals":[{"name":"p","value":"0x0","status":"glvv_Success"}]},
{"index":1,"physical":1,"pc":"0x401100","module":"/bin/queue","trust":"cfi"}]}]}`

// summary returns a run with three groups, one of them new, and hostile names.
func summary() *Summary {
	return &Summary{
		Run:     ledger.Run{ID: 4, Started: day0.AddDate(0, 0, 20), Analysed: 9, Known: 3, Failed: 2, Groups: 3, New: 1},
		Elapsed: 900 * time.Millisecond, Since: day0.AddDate(0, 0, 17),
		Groups: []ledger.Group{
			{ID: "b41e7f000001", Signature: "v1:b41e7f0000010000", Kind: "null-read", Reason: "read of 4 bytes at null+0x8", Where: "visit queue.c:15 < serve < main",
				Frames: []string{"visit", "serve", "main"}, Count: 7, Builds: 3, Programs: []string{"queue"}, FirstSeen: day0, LastSeen: day0.AddDate(0, 0, 18), FirstBuild: "aa01",
				Representative: "/crashes/core.1", Report: []byte(reportJSON), Similar: []ledger.Similar{{Group: "b41e7faa0002", Score: 0.83}}},
			{ID: "b41e7faa0002", Signature: "v1:b41e7faa00020000", Kind: "abort", Reason: "abort: double free or corruption (!prev) in a text that is far too long", Where: "release\x1b[31m pool.c:88 < drop",
				Frames: []string{"release", "drop"}, Count: 3, Builds: 1, FirstSeen: day0, LastSeen: day0, Representative: "/crashes/core.2", New: true,
				Similar: []ledger.Similar{{Group: "b41e7f000001", Score: 0.83}, {Group: "ffffffffffff", Score: 0.7}}},
			{ID: "77c0de000003", Signature: "v1:77c0de0000030000", Kind: "", Reason: "<script>alert(1)</script>", Where: "libx.so+0x1234 (0a0b)", Weak: true, Count: 1, Builds: 1,
				Representative: "/crashes/core.<b>3"},
		},
		Total:  map[string]int{"b41e7f000001": 207},
		Failed: []ledger.Dump{{Path: "/crashes/core.17", Fault: "is empty (0 bytes)", FaultKind: ledger.FaultUnreadable}, {Path: "/crashes/core.\x0788", Fault: "the analysis crashed", FaultKind: ledger.FaultCrashed}},
		Notes:  []string{"open /crashes/secret: permission denied"},
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs:\n%s", name, got)
	}
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	if err := WriteText(&b, summary()); err != nil {
		t.Fatal(err)
	}
	golden(t, "summary.txt", b.Bytes())
	if strings.ContainsAny(b.String(), "\x1b\x07") {
		t.Error("control characters of names are printed")
	}
}

func TestSARIF(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSARIF(&b, summary(), "1.2.3"); err != nil {
		t.Fatal(err)
	}
	golden(t, "summary.sarif", b.Bytes())
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID        string
				RuleIndex     int
				BaselineState string
				Fingerprints  map[string]string
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	r := log.Runs[0]
	for _, res := range r.Results {
		if r.Tool.Driver.Rules[res.RuleIndex].ID != res.RuleID || res.Fingerprints["corewalkSignature/v1"] == "" {
			t.Errorf("result %+v does not fit its rule", res)
		}
	}
	if len(r.Results) != 3 || r.Results[1].BaselineState != "new" || r.Results[0].BaselineState != "unchanged" {
		t.Errorf("results %+v", r.Results)
	}
}

func TestSARIFDeepStack(t *testing.T) {
	s := &Summary{Groups: []ledger.Group{{ID: "a", Signature: "v1:a", Report: deepReport(9000)}}}
	var b bytes.Buffer
	if err := WriteSARIF(&b, s, "1"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "the innermost 100 of 9024 frames") || b.Len() > 100<<10 {
		t.Errorf("%d bytes: %.3000s", b.Len(), b.String())
	}
}

// TestJSONLines checks each line by itself, and the keys that programs rely on.
func TestJSONLines(t *testing.T) {
	var b bytes.Buffer
	s := summary()
	d := ledger.Dump{Path: "core.1", SHA256: "ab", Reason: "r", Signature: "v1:x", Group: "g", Build: "aa01", Trust: "cfi"}
	if err := WriteDump(&b, &d, true); err != nil {
		t.Fatal(err)
	}
	if err := WriteDump(&b, &s.Failed[0], false); err != nil {
		t.Fatal(err)
	}
	if err := WriteGroups(&b, s, true); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 5 {
		t.Fatalf("%d lines", len(lines))
	}
	want := []string{
		"type path sha256 reason signature group build_id trust seen_before",
		"type path seen_before error error_kind",
		"type group signature count first_seen last_seen representative similar new report total",
		"type group signature count representative similar new",
		"type group signature count representative similar weak",
	}
	for i, line := range lines {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("line %d: %v", i, err)
		}
		for _, key := range strings.Fields(want[i]) {
			if _, ok := v[key]; !ok {
				t.Errorf("line %d has no %q: %s", i, key, line)
			}
		}
	}
}

func TestDiff(t *testing.T) {
	s := summary()
	d := Diff{Old: ledger.Run{ID: 1, Started: day0, Analysed: 4}, New: ledger.Run{ID: 4, Started: day0.AddDate(0, 0, 1), Analysed: 9},
		OldGroups: []ledger.Group{s.Groups[2], {ID: s.Groups[0].ID, Count: 2}}, NewGroups: s.Groups[:2]}
	var b bytes.Buffer
	if err := d.WriteText(&b, false); err != nil {
		t.Fatal(err)
	}
	golden(t, "diff.txt", b.Bytes())
	d.OldGroups[1].Count = s.Groups[0].Count
	for all, want := range map[bool]string{true: "  both      7 -> 7", false: "  1 group with as many dumps in both runs: --all lists them\n"} {
		b.Reset()
		if err := d.WriteText(&b, all); err != nil || !strings.Contains(b.String(), want) || strings.Contains(b.String(), "  both") != all {
			t.Errorf("all %v: %s, error %v", all, b.String(), err)
		}
	}
	b.Reset()
	if err := d.WriteJSON(&b); err != nil || strings.Count(b.String(), "\n") != 3 || !strings.Contains(b.String(), `"change":"gone","group":"77c0de000003","before":1,"now":0`) {
		t.Errorf("%s, error %v", b.String(), err)
	}
}

func TestOnlyAndFirst(t *testing.T) {
	s := summary() // the second group of three is new
	s.NewFirst()
	order := func() (ids string) {
		for _, g := range s.Groups {
			ids += g.ID[:7] + " "
		}
		return ids
	}
	if got := order(); got != "b41e7fa b41e7f0 77c0de0 " {
		t.Errorf("new groups first: %s", got)
	}
	s.OnlyNew()
	if got := order(); got != "b41e7fa " || !strings.Contains(headline(s), "; 3 groups, 1 new") {
		t.Errorf("only new groups: %s, %s", got, headline(s))
	}
}

func TestProgramsAndDays(t *testing.T) {
	g := &ledger.Group{FirstSeen: day0, LastSeen: day0.Add(time.Hour)}
	if seen(g) != "2026-11-02" || programs(g) != "" {
		t.Errorf("%q, %q", seen(g), programs(g))
	}
	g.Programs, g.FirstSeen = []string{"serve\x1b", "work", "zip"}, time.Time{}
	if seen(g) != "2026-11-02" || programs(g) != `serve\x1b +2` {
		t.Errorf("%q, %q", seen(g), programs(g))
	}
}

func TestEmpty(t *testing.T) {
	var b bytes.Buffer
	if err := WriteText(&b, &Summary{Run: ledger.Run{ID: 1}}); err != nil || b.String() != "  analysed 0 dumps; 0 groups\n" {
		t.Errorf("%q, error %v", b.String(), err)
	}
	b.Reset()
	if err := WriteSARIF(&b, &Summary{}, ""); err != nil || !strings.Contains(b.String(), `"results": []`) {
		t.Errorf("%s, error %v", b.String(), err)
	}
}
