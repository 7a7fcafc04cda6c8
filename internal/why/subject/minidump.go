package subject

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/carry/convert"
	"github.com/corewalk/corewalk/internal/carry/slim"
	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/internal/why/process"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// A dump is a corestate.Minidump. minidumpSubject embeds it under this name because its method is called
// Minidump.
type dump = corestate.Minidump

// A minidumpSubject is a minidump.
type minidumpSubject struct {
	*dump
	plain
	path string
}

// System returns the operating system's name. Android counts as Linux: it has the same signals.
func (m minidumpSubject) System() string                { return m.OS() }
func (m minidumpSubject) Moment(More) (Moment, error)   { return Moment{State: m}, nil }
func (m minidumpSubject) Minidump() *corestate.Minidump { return m.dump }

// Convert makes an ELF core.
func (m minidumpSubject) Convert(w io.Writer, to string) (*convert.Written, error) {
	return convert.Core(w, m.dump, convert.Options{To: to, Name: m.ThreadName})
}

// WriteSlim keeps what was read of the minidump.
func (m minidumpSubject) WriteSlim(w io.Writer, read *corestate.Reads, reach uint64, o slim.Options) (*slim.Written, error) {
	return slim.Minidump(w, m.dump, slim.Collect(m.dump, read, slim.Choice{Reach: reach}), o)
}

// Records yields the streams.
func (m minidumpSubject) Records() iter.Seq2[uint32, []byte] {
	return func(yield func(uint32, []byte) bool) {
		for _, s := range minidump.Of(m).Streams {
			if !yield(uint32(s.Type), s.Data) {
				return
			}
		}
	}
}

func (m minidumpSubject) Held() func(libstate.Mapping) uint64 {
	return func(mp libstate.Mapping) uint64 { return m.InDump(mp.Start, mp.End) }
}

func (m minidumpSubject) Describe() report.Dump {
	d := report.Dump{Path: m.path, From: m.From(), Format: report.FormatMinidump, OS: strings.ToLower(m.OS()), PID: m.ProcessID(), Arch: m.ArchName(),
		CommandLine: strings.Join(process.MaskArguments(m.CommandLine(), false), " "), Command: m.Name(), Time: m.Time()}
	cut, have, want := m.Truncated()
	setSize(&d, cut, have, want)
	return d
}

// Notes lists the streams.
func (m minidumpSubject) Notes() []report.Note {
	var out []report.Note
	for _, s := range minidump.Of(m).Streams {
		if len(out) == MaxListed {
			break
		}
		n := report.Note{Owner: "MDMP", Type: s.Type.String(), Size: s.Size}
		if uint64(len(s.Data)) < s.Size {
			n.Detail = fmt.Sprintf("cut off after %d bytes", len(s.Data))
		}
		out = append(out, n)
	}
	return out
}

// Exception returns the exception that the dump was written for, on a system without signals; nil if there is
// none.
func (m minidumpSubject) Exception() *reason.Exception {
	if m.Signal().Source != corestate.NoSignal {
		return nil
	}
	e, ok := m.dump.Exception()
	if !ok {
		return nil
	}
	out := &reason.Exception{Code: e.Code, Flags: e.Flags, Addr: e.Address, Params: e.Params, Assertion: e.Assertion, TID: int(e.Thread)}
	switch m.OS() {
	case "Windows":
	case "macOS", "iOS":
		out.Of = reason.MachExceptions
	default:
		return nil
	}
	return out
}

// UnknownCause is true for microdumps: they are written for crashes only, and older ones do not record the
// signal.
func (m minidumpSubject) UnknownCause() bool {
	_, known := m.dump.Exception()
	return m.Microdump() && !known
}

func (m minidumpSubject) LastError(id unwind.ThreadID) string {
	t, ok := m.Thread(id)
	if !ok || !t.HasLastError {
		return ""
	}
	return reason.WinErrorName(t.LastError)
}
