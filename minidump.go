package corewalk

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A minidumpSubject is a minidump.
type minidumpSubject struct {
	*corestate.Minidump
	path string
}

func openMinidump(dump *corestate.Minidump, err error, path string, cfg *config) (*Target, error) {
	// What ran is the program of 32 bits, not the layer that it ran on.
	if w, ok := dump.WOW64(); ok && err == nil {
		dump = w
	}
	if dir := filepath.Dir(path); path != "-" {
		cfg.find.Beside = append(cfg.find.Beside, dir)
	}
	t, fault := open(minidumpSubject{dump, path}, path, cfg)
	if fault != nil {
		return nil, fault
	}
	return t, err
}

func (m minidumpSubject) DumpMemory() arch.Memory { return m.Minidump.DumpMemory() }

// system is the operating system's name. Android's signals are Linux's.
func (m minidumpSubject) system() string { return m.OS() }

func (m minidumpSubject) back(file func(*libstate.Library) *elffile.File) { m.SetBacking(file) }

func (m minidumpSubject) moment() (state, func() []report.Warning, error) {
	return m, func() []report.Warning { return nil }, nil
}

func (m minidumpSubject) held() func(libstate.Mapping) uint64 {
	return func(mp libstate.Mapping) uint64 { return m.InDump(mp.Start, mp.End) }
}

func (m minidumpSubject) describe() report.Dump {
	d := report.Dump{Path: m.path, Format: report.FormatMinidump, OS: strings.ToLower(m.OS()), PID: m.ProcessID(), Arch: m.ArchName(),
		CommandLine: strings.Join(m.CommandLine(), " "), Command: m.Name(), Time: m.Time()}
	cut, have, want := m.Truncated()
	d.Truncated, d.Size = cut, uint64(max(have, 0))
	if cut {
		d.FullSize = uint64(max(want, 0))
	}
	return d
}

// notes are the streams.
func (m minidumpSubject) notes() []report.Note {
	var out []report.Note
	for _, s := range m.File().Streams {
		if len(out) == maxListed {
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

// Minidump is the opened minidump, for what a ProcessState does not tell; nil for
// others.
func (t *Target) Minidump() *corestate.Minidump {
	if m, ok := t.subject.(minidumpSubject); ok {
		return m.Minidump
	}
	return nil
}

// exception is what a dump of a system without signals was written for; nil for none.
func (t *Target) exception() *reason.Exception {
	m := t.Minidump()
	if m == nil || m.Signal().Source != corestate.NoSignal {
		return nil
	}
	e, ok := m.Exception()
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

// unknownCause reports whether the process died of something that the dump does not
// name: microdumps are written for nothing else, and older ones do not tell the signal.
func (t *Target) unknownCause() bool {
	m := t.Minidump()
	if m == nil || !m.Microdump() {
		return false
	}
	_, known := m.Exception()
	return !known
}

// partialMaps reports whether the mappings of the process are not all known: then no
// address can be said to have been in none.
func (t *Target) partialMaps() bool {
	m := t.Minidump()
	return m != nil && !m.KnowsMappings()
}

var _ subject = minidumpSubject{}
