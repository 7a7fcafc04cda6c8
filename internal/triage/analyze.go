package triage

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/signature"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// An analysis finds out about one dump.
type analysis struct {
	names *signature.Cache
	// full gets the signature, and says whether a report with variables is needed; nil for no.
	full func(*signature.Signature) bool
	// likely says that full will probably say yes. The variables are then read at once.
	likely bool
}

// analyze fills in the Dump of an opened target. denied are the paths of modules with frames whose files may not be
// read.
func (a analysis) analyze(ctx context.Context, t *corewalk.Target, d *ledger.Dump) (denied []Exact, err error) {
	facts, err := t.Facts(corewalk.FactsOptions{})
	if err != nil {
		return nil, err
	}
	defer facts.Close()
	stack := stackOptions(t)
	all := stack
	all.Locals, all.VariablesUntil = corewalk.LocalsTop, timeForVariables(ctx)
	o := stack
	if a.likely {
		o = all
	}
	r, err := facts.Analyze(ctx, o)
	if err == nil && a.likely && limited(r) { // the variables must not cost the signature anything
		a.likely = false
		r, err = facts.Analyze(ctx, stack)
	}
	if err != nil {
		return nil, err
	}
	denied = unreadable(r)
	if with := hung(ctx, facts, r, stack); with != nil {
		r = with
		if h := r.Hang(); h != nil {
			stack.Threads = threadsOf(h, stack.Threads)
		}
		id, joined := signature.Joined(r)
		if joined {
			stack.Threads = append(stack.Threads, unwind.ThreadID(id))
		}
		all.Threads = stack.Threads
		if a.likely {
			if detailed, err := facts.Analyze(ctx, all); err == nil && (joined || detailed.HangText() != "") && !limited(detailed) {
				r = detailed
			}
		}
	}
	sig := a.names.Of(r)
	describe(d, r, &sig)
	attributes(d, r)
	if ctx.Err() != nil {
		return denied, ctx.Err() // the report is incomplete, and so would its signature be
	}
	if a.full == nil || !a.full(&sig) {
		return denied, nil
	}
	if !a.likely {
		if with, err := facts.Analyze(ctx, all); err == nil && ctx.Err() == nil {
			r = with
		}
	}
	r.Modules, r.Details = usedModules(r), nil
	r.Shorten(maxInner, maxOuter)
	var buf bytes.Buffer
	if err := report.WriteJSON(&buf, r); err != nil {
		return denied, err
	}
	d.Report = buf.Bytes()
	return denied, nil
}

// timeForVariables is when half of the time that is left is over; zero if there is no limit. The signature needs the
// stack alone: variables that take longer must not cost the dump its group.
func timeForVariables(ctx context.Context) time.Time {
	end, ok := ctx.Deadline()
	if !ok {
		return time.Time{}
	}
	return end.Add(-time.Until(end) / 2)
}

// stackOptions are those for the stack of the thread that a dump is about.
func stackOptions(t *corewalk.Target) corewalk.AnalyzeOptions {
	o := corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone, Include: corewalk.Include{Details: true}}
	if tid, err := t.ProcessState().DefaultThread(); err == nil {
		o.Threads = []unwind.ThreadID{tid}
	}
	return o
}

// ForSignature returns the report that the signature of a dump is made from.
func ForSignature(ctx context.Context, t *corewalk.Target) (*report.Report, error) {
	facts, err := t.Facts(corewalk.FactsOptions{})
	if err != nil {
		return nil, err
	}
	defer facts.Close()
	o := stackOptions(t)
	r, err := facts.Analyze(ctx, o)
	if err != nil {
		return nil, err
	}
	if with := hung(ctx, facts, r, o); with != nil {
		return with, nil
	}
	return r, nil
}

// hung analyses all threads of a process that may have been ended because it hung, after r of one thread. It returns nil
// if it did not hang, and its signature is of that thread.
func hung(ctx context.Context, facts *corewalk.Facts, r *report.Report, o corewalk.AnalyzeOptions) *report.Report {
	if r.Dump.Threads < 2 || r.Crash != nil && !r.Crash.MayBeHang() {
		return nil
	}
	o.Threads = nil
	with, err := facts.Analyze(ctx, o)
	if err != nil || limited(with) {
		return nil
	}
	if _, joined := signature.Joined(with); !joined && !signature.OfGoroutine(with) && with.HangText() == "" {
		return nil
	}
	return with
}

// threadsOf adds the threads that wait for each other to others.
func threadsOf(d *report.Deadlock, ids []unwind.ThreadID) []unwind.ThreadID {
	for _, ref := range d.Tasks {
		if id := unwind.ThreadID(ref.ID); ref.Kind == string(tasks.KindThread) && !slices.Contains(ids, id) && len(ids) < maxCycle {
			ids = append(ids, id)
		}
	}
	return ids
}

