package service_test

import (
	"encoding/json"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

var (
	metricLine = regexp.MustCompile(`^[a-z_]+(\{[a-z]+="[^"\\]*"(,[a-z]+="[^"\\]*")*\})? -?[0-9.e+-]+$`)
	metricName = regexp.MustCompile(`^[^ ]*`)
)

// TestMetrics: every metric is a line that Prometheus reads, has its name once, and counts.
func TestMetrics(t *testing.T) {
	w := start(t, nil)
	w.send("group g1 build b1")
	var text string
	for range 200 {
		if _, text, _ = w.do("", "GET", "/metrics", nil); strings.Contains(text, `corewalk_dumps_total{result="analysed"} 1`) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !metricLine.MatchString(line) {
			t.Errorf("%q", line)
		}
		name := metricName.FindString(line)
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
	}
	for _, want := range []string{
		"corewalk_uploads_total 1\n", "corewalk_upload_bytes_total 17\n", `corewalk_dumps_total{result="analysed"} 1` + "\n", "corewalk_analysis_seconds_count 1\n", `corewalk_analysis_seconds_bucket{le="+Inf"} 1` + "\n",
		`corewalk_dumps{state="waiting"} 0` + "\n", `corewalk_dumps{state="working"} 0` + "\n", "corewalk_open_dumps 0\n", `corewalk_http_requests_total{method="POST",status="`, "go_goroutines ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if runtime.GOOS == "linux" && (!seen["process_resident_memory_bytes"] || !seen["process_cpu_seconds_total"] || strings.Contains(text, "process_resident_memory_bytes 0\n")) {
		t.Error(text)
	}
}

// TestMonitoring: each metric that the alerts and the board name is there, with the labels that they ask for, before anything is counted; and each that the
// service has of its own is on the board.
func TestMonitoring(t *testing.T) {
	w := start(t, nil)
	w.do("", "GET", "/healthz", nil)
	_, text, _ := w.do("", "GET", "/metrics", nil)
	labels := map[string]map[string]bool{}
	for line := range strings.Lines(text) {
		name := metricName.FindString(line)
		base, rest, _ := strings.Cut(name, "{")
		if labels[base] == nil {
			labels[base] = map[string]bool{"job": true, "instance": true}
		}
		for _, m := range regexp.MustCompile(`([a-z]+)="([^"]*)"`).FindAllStringSubmatch(rest, -1) {
			labels[base][m[1]], labels[base][m[1]+"="+m[2]] = true, true
		}
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	dashboard, err := os.ReadFile("../../deploy/monitoring/dashboard.json")
	if err == nil {
		err = json.Unmarshal(dashboard, &board)
	}
	if err != nil {
		t.Fatal(err)
	}
	var exprs []string
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			exprs = append(exprs, target.Expr)
		}
	}
	shown := strings.Join(exprs, "\n")
	alerts, err := os.ReadFile("../../deploy/monitoring/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^ *expr: (.*)$`).FindAllSubmatch(alerts, -1) {
		exprs = append(exprs, string(m[1]))
	}
	if len(exprs) < 20 {
		t.Errorf("%d expressions", len(exprs))
	}
	series := regexp.MustCompile(`\b((?:corewalk|go|process)_[a-z_]+)(\{[^}]*\})?`)
	for _, expr := range exprs {
		for _, m := range series.FindAllStringSubmatch(expr, -1) {
			if labels[m[1]] == nil {
				t.Errorf("there is no metric %s: %s", m[1], expr)
			}
			for _, l := range regexp.MustCompile(`([a-z]+)(=~?)"([^"]*)"`).FindAllStringSubmatch(m[2], -1) {
				if !labels[m[1]][l[1]] || l[1] != "job" && l[2] == "=" && !labels[m[1]][l[1]+"="+l[3]] {
					t.Errorf("%s has no label %s: %s", m[1], l[0], expr)
				}
			}
		}
		if m := regexp.MustCompile(`by \(([a-z]+)\)`).FindStringSubmatch(expr); m != nil && m[1] != "le" && m[1] != "instance" && !strings.Contains(text, m[1]+"=") {
			t.Errorf("nothing has the label %s: %s", m[1], expr)
		}
	}
	for name := range labels {
		if strings.HasPrefix(name, "corewalk_") && !strings.Contains(shown, name) {
			t.Errorf("the board does not show %s", name)
		}
	}
}
