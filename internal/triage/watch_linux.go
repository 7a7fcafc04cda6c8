package triage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Dumps implements Source: first the dumps that are there, then those that arrive, until ctx
// is done. A dump arrives when its writer closes it, and when it is moved or linked into a
// directory. Files that somebody has open for writing are left until then.
func (w Watch) Dumps(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
		if err != nil {
			yield("", fmt.Errorf("cannot watch directories: %w", err))
			return
		}
		events := os.NewFile(uintptr(fd), "inotify")
		defer events.Close()
		defer context.AfterFunc(ctx, func() { events.Close() })()
		s := watching{Watch: w, ctx: ctx, yield: yield, fd: fd, dirs: map[int32]string{}, seen: map[string]arrival{}, written: beingWritten}
		s.scan()
		if w.Ready != nil {
			w.Ready()
		}
		buf := make([]byte, 64<<10)
		for !s.over && ctx.Err() == nil {
			var until time.Time
			if len(s.late) > 0 {
				until = s.late[0].at
			}
			events.SetReadDeadline(until)
			n, err := events.Read(buf)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				s.again(time.Now())
				continue
			}
			if err != nil {
				if ctx.Err() == nil {
					yield("", fmt.Errorf("cannot watch directories any more: %w", err))
				}
				return
			}
			s.events(buf[:n])
		}
	}
}

// A watching is one run of a Watch.
type watching struct {
	Watch
	ctx   context.Context
	yield func(string, error) bool
	over  bool
	fd    int
	dirs  map[int32]string // by their number
	seen  map[string]arrival
	late  []lateFile // the next one to look at first

	written func(path string) bool // whether somebody has a file open for writing
}

// A lateFile is looked at once more. The kernel tells that a writer has closed a file before it takes the writer from those who have the file
// open: a look in between finds a writer, of which nothing more is told.
type lateFile struct {
	path   string
	closed bool
	at     time.Time
	wait   time.Duration
}

// Between looks the time doubles, from the least to the most. A writer that is still there has not closed the file.
const (
	leastLate = time.Millisecond
	mostLate  = 256 * time.Millisecond
)

// An arrival is a file as it was given: a second event for it says nothing new.
type arrival struct {
	dev, ino uint64
	size     int64
	changed  time.Time
}

// maxSeen bounds the files that are remembered. Beyond it, they are given again, and the
// ledger knows them.
const maxSeen = 1 << 20

func (s *watching) trouble(err error) {
	if !s.over && !s.yield("", err) {
		s.over = true
	}
}

// scan looks at everything that there is.
func (s *watching) scan() {
	for _, path := range s.Paths {
		st, err := os.Stat(path)
		switch {
		case err != nil:
			s.trouble(fmt.Errorf("%w: pass existing directories", err))
		case st.IsDir():
			s.dir(path)
		default:
			s.trouble(fmt.Errorf("%s: not a directory: only directories are watched", path))
		}
	}
}

// dir watches a directory, and gives the dumps in it.
func (s *watching) dir(dir string) {
	if s.over || s.ctx.Err() != nil {
		return
	}
	wd, err := unix.InotifyAddWatch(s.fd, dir, unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO|unix.IN_MOVED_FROM|unix.IN_CREATE|unix.IN_ONLYDIR)
	if errors.Is(err, syscall.ENOSPC) {
		err = errors.New("too many directories to watch: raise fs.inotify.max_user_watches")
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return // it is gone
	}
	if err != nil {
		s.trouble(fmt.Errorf("%s: dumps that arrive here are not seen: %w", dir, err))
	} else {
		s.dirs[int32(wd)] = dir
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.trouble(err)
	}
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); e.IsDir() {
			if s.Recursive {
				s.dir(path)
			}
		} else {
			s.file(path, false)
		}
	}
}

// events handles what the kernel tells.
func (s *watching) events(buf []byte) {
	for len(buf) >= unix.SizeofInotifyEvent && !s.over {
		wd := int32(binary.NativeEndian.Uint32(buf))
		mask := binary.NativeEndian.Uint32(buf[4:])
		end := min(unix.SizeofInotifyEvent+int(binary.NativeEndian.Uint32(buf[12:])), len(buf))
		name := string(bytes.TrimRight(buf[unix.SizeofInotifyEvent:end], "\x00"))
		buf = buf[end:]
		dir, known := s.dirs[wd]
		path := filepath.Join(dir, name)
		switch {
		case mask&unix.IN_Q_OVERFLOW != 0:
			s.scan()
		case mask&unix.IN_IGNORED != 0:
			delete(s.dirs, wd)
			if slices.ContainsFunc(s.Paths, func(p string) bool { return filepath.Clean(p) == filepath.Clean(dir) }) && known {
				s.trouble(fmt.Errorf("%s: is gone, and is not watched any more", dir))
			}
		case !known || name == "":
		case mask&unix.IN_ISDIR != 0 && mask&unix.IN_MOVED_FROM != 0:
			s.forget(path)
		case mask&unix.IN_ISDIR != 0:
			if s.Recursive && mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0 {
				s.dir(path)
			}
		case mask&(unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO) != 0:
			s.file(path, mask&unix.IN_CLOSE_WRITE != 0)
		case mask&unix.IN_CREATE != 0: // a link to a file that is there
			s.file(path, false)
		}
	}
}

// forget ends the watches of a directory that was moved away. If it was moved to another that
// is watched, that is a new one.
func (s *watching) forget(dir string) {
	for wd, path := range s.dirs {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			delete(s.dirs, wd)
			unix.InotifyRmWatch(s.fd, uint32(wd))
		}
	}
}

// file gives a file if it may be a dump, and has not been given as it is.
func (s *watching) file(path string, closed bool) { s.look(path, closed, leastLate) }

// again looks at the files whose time has come.
func (s *watching) again(now time.Time) {
	for len(s.late) > 0 && !s.late[0].at.After(now) {
		f := s.late[0]
		s.late = s.late[1:]
		s.look(f.path, f.closed, 2*f.wait)
	}
}

// look is file. If somebody has the file open, it is looked at again after a time, if that is not too long.
func (s *watching) look(path string, closed bool, wait time.Duration) {
	st, err := os.Stat(path)
	if s.over || s.ctx.Err() != nil || err != nil || !st.Mode().IsRegular() || !looksLikeDump(path) {
		return
	}
	if s.written(path) {
		if wait <= mostLate {
			f := lateFile{path, closed, time.Now().Add(wait), wait}
			i, _ := slices.BinarySearchFunc(s.late, f, func(a, b lateFile) int { return a.at.Compare(b.at) })
			s.late = slices.Insert(s.late, i, f)
		}
		return
	}
	if st.Size() == 0 && !closed {
		return // just made, or nobody knows how long ago
	}
	now := arrival{size: st.Size(), changed: st.ModTime()}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		now.dev, now.ino = uint64(sys.Dev), sys.Ino
	}
	if s.seen[path] == now {
		return
	}
	if len(s.seen) >= maxSeen {
		clear(s.seen)
	}
	s.seen[path] = now
	if !s.yield(path, nil) {
		s.over = true
	}
}

// beingWritten reports whether somebody has a file open for writing: then the kernel grants no
// lease to read it. Where there are no leases, nobody is taken to have.
func beingWritten(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false // the analysis reports the error
	}
	defer f.Close()
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return errors.Is(err, syscall.EAGAIN)
}
