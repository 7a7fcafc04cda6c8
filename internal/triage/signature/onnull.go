package signature

import (
	"strings"

	"github.com/corewalk/corewalk/report"
)

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

// nullMember returns the name of the member whose null the innermost significant function went through; "" if it is not certain. Another
// member that is null is another bug. It is not asked of wild pointers: which member of an object that is gone is used first is chance.
func (b *builder) nullMember() string {
	crash := b.report.Crash
	if crash == nil || crash.Blame == nil || crash.Blame.Value != 0 || crash.Blame.Confidence != report.Certain || b.sig.Class != "access" {
		return ""
	}
	steps := crash.Blame.Steps
	if len(steps) == 0 || steps[0].Kind != report.BlameRead || home(Normalize(steps[0].Function)) != b.kept[0].name {
		return ""
	}
	name := steps[0].Name
	at := strings.LastIndexAny(name, ".>")
	if at < 0 || strings.Contains(name, "_vptr") || strings.ContainsAny(name[at:], "[]()$ ") || strings.HasPrefix(name[at+1:], "_") { // a library's own
		return ""
	}
	return report.Clean(name[at+1:])
}