// maxCycle is how many threads of a deadlock are kept in the report of a group.
const maxCycle = 16

// limited reports whether an analysis ended at the limit on its work.
func limited(r *report.Report) bool {
	return slices.ContainsFunc(r.Warnings, func(w report.Warning) bool { return w.Code == report.WarnLimit })
}

// maxBuildID is how long an identifier of a build may be, in bytes, to be remembered.
const maxBuildID = 128

// build identifies the program of a dump before it is analysed; "" if it has no identifier.
func build(t *corewalk.Target) string {
	libs := t.ProcessState().LibraryTracker()
	if libs == nil {
		return ""
	}
	main, ok := libs.AOut()
	if !ok {
		return ""
	}
	id := firstOf(hex.EncodeToString(main.BuildID), main.GoBuildID)
	if id == "" && main.Module != nil {
		id = main.Module.DebugID
	}
	return believedBuild(id)
}

// believedBuild returns an identifier of a build as it is remembered: "" if no linker writes it. Databases do not index texts of any length,
// so that one long identifier would keep the dumps of a whole batch from being entered.
func believedBuild(id string) string {
	if len(id) > maxBuildID {
		return ""
	}
	return report.UTF8(id)
}

// How many frames of a stack are kept: an overflowed stack has hundreds of thousands of similar frames.
const maxInner, maxOuter = 1000, 200

