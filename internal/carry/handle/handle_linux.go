package handle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/internal/carry/capture"
	"github.com/corewalk/corewalk/report"
)

// A Crash is what the kernel says of a process that died: the arguments %P %i %s %t %h %e of core_pattern. Host and Command
// are the process's own words.
type Crash struct {
	PID, TID, Signal int // PID is that of the handler's namespace, TID that of the process's own
	Time             time.Time
	Host, Command    string
}

// A Handler handles one crash.
type Handler struct {
	Policy Policy
	// Analyse makes the report of what is in Job; nil for none. It runs after the process is gone.
	Analyse func(Job) error
	// Enter enters what is in Store.Rows into the ledger; nil for no ledger.
	Enter func(Store, *Account) error
	// Quit ends the program.
	Quit func()
	// Say writes a line to the log.
	Say func(format string, args ...any)
}

// mostWait is how long a process may be kept from ending, whatever happens.
const mostWait = 5 * time.Second

// A Record says what was kept of a crash, as crash.json does. Times are in seconds.
type Record struct {
	Time      time.Time  `json:"time"`
	PID       int        `json:"pid"`
	TID       int        `json:"tid"`
	Signal    int        `json:"signal"`
	Program   string     `json:"program"` // its path, in its own root directory
	Command   string     `json:"command"` // the name of its thread
	UID       int        `json:"uid"`
	Cgroup    string     `json:"cgroup,omitempty"`
	Container *Container `json:"container,omitempty"`
	Core      CoreRecord `json:"core"`
	Files     []string   `json:"files,omitempty"` // that were kept
	Warnings  []string   `json:"warnings,omitempty"`
}

// A CoreRecord says what was taken. Sizes are in bytes.
type CoreRecord struct {
	Size       uint64  `json:"size"`
	Threads    int     `json:"threads"`
	Waited     float64 `json:"waited"` // how long the process was kept from ending, from the start of the handler on
	Whole      bool    `json:"whole"`  // all memory that was written to was taken
	Unreadable uint64  `json:"unreadable,omitempty"`
	Full       uint64  `json:"full,omitempty"` // size of the full core
}

// Handle handles a crash. pipe is where the kernel writes the core; Handle closes it.
func (h *Handler) Handle(c Crash, pipe *os.File, started time.Time) error {
	defer pipe.Close()
	// Whatever hangs, the process that died does not: when this program ends, the pipe is closed.
	alarm := time.AfterFunc(mostWait, func() {
		h.Say("process %d: gave up after %v: it could not be read", c.PID, mostWait)
		h.Quit()
	})
	defer alarm.Stop()
	_, _ = unix.FcntlInt(pipe.Fd(), unix.F_SETPIPE_SZ, 1<<20) // a socket has none
	p, err := openProcess(c.PID)
	if err != nil {
		return fmt.Errorf("process %d: %w", c.PID, err)
	}
	defer p.close()
	r := &Record{Time: c.Time, PID: c.PID, TID: c.TID, Signal: c.Signal, Program: p.exe, Command: c.Command, UID: p.uid}
	if !h.Policy.keeps(p.exe) {
		return nil
	}
	store, err := h.Policy.open()
	if err != nil {
		return err
	}
	defer store.close()
	program := p.identity()
	busy, err := store.admit(p.uid, program)
	if errors.Is(err, errBusy) {
		h.Say("process %d: %s: not kept: %v", c.PID, p.exe, err)
		return nil
	}
	if err != nil {
		return err
	}
	defer busy.Close()
	if ok, err := store.rate(&h.Policy, program, p.uid, c.Time); err != nil {
		r.warn(h, "the rate of crashes: %v", err)
	} else if !ok {
		h.Say("process %d: %s crashes more often than %d times in %v: not kept", c.PID, p.exe, h.Policy.Rate, h.Policy.RateTime)
		return nil
	}
	taken, err := capture.Take(pipe, p.process(), capture.Limits{Memory: h.Policy.Memory, Stack: h.Policy.Stack, Reach: h.Policy.Reach, Time: h.Policy.Time})
	if err != nil && (taken == nil || taken.Core == nil) {
		return fmt.Errorf("process %d (%s): %w", c.PID, p.exe, err)
	}
	if err != nil {
		r.warn(h, "%v", err)
	}
	var files []file
	if h.Policy.Files {
		files = p.files(taken.Core)
		defer closeFiles(files)
	}
	r.Container, r.Cgroup = p.container(c.Host)
	full := matches(h.Policy.Full, p.exe)
	if !full {
		pipe.Close()
		alarm.Stop()
	}
	r.Core.Waited = time.Since(started).Seconds()
	giveWay()
	dir, err := store.begin(&h.Policy, c, path.Base(p.exe), uint64(taken.Pages)*4096)
	if err != nil {
		return fmt.Errorf("process %d (%s): not kept: %w", c.PID, p.exe, err)
	}
	if full {
		alarm.Stop() // it takes as long as it takes; the disk is the limit
		n, err := dir.full(&h.Policy, taken.Head, pipe)
		if r.Core.Full = n; err != nil {
			r.warn(h, "the full core: %v", err)
		}
		pipe.Close()
		r.Core.Waited = time.Since(started).Seconds()
	}
	if c.Signal == 0 { // a socket does not say it
		c.Signal = taken.Core.Signal().Signo
		r.Signal = c.Signal
	}
	r.Core.Whole, r.Core.Unreadable = taken.Whole, taken.Unreadable
	ids, _ := taken.Core.ThreadIDs()
	r.Core.Threads = len(ids)
	core, err := dir.create("core")
	if err != nil {
		dir.remove()
		return err
	}
	defer core.Close()
	w, err := taken.Write(core)
	if err != nil {
		dir.remove()
		return fmt.Errorf("process %d (%s): the core: %w", c.PID, p.exe, err)
	}
	r.Core.Size = w.Size
	_ = os.Chtimes(core.Name(), c.Time, c.Time)
	account := h.Policy.account()
	until := time.Now().Add(copyTime)
	for i := range files {
		if name, err := store.keep(&h.Policy, &files[i], dir, p.uid, account, until); err != nil {
			r.warn(h, "%s: not kept: %v", files[i].path, err)
		} else if name != "" {
			r.Files = append(r.Files, name)
		}
	}
	if err := dir.writeJSON("crash.json", r); err != nil {
		dir.remove()
		return err
	}
	if err := dir.finish(); err != nil {
		return err
	}
	h.Say("process %d (%s) died of signal %d: %s", c.PID, p.exe, c.Signal, dir.path)
	store.rotate(&h.Policy)
	if !h.Policy.Report || h.Analyse == nil {
		return nil
	}
	taken, files = nil, nil
	debug.FreeOSMemory() // while it waits
	slot, err := store.slot(h.Policy.Parallel, h.Policy.Deadline)
	if err != nil {
		return err
	}
	err = h.report(store, dir, core, p.uid, account)
	slot.Close()
	if err != nil {
		h.Say("%s: no report: %v", dir.path, err)
	}
	if h.Policy.Ledger && h.Enter != nil {
		if err := h.Enter(*store, account); err != nil {
			h.Say("%s: not in the ledger: %v", dir.path, err)
		}
	}
	return nil
}

