package service_test

import (
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