// describe fills in what a report says.
func describe(d *ledger.Dump, r *report.Report, sig *signature.Signature) {
	d.Program, d.Arch, d.OS = r.Dump.Command, r.Dump.Arch, r.Dump.OS
	if !r.Dump.Time.IsZero() {
		d.Time = r.Dump.Time
	}
	for i := range r.Modules {
		if m := &r.Modules[i]; m.Main {
			d.Build = believedBuild(firstOf(m.BuildID, m.GoBuildID, m.CodeID, m.DebugID))
			if d.Program == "" {
				d.Program = find.BaseName(m.Path)
			}
			break
		}
	}
	d.Signature, d.Strict, d.Weak = sig.Hash, sig.Strict, sig.Weak
	d.Frames = sig.Stack()
	d.Group = groupID(sig.Hash)
	d.Reason = Reason(r.Crash)
	if r.Crash != nil {
		d.Kind = r.Crash.Kind
	}
	if text := r.HangText(); text != "" {
		d.Reason = "hang: " + everywhere(text)
		d.Kind = firstOf(d.Kind, report.CrashDeadlock)
	}
	d.Where = where(r, sig)
	d.Trust = trust(r, sig)
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// groupID derives a group's name from its signature: short enough to type, long enough for millions of groups.
func groupID(hash string) string {
	_, digits, _ := strings.Cut(hash, ":")
	return digits[:min(len(digits), 12)]
}

// Reason says in a few words why a process died.
func Reason(c *report.Crash) string {
	if c == nil {
		return "did not crash"
	}
	name := firstOf(c.Signal, c.Exception)
	switch text := everywhere(firstOf(c.Reason, c.Message)); {
	case text == "":
		return name
	case c.Kind == report.CrashAbort && !strings.HasPrefix(text, "abort"):
		return "abort: " + text
	default:
		return text
	}
}

// differs is what two dumps of one bug never have in common: who sent a signal, and addresses of heaps and stacks, which are longer than numbers that
// programs fill memory with.
var differs = lazy.Value[*regexp.Regexp]{Make: func() *regexp.Regexp {
	return regexp.MustCompile(` from process \d+ of user \d+| at 0x[0-9a-f]{9,}`)
}}

// everywhere leaves out of a reason what differs between dumps of one bug.
func everywhere(reason string) string { return differs.Get().ReplaceAllString(reason, "") }

// maxWhere is how many functions of a stack are listed on one line.
const maxWhere = 3

// where returns the innermost significant functions, the first with its place in the source; before them the one that failed with a null that it was given,
// and those that handed it on, which do not count.
func where(r *report.Report, sig *signature.Signature) string {
	if len(sig.Frames) == 0 {
		return nowhere(r)
	}
	if x := r.Crash.MadeElsewhere(&r.Threads[0]); x != nil {
		return fmt.Sprintf("%s %s:%d (no longer on the stack)", signature.Normalize(x.Function), find.BaseName(x.File), x.Line)
	}
	names, k := sig.Frames, firstKept(r, sig)
	var given []string
	for i := range sig.Decisions {
		if d := &sig.Decisions[i]; d.Why == signature.GivenNull {
			if len(given) == 0 {
				k = d.Frame
			}
			given = append(given, d.Name)
		}
	}
	names = append(given, names...)
	var parts []string
	for i, name := range names[:min(len(names), maxWhere)] {
		if i == 0 {
			list := frames(r)
			if k >= 0 && k < len(list) && list[k].Source.File != "" {
				f := &list[k]
				name += " " + find.BaseName(f.Source.File)
				if report.MergedAt(list, k) == nil { // else the line is of one of several calls
					name += fmt.Sprintf(":%d", f.Source.Line)
				}
			}
		}
		parts = append(parts, name)
	}
	return strings.Join(parts, sig.Between())
}

// nowhere says, in parentheses, why a signature has no functions.
func nowhere(r *report.Report) string {
	list := frames(r)
	switch {
	case r.Dump.Truncated:
		return "(the dump is truncated before the stack)"
	case len(list) > 0:
		return fmt.Sprintf("(pc %s is in no known module)", list[0].PC)
	}
	return "(no stack)"
}

// frames returns the frames of the crashing thread, which is the first thread of the report.
func frames(r *report.Report) []report.Frame {
	if len(r.Threads) == 0 {
		return nil
	}
	return r.Threads[0].Frames
}

// firstKept returns the number of the innermost frame in the signature; -1 if there is none.
func firstKept(r *report.Report, sig *signature.Signature) int {
	list := frames(r)
	for _, d := range sig.Decisions {
		if d.Action == signature.Kept && d.Frame < len(list) {
			return d.Frame
		}
	}
	return -1
}

// trustOrder lists the ways to find a frame, the most certain first.
var trustOrder = []string{report.TrustContext, report.TrustCFI, report.TrustPEUnwind, report.TrustSymCFI, report.TrustEXIDX, report.TrustSignal,
	report.TrustInstrumentation, report.TrustUser, report.TrustFrameSize, report.TrustFramePointer, report.TrustAnalysis, report.TrustWildPC, report.TrustScan}

// trust returns the trust of the least certain frame in the signature.
func trust(r *report.Report, sig *signature.Signature) string {
	list, worst := frames(r), -1
	for _, d := range sig.Decisions {
		if d.Action != signature.Kept || d.Frame >= len(list) {
			continue
		}
		worst = max(worst, slices.Index(trustOrder, list[d.Frame].Trust))
	}
	if worst < 0 {
		return ""
	}
	return trustOrder[worst]
}

// maxDenied is how many modules of a dump are said to be unreadable.
const maxDenied = 8

// unreadable returns the paths of the modules with frames whose files are there, but may not be read.
func unreadable(r *report.Report) (paths []Exact) {
	for _, m := range usedModules(r) {
		if m.Status != report.ModuleMissing || len(paths) == maxDenied || !filepath.IsAbs(m.Path) {
			continue
		}
		f, _, err := mmapfile.OpenRegular(m.Path)
		switch {
		case err == nil:
			f.Close()
		case errors.Is(err, fs.ErrPermission):
			paths = append(paths, Exact(m.Path))
		}
	}
	return paths
}

// usedModules returns the program and the modules that contain frames.
func usedModules(r *report.Report) []report.Module {
	used := map[string]bool{}
	for _, f := range frames(r) {
		used[f.Module] = true
	}
	return slices.DeleteFunc(slices.Clone(r.Modules), func(m report.Module) bool { return !m.Main && !used[m.Path] })
}

// fault records why a dump, opened by path, has no signature.
func fault(d *ledger.Dump, path string, err error) {
	d.Fault, d.FaultKind = strings.TrimPrefix(err.Error(), path+": "), ledger.FaultUnreadable
	if errors.Is(err, context.DeadlineExceeded) {
		d.Fault, d.FaultKind = "the analysis took too long", ledger.FaultTimeout
	}
}

// texts makes the texts of a result, other than its path, UTF-8, so that JSON keeps them. What else they have is the
// matter of those who print them.
func texts(d *ledger.Dump) {
	for _, s := range []*string{&d.Program, &d.Build, &d.Arch, &d.OS, &d.Reason, &d.Kind, &d.Where, &d.Trust, &d.Fault} {
		*s = report.UTF8(*s)
	}
	for i, f := range d.Frames {
		d.Frames[i] = report.UTF8(f)
	}
	for i := range d.Attributes {
		d.Attributes[i] = [2]string{report.UTF8(d.Attributes[i][0]), report.UTF8(d.Attributes[i][1])}
	}
}

// newDump starts the result of a dump.
func newDump(path string, id identity) ledger.Dump {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return ledger.Dump{Path: path, Identity: id.ID, SHA256: id.SHA256, Size: id.Size, Time: id.Time, SeenAt: time.Now()}
}
