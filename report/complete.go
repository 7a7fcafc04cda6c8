package report

// Complete reports whether nothing is missing that could hide what happened: every stack was walked to its
// bottom, every module file found is the right build, and the dump is whole. Missing variables and symbols do
// not count, unless a caller could only be guessed because a module's file is missing: frames may then be left out.
func (r *Report) Complete() bool {
	if r.Dump.Truncated {
		return false
	}
	for i := range r.Threads {
		if r.Threads[i].End != EndBottom {
			return false
		}
	}
	missing := make(map[string]bool)
	for i := range r.Modules {
		switch m := &r.Modules[i]; m.Status {
		case ModuleMismatched:
			return false
		case ModuleMissing:
			missing[m.Path] = true
		}
	}
	for i := range r.Threads {
		if guessed(r.Threads[i].Frames, missing) {
			return false
		}
	}
	for i := range r.Warnings {
		if c := r.Warnings[i].Code; c == WarnCancelled || c == WarnLimit {
			return false
		}
	}
	return true
}

// guessed reports whether the caller of a frame in one of these modules was found by scanning the stack, or by a frame pointer that nothing proves to be one.
func guessed(frames []Frame, modules map[string]bool) bool {
	for i := 1; i < len(frames); i++ {
		if f := &frames[i]; (f.Trust == TrustScan || f.Trust == TrustFramePointer && f.Doubtful) && modules[frames[i-1].Module] {
			return true
		}
	}
	return false
}

// Codes of warnings that programs may test for.
const (
	WarnCancelled  = "cancelled"         // the analysis was stopped early
	WarnTasks      = "tasks"             // some tasks of a runtime could not be read
	WarnLimit      = "limit"             // the analysis stopped, or left variables out, because the dump asks for more work or a larger report than its size explains
	WarnVariables  = "variables"         // the time for variables was over before all were read
	WarnMismatched = "module-mismatched" // the file found for a module is from a different build and was not used
	WarnChanged    = "changed"           // a file was truncated while it was read
	WarnTruncated  = "truncated"         // the dump is truncated; the message says where
	WarnNameless   = "module-symbols"    // modules on the stack have no symbols: frames have no names
	WarnObjects    = "objects"           // the types of a language's objects in the heap are not known
	WarnHeap       = "heap"              // an allocator is there, but how it keeps its heap is not known
	WarnLate       = "late"              // live process: memory was read after the moment of the report
)
