package subject

import (
	"os"
	"path/filepath"
	"time"

	"github.com/corewalk/corewalk/livestate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A selfSubject is this program, as one of its goroutines saw it.
type selfSubject struct {
	*livestate.SelfState
	running
}

// OfSelf returns the Subject of a copy of the caller's own goroutine.
func OfSelf(s *livestate.SelfState) Subject { return selfSubject{SelfState: s} }

func (s selfSubject) DumpMemory() arch.Memory     { return s.SelfState }
func (s selfSubject) Moment(More) (Moment, error) { return Moment{State: s, moving: true}, nil }
func (s selfSubject) Details() *report.Details    { return linuxDetails(s) }

func (s selfSubject) Describe() report.Dump {
	return report.Dump{Format: report.FormatLive, OS: "linux", Arch: s.Arch().Name, PID: s.ProcessID(),
		Command: filepath.Base(s.ExecutablePath()), CommandLine: os.Args[0], Time: time.Now()}
}