// copyTime is how long the files of a process are copied. The crash itself is kept without those that take longer.
const copyTime = time.Minute

func (r *Record) warn(h *Handler, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.Warnings = append(r.Warnings, text)
	h.Say("process %d: %s", r.PID, text)
}

// A Job is a report to be made by a process without privileges.
type Job struct {
	Name            string   // the path of the core
	Core            *os.File // at its beginning
	Text, JSON, Row *os.File // where the report goes, and what the ledger keeps of it
	Read            []string // directories with files of the process
	Debug           string   // one of them, with .build-id
	Deadline        time.Duration
	Account         *Account // nil if this program has no privileges
}

// report has the report made beside the core.
func (h *Handler) report(s *Store, d *crashDir, core *os.File, uid int, account *Account) error {
	if _, err := core.Seek(0, io.SeekStart); err != nil {
		return err
	}
	j := Job{Name: filepath.Join(d.path, "core"), Core: core, Deadline: h.Policy.Deadline, Account: account,
		Debug: filepath.Join(s.dir, filesDir, strconv.Itoa(uid)), Read: []string{d.path}}
	j.Read = append(j.Read, j.Debug)
	var made []*newFile
	discard := func() {
		for _, f := range made {
			f.discard()
		}
	}
	add := func(to **os.File, dir *os.File, name string, account *Account) error {
		f, err := createIn(dir, name, account)
		if err == nil {
			made = append(made, f)
			*to = f.File
		}
		return err
	}
	crash, err := openBelow(d.path)
	if err != nil {
		return err
	}
	defer crash.Close()
	if err := errors.Join(add(&j.Text, crash, "report.txt", nil), add(&j.JSON, crash, "report.json", nil)); err != nil {
		discard()
		return err
	}
	rows, err := s.openRows(account)
	if err == nil {
		defer rows.Close()
		err = add(&j.Row, rows, filepath.Base(d.path)+".json", account) // who enters it is not root
	}
	if err != nil {
		h.Say("%s: not for the ledger: %v", d.path, err)
		if j.Row, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
			discard()
			return err
		}
		defer j.Row.Close()
	}
	if err := h.Analyse(j); err != nil {
		discard()
		return err
	}
	for _, f := range made {
		err = errors.Join(err, f.finish())
	}
	return err
}

// full writes the whole core: what was read of it, and what follows.
func (d *crashDir) full(p *Policy, head []byte, pipe io.Reader) (size uint64, err error) {
	f, err := d.create("core.full")
	if err != nil {
		return 0, err
	}
	defer func() {
		if err = errors.Join(err, f.Truncate(int64(size))); err != nil {
			err = fmt.Errorf("cut off after %d bytes: %w", size, err)
		}
		err = errors.Join(err, f.Close())
	}()
	in := io.MultiReader(bytes.NewReader(head), pipe)
	buf := make([]byte, 1<<20)
	zero := make([]byte, 4096)
	for looked := uint64(0); ; {
		n, rerr := io.ReadFull(in, buf)
		if p.FullDisk > 0 && size+uint64(n) > p.FullDisk {
			return size, errors.New("larger than full_disk")
		}
		if size >= looked {
			if looked = size + 64<<20; !enough(d.path, p.Free+uint64(64<<20)) {
				return size, syscall.ENOSPC
			}
		}
		for at := 0; at < n; at += len(zero) {
			b := buf[at:min(at+len(zero), n)]
			if bytes.Equal(b, zero[:len(b)]) {
				continue // a hole
			}
			if _, err := f.WriteAt(b, int64(size)+int64(at)); err != nil {
				return size, err
			}
		}
		size += uint64(n)
		if rerr != nil {
			return size, nil // the pipe ends when the core does, and when the process was killed
		}
	}
}

// writeJSON writes what v says, as JSON.
func (d *crashDir) writeJSON(name string, v any) error {
	f, err := d.create(name)
	if err != nil {
		return err
	}
	b, err := report.JSON(v, "  ")
	if err == nil {
		_, err = f.Write(append(b, '\n'))
	}
	return errors.Join(err, f.Close())
}
