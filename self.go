package corewalk

import (
	"os"
	"path/filepath"
	"time"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/livestate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Self makes a Target of this program: its one thread is the calling goroutine, whose
// youngest frame is that of the function which called Self. The goroutine's registers
// and stack are copied at once, so what is walked later is where it was then; C's
// frames, where C called Go, are there until that call returns. Other memory is read
// when it is wanted.
//
//go:noinline
func Self(opts ...Option) (*Target, error) {
	p, err := livestate.Self(1)
	if err != nil {
		return nil, err
	}
	cfg := newConfig(opts)
	return open(selfSubject{p}, "this program", cfg)
}

// A selfSubject is this program.
type selfSubject struct{ *livestate.SelfState }

func (s selfSubject) DumpMemory() arch.Memory                    { return s.SelfState }
func (s selfSubject) Warnings() []string                         { return nil }
func (s selfSubject) back(func(*libstate.Library) *elffile.File) {}
func (s selfSubject) system() string                             { return "Linux" }
func (s selfSubject) notes() []report.Note                       { return nil }

// held: what can be read is there.
func (s selfSubject) held() func(libstate.Mapping) uint64 {
	return liveSubject{}.held()
}

func (s selfSubject) moment() (state, func() []report.Warning, error) {
	return s, func() []report.Warning { return nil }, nil
}

func (s selfSubject) describe() report.Dump {
	return report.Dump{Format: report.FormatLive, OS: "linux", Arch: s.Arch().Name, PID: s.ProcessID(),
		Command: filepath.Base(s.ExecutablePath()), CommandLine: os.Args[0], Time: time.Now()}
}
