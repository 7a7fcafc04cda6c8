package kept

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
)

// An Info describes an entry.
type Info struct {
	Name    string    // of its file, below the Room's directory
	Size    int64     // on disk, in bytes
	Used    time.Time // when it was last used, to the hour
	Path    string    // of the file that it was made of; "" for an entry of another version, or a damaged one
	BuildID string    // in hexadecimal
	// Stale says that the file at Path is not the one of which the entry was made.
	Stale bool
}

// abandoned is how old a temporary file is that nobody writes any more: a run has a second or two for all of its entries.
const abandoned = time.Minute

// maxTemps is how many temporary files there may be for another one to be written. Runs that the disk keeps from
// writing leave one each.
const maxTemps = 32

// A found is a file in a wing.
type found struct {
	wing, name string
	size       int64
	used       time.Time
}

// files lists the entries of the Room, or the temporary files, of all wings.
func (r *Room) files(is func(name string) bool) (list []found, err error) {
	for _, wing := range []string{wingPackages, wingOwn} {
		d, oerr := r.open(wing)
		if oerr != nil {
			if !errors.Is(oerr, fs.ErrNotExist) {
				err = oerr
			}
			continue
		}
		list = append(list, d.files(wing, is)...)
		d.Close()
	}
	return list, err
}

func (d dir) files(wing string, is func(string) bool) (list []found) {
	f, err := d.Open(".")
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	for _, name := range names {
		if !is(name) {
			continue
		}
		if info, err := d.Lstat(name); err == nil && info.Mode().IsRegular() {
			list = append(list, found{wing, name, onDisk(info), info.ModTime()})
		}
	}
	return list
}

// recount is how long a Room relies on the size of all entries that it counted. Other processes write there, too.
const recount = time.Minute

// makeRoom removes the oldest entries until size bytes more fit, in place of the entry named
// name, and what others left half written. It looks at the entries only if they may not fit, or have not been looked at
// for some time: one report may write an entry for each of a hundred modules, where there are thousands.
func (r *Room) makeRoom(size int64, name string) error {
	size = int64(RoundUp(uint64(size))) + blockSize // on disk there may be a hole before each part
	if r.fits(size) {
		return nil
	}
	list, err := r.files(func(n string) bool { return isTemp(n) || isEntry(n) })
	if err != nil {
		return err
	}
	var gone []found
	temps := 0
	entries := list[:0]
	for _, f := range list {
		switch {
		case !isTemp(f.name):
			entries = append(entries, f)
			if f.name != name {
				size += f.size
			}
		case r.now().Sub(f.used) > abandoned:
			gone = append(gone, f)
		default:
			temps++
			size += f.size
		}
	}
	if temps >= maxTemps {
		return errors.Join(errStuck, r.remove(gone))
	}
	slices.SortFunc(entries, func(a, b found) int { return a.used.Compare(b.used) })
	for _, f := range entries {
		if size <= r.limit {
			break
		}
		if f.name != name {
			gone = append(gone, f)
			size -= f.size
		}
	}
	r.mu.Lock()
	r.counted, r.size = r.now(), size
	r.mu.Unlock()
	return r.remove(gone)
}

// fits reports whether so many bytes more fit for all that is known, and counts them.
func (r *Room) fits(size int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if age := r.now().Sub(r.counted); age < 0 || age >= recount || r.size+size > r.limit {
		return false
	}
	r.size += size // what it replaces counts twice: it is looked at again too early
	return true
}

func (r *Room) remove(list []found) error {
	var first error
	for _, f := range list {
		d, err := r.change(f.wing)
		if err == nil {
			err = d.Remove(f.name)
			d.Close()
		}
		if err != nil && first == nil && !errors.Is(err, fs.ErrNotExist) {
			first = err
		}
	}
	return first
}

// List describes the entries, the last used first. If there is no Room yet, it has none.
func (r *Room) List() ([]Info, error) {
	list, err := r.files(isEntry)
	slices.SortFunc(list, func(a, b found) int {
		if c := b.used.Compare(a.used); c != 0 {
			return c
		}
		return strings.Compare(a.name, b.name)
	})
	infos := make([]Info, 0, len(list))
	for _, f := range list {
		infos = append(infos, r.info(f))
	}
	return infos, err
}

func (r *Room) info(f found) Info {
	in := Info{Name: filepath.Join(f.wing, f.name), Size: f.size, Used: f.used}
	d, err := r.open(f.wing)
	if err != nil {
		return in
	}
	defer d.Close()
	file, err := d.openFile(f.name)
	if err != nil {
		return in
	}
	defer file.Close()
	m, err := mmapfile.FromOS(file)
	if err != nil {
		return in
	}
	defer m.Close()
	_ = mmapfile.Guard(func() {
		h, err := readHeader(m.Data())
		if err != nil {
			return
		}
		in.Path, in.BuildID = string(h.path), hex.EncodeToString(h.buildID)
		id, err := mmapfile.Stat(in.Path)
		in.Stale = err != nil || id != h.file
	})
	return in
}

// Clear removes all entries, and what others left half written. It returns how many entries it
// removed, and their size on disk in bytes.
func (r *Room) Clear() (entries int, size int64, err error) {
	list, err := r.files(func(n string) bool { return isTemp(n) || isEntry(n) })
	if rerr := r.remove(list); rerr != nil {
		return 0, 0, fmt.Errorf("not all entries could be removed: %w", rerr)
	}
	for _, f := range list {
		if isEntry(f.name) {
			entries++
			size += f.size
		}
	}
	return entries, size, err
}

// Dir is the Room's directory.
func (r *Room) Dir() string { return r.dir }
