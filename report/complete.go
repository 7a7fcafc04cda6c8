package report

// Complete reports whether the report has no gap that may hide what happened:
// every stack was walked to its bottom, no module's file was of another build,
// the dump was whole. A variable or a symbol that is missing is no such gap.
func (r *Report) Complete() bool {
	if r.Dump.Truncated {
		return false
	}
	for i := range r.Threads {
		if r.Threads[i].End != EndBottom {
			return false
		}
	}
	for i := range r.Modules {
		if r.Modules[i].Status == ModuleMismatched {
			return false
		}
	}
	for i := range r.Warnings {
		if r.Warnings[i].Code == WarnCancelled {
			return false
		}
	}
	return true
}

// Codes of warnings that programs may look for.
const (
	WarnCancelled = "cancelled" // the analysis was stopped early
	WarnChanged   = "changed"   // a file was cut short while it was read
	WarnTruncated = "truncated" // the dump is cut short; the message says where
	WarnLate      = "late"      // of a running process, memory was read after the moment of the report
)
