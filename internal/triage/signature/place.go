package signature

import (
	"strings"

	"github.com/corewalk/corewalk/report"
)

// maxPlace is how many frames Place looks at. Machinery and helpers are not deeper.
const maxPlace = 512

// Place returns the index of the frame that failed, from the frames of the thread that did, innermost first: the innermost
// one, or the first outside of it if that one and all between are known as helpers: of the C library, an allocator, a language's
// runtime. What has debug information and what has not does not count. If ended is set, the program ended itself,
// and all that is inside of the outermost function of machinery that aborts, throws or delivers a fault's signal is machinery, too: handlers
// and hooks that the program was given time for.
//
// A program that did not end itself, and failed in a helper that is itself a handler of a signal, failed there, not in what the signal interrupted.
//
// helper knows more helpers than the rules do. Place returns false if helpers lead to a frame that was only guessed, to the start of the
// program or thread, or to the end of the stack.
func Place(frames []report.Frame, ended bool, helper func(*report.Frame) bool) (int, bool) {
	frames = frames[:min(len(frames), maxPlace)]
	var c Cache
	from := 0
	if ended || len(frames) > 0 && ruleOf(&c, &frames[0]).cuts() {
		from = machinery(&c, frames)
	}
	// Of CPython's own functions that led to an access by ctypes, the first is the place if none runs a call of Python.
	foreign, led := false, -1
	for i := from; i < len(frames); i++ {
		f := &frames[i]
		if foreign && interprets(f) && !strings.HasPrefix(f.Function, runsPython) {
			if led < 0 {
				led = i
			}
			continue
		}
		if led >= 0 && (f.Language == "" && !interprets(f)) {
			return led, true
		}
		if f.Trust == report.TrustScan {
			return 0, false
		}
		if f.Signal != "" && !ended && i > from && frames[i-1].Signal == "" {
			return i - 1, true // the handler failed, not what the signal interrupted
		}
		if f.Signal != "" || f.Source.File == "" && i+1 < len(frames) && frames[i+1].Trust == report.TrustInstrumentation {
			continue // the code that a rewriter put in place of the next frame's
		}
		if f.Language != "" {
			return i, true
		}
		if inlinedHeader(f) {
			continue
		}
		r := ruleOf(&c, f)
		switch {
		case r != nil && r.action == actStart:
			return 0, false
		case r != nil && (r.action == actLast || r.action == actKeep):
			return i, true
		case r != nil, helper(f):
			foreign = foreign || r != nil && strings.Contains(strings.ToLower(baseName(f.Module)), "_ctypes")
			continue
		}
		return i, true
	}
	return max(led, 0), led >= 0
}

// runsPython begins the names of the functions that run the calls of Python.
const runsPython = "_PyEval_EvalFrame"

// machinery returns the number of frames that are machinery.
func machinery(c *Cache, frames []report.Frame) (end int) {
	asserted := false
	for i := range frames {
		f := &frames[i]
		switch {
		case f.Signal != "":
			if asserted {
				return end // the handler says itself what failed in it
			}
			if synchronous.Get()[f.Signal] {
				end = i + 1
			} else if f.Signal != report.UnknownSignal {
				return end // what it interrupted did not fail
			}
		case f.Trust != report.TrustScan && ruleOf(c, f).cuts():
			end = i + 1
			asserted = asserted || strings.HasPrefix(f.Function, "__assert")
		}
	}
	return end
}

// ruleOf returns the rule for a frame's function; nil for none.
func ruleOf(c *Cache, f *report.Frame) *rule {
	if f.Language != "" {
		return nil
	}
	c.mu.RLock()
	m, ok := c.known[keyOf(f)]
	c.mu.RUnlock()
	if !ok {
		m = c.learn(f)
	}
	return m.rule
}
