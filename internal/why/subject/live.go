package subject

import (
	"bytes"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/live/livecore"
	"github.com/corewalk/corewalk/internal/why/process"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/livestate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// running is what all processes on this machine have in common.
type running struct{ plain }

func (running) Warnings() []string                 { return nil }
func (running) SetBacking(modules.Source)          {}
func (running) System() string                     { return "Linux" }
func (running) Notes() []report.Note               { return nil }
func (running) Records() iter.Seq2[uint32, []byte] { return func(func(uint32, []byte) bool) {} }
func (running) KnowsMappings() bool                { return true }

// Held returns the whole size of every readable mapping.
func (running) Held() func(libstate.Mapping) uint64 {
	return func(m libstate.Mapping) uint64 {
		if m.Perm&libstate.Read == 0 {
			return 0
		}
		return m.End - m.Start
	}
}

// A liveSubject is a traced process.
type liveSubject struct {
	*livestate.Process
	running
	hold bool
}

// OfProcess returns the Subject of a traced process. With hold its Moments keep the process stopped; otherwise
// it is stopped only while its registers and stacks are copied.
func OfProcess(p *livestate.Process, hold bool) Subject { return liveSubject{Process: p, hold: hold} }

// Held is the subject whose Moments keep a running process stopped; other subjects are as they were.
func Held(s Subject) Subject {
	if l, ok := s.(liveSubject); ok {
		l.hold = true
		return l
	}
	return s
}

// CloseAtExit detaches.
func (l liveSubject) CloseAtExit() error { return l.Close() }

// Recorder says what is also true of a process in a container.
func (l liveSubject) Recorder() Recorder {
	r := Recorder{PID: int(l.OwnThreadID(unwind.ThreadID(l.ProcessID())))}
	if st, err := os.Stat("/proc/" + strconv.Itoa(l.ProcessID())); err == nil {
		r.Owner = owner{st, startedAt(l.ProcessID())}
	}
	return r
}

// An owner is what /proc says of a process, and when it started: /proc itself has the time at which it was looked at.
type owner struct {
	fs.FileInfo
	started time.Time
}

// ModTime implements fs.FileInfo.
func (o owner) ModTime() time.Time { return o.started }

// startedAt returns when a process started, as the clock says now; the zero time if it is not known.
func startedAt(pid int) time.Time {
	const startTime, perSecond = 22 - 3, 100 // of /proc/PID/stat, from its third field on, in USER_HZ
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	up, err2 := os.ReadFile("/proc/uptime")
	now := time.Now()
	if err != nil || err2 != nil {
		return time.Time{}
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	seconds, _, _ := strings.Cut(string(up), " ")
	uptime, err := strconv.ParseFloat(seconds, 64)
	if err != nil || len(fields) <= startTime {
		return time.Time{}
	}
	ticks, err := strconv.ParseUint(fields[startTime], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return now.Add(time.Duration((float64(ticks)/perSecond - uptime) * float64(time.Second)))
}

func (l liveSubject) DumpMemory() arch.Memory  { return l.Process }
func (l liveSubject) Live() *livestate.Process { return l.Process }
func (l liveSubject) Details() *report.Details { return linuxDetails(l) }

func (l liveSubject) Describe() report.Dump {
	return report.Dump{Format: report.FormatLive, OS: "linux", Arch: l.Arch().Name, PID: l.ProcessID(),
		Command: filepath.Base(l.ExecutablePath()), CommandLine: process.MaskLine(l.CommandLine()), Time: time.Now()}
}

// Moment returns a snapshot, so that the process runs on while the report is made; or, with hold, the stopped
// process itself.
func (l liveSubject) Moment(more More) (Moment, error) {
	did := l.Activity() // a stopped thread's state says only that
	if !l.hold {
		take := l.Snapshot
		if more != nil {
			take = func() (*livestate.Snapshot, error) { return l.SnapshotWith(more) }
		}
		s, err := take()
		if err != nil {
			return Moment{}, err
		}
		return Moment{State: s, Activity: did, pause: s.Pause, release: func() []report.Warning { return late(s) }, moving: true}, nil
	}
	begin := time.Now()
	if err := l.StopAll(); err != nil {
		return Moment{}, err
	}
	pause := func() time.Duration { return time.Since(begin) }
	return Moment{State: l, Activity: did, pause: pause, release: func() []report.Warning { _ = l.ResumeAll(); return nil }}, nil
}

// late warns about data in a report that is newer than its snapshot.
func late(s *livestate.Snapshot) []report.Warning {
	var out []report.Warning
	for _, id := range s.Unstopped() {
		out = append(out, report.Warning{Code: "not-stopped",
			Message: fmt.Sprintf("thread %d is in uninterruptible sleep and could not be stopped: only its program counter and stack pointer are known", id)})
	}
	if n := s.PagesReadLate(); n > 0 {
		out = append(out, report.Warning{Code: report.WarnLate,
			Message: fmt.Sprintf("up to %d pages of memory outside the stacks were read after the process continued: their values may be newer than the stacks", n),
			Advice:  "Stop the process for the whole report (--hold) to get a consistent snapshot"})
	}
	return out
}

// WriteCore writes the core that the kernel would write if the process died now. The process is stopped
// meanwhile.
func (l liveSubject) WriteCore(f livecore.File, o livecore.Options) (w *livecore.Result, err error) {
	if err := l.StopAll(); err != nil {
		return nil, err
	}
	defer func() {
		if rerr := l.ResumeAll(); err == nil {
			err = rerr
		}
	}()
	return livecore.Write(f, l.Process, o)
}
