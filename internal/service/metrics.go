package service

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
)

// counters are counts, by their names with labels, and how long analyses took.
type counters struct {
	mu     sync.Mutex
	counts map[string]uint64
	// within counts the analyses that took at most as long as each of analysisSeconds and longer than the one before; the last, those that took longer.
	within  [len(analysisSeconds) + 1]uint64
	seconds float64
}

// analysisSeconds are the bounds of the histogram of how long analyses take.
var analysisSeconds = [...]float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300}

// fromTheStart are counters that are 0 before anything is counted: an alert sees the first.
const fromTheStart = `corewalk_uploads_total corewalk_upload_bytes_total corewalk_symbols_total corewalk_attachments_total corewalk_attachments_left_out_total corewalk_denied_total corewalk_disk_full_total corewalk_forgotten_total corewalk_notices_total{result="sent"} corewalk_notices_total{result="failed"} corewalk_dumps_total{result="analysed"} corewalk_dumps_total{result="failed"}`

func (c *counters) add(name string, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]uint64{}
	}
	c.counts[name] += uint64(n)
}

func (c *counters) took(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, _ := slices.BinarySearch(analysisSeconds[:], d.Seconds())
	c.within[i]++
	c.seconds += d.Seconds()
}

// write writes the counters as text for Prometheus, in the order of their names.
func (c *counters) write(w io.Writer) {
	counts := map[string]uint64{}
	for _, name := range strings.Fields(fromTheStart) {
		counts[name] = 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(counts, c.counts)
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(w, "%s %d\n", name, counts[name])
	}
	sum := uint64(0)
	for i, n := range c.within {
		sum += n
		bound := "+Inf"
		if i < len(analysisSeconds) {
			bound = strconv.FormatFloat(analysisSeconds[i], 'g', -1, 64)
		}
		fmt.Fprintf(w, "corewalk_analysis_seconds_bucket{le=%q} %d\n", bound, sum)
	}
	fmt.Fprintf(w, "corewalk_analysis_seconds_sum %g\ncorewalk_analysis_seconds_count %d\n", c.seconds, sum)
}

// counted counts the result of a dump.
func (s *Service) counted(analysed bool, took time.Duration) {
	result := "analysed"
	if !analysed {
		result = "failed"
	}
	s.metrics.add(`corewalk_dumps_total{result="`+result+`"}`, 1)
	s.metrics.took(took)
}

// writeMetrics writes metrics in the text format of Prometheus. They tell nothing of projects.
func (s *Service) writeMetrics(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	s.metrics.write(w)
	s.writeGauges(r.Context(), w)
	writeProcess(w)
}

// writeGauges writes what is counted only now; -1 is what the store does not tell.
func (s *Service) writeGauges(ctx context.Context, w io.Writer) {
	fmt.Fprintf(w, "corewalk_open_dumps %d\n", s.sessions.count())
	counts, err := s.c.Store.Counts(ctx)
	for _, state := range []string{store.Waiting, store.Working, store.Aside} {
		n := counts[state]
		if err != nil {
			n = -1
		}
		fmt.Fprintf(w, "corewalk_dumps{state=%q} %d\n", state, n)
	}
}

// writeProcess writes what the process takes of the machine, as far as the system tells it.
func writeProcess(w io.Writer) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Fprintf(w, "go_goroutines %d\ngo_memstats_heap_inuse_bytes %d\ngo_memstats_sys_bytes %d\ngo_gc_cycles_total %d\n", runtime.NumGoroutine(), m.HeapInuse, m.Sys, m.NumGC)
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		fmt.Fprintf(w, "process_open_fds %d\n", len(files))
	}
	stat, _ := os.ReadFile("/proc/self/stat")
	_, rest, _ := strings.Cut(string(stat), ") ") // what precedes is the name
	if f := strings.Fields(rest); len(f) > 21 {
		const ticks = 100 // in a second, for programs of all architectures
		user, _ := strconv.ParseUint(f[11], 10, 64)
		system, _ := strconv.ParseUint(f[12], 10, 64)
		pages, _ := strconv.ParseUint(f[21], 10, 64)
		fmt.Fprintf(w, "process_cpu_seconds_total %g\nprocess_resident_memory_bytes %d\n", float64(user+system)/ticks, pages*uint64(os.Getpagesize()))
	}
}
