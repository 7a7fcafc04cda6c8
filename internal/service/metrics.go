package service

import (
	"context"
	"net/http"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/corewalk/corewalk/internal/service/store"
)

// counted counts the result of a dump.
func (s *Service) counted(r store.Result, took time.Duration) {
	result := "analysed"
	if r.Fault != "" {
		result = "failed"
	}
	s.metrics.GetOrCreateCounter(`corewalk_dumps_total{result="` + result + `"}`).Inc()
	s.metrics.GetOrCreateHistogram("corewalk_analysis_seconds").Update(took.Seconds())
}

// gauges are read when they are asked for.
func (s *Service) gauges() {
	s.metrics.NewGauge("corewalk_open_dumps", func() float64 { return float64(s.sessions.count()) })
	for _, state := range []string{store.Waiting, store.Working, store.Aside} {
		s.metrics.NewGauge(`corewalk_dumps{state="`+state+`"}`, func() float64 {
			counts, err := s.c.Store.Counts(context.Background())
			if err != nil {
				return -1
			}
			return float64(counts[state])
		})
	}
}

// writeMetrics writes metrics in the text format of Prometheus. They tell nothing of projects.
func (s *Service) writeMetrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	s.metrics.WritePrometheus(w)
	metrics.WriteProcessMetrics(w)
}
