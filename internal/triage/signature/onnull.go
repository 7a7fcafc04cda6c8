package signature

// onNull reports whether frame i is the innermost one, a member function, and found this to be null: its caller, which
// must have a name, called it on a null object. Where the function is virtual, the compiler decides which of the two
// fails: the caller, looking for the function, or the function, if the compiler knew which one it is.
func (b *builder) onNull(i int) bool {
	crash := b.report.Crash
	if crash == nil || crash.Blame == nil || crash.Blame.Value != 0 || b.sig.Class != "access" {
		return false
	}
	if len(b.kept) > 0 || i+1 == len(b.thread.Frames) || b.name(i+1) == "" {
		return false
	}
	steps := crash.Blame.Steps
	return len(steps) > 0 && steps[0].Name == "this" && home(Normalize(steps[0].Function)) == b.name(i)
}
