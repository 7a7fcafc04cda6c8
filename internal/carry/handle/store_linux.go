package handle

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/internal/files/owned"
	"github.com/corewalk/corewalk/report"
)

// The directories of a store.
const (
	crashesDir = "crashes"
	filesDir   = "files"
	ledgerDir  = "ledger"
	stateDir   = "state"
	rowsDir    = "rows" // in ledgerDir
)

// A Store is the directory where crashes are kept. Several handlers use it at once.
type Store struct{ dir string }

// ErrUnsafe means that somebody else can change what is in the directory.
var ErrUnsafe = errors.New("others may write to it")

// open opens the store of a policy, and makes its directories.
func (p *Policy) open() (*Store, error) {
	s := &Store{p.Directory}
	err := owned.Make(s.dir, 0o711)
	if st, there := os.Lstat(s.dir); errors.Is(err, owned.ErrOthers) || err == nil && (there != nil || !st.IsDir()) {
		return nil, errors.Join(fmt.Errorf("%s: %w", s.dir, ErrUnsafe), err)
	}
	if err != nil {
		return nil, err
	}
	account := p.account()
	for _, d := range []struct {
		name  string
		perm  fs.FileMode
		owner bool // the account owns it
		group bool // the account's group may look into it
	}{{crashesDir, 0o710, false, true}, {stateDir, 0o700, false, false}, {filesDir, 0o710, false, true}, {ledgerDir, 0o700, true, false}} {
		path := filepath.Join(s.dir, d.name)
		err := os.Mkdir(path, d.perm)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if err == nil && account != nil {
			switch {
			case d.owner:
				err = os.Lchown(path, account.UID, account.GID)
			case d.group:
				err = os.Lchown(path, 0, account.GID)
			}
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	return s, nil
}

func (s *Store) close() {}

// openRows opens the directory of Rows, which is the account's.
func (s *Store) openRows(account *Account) (*os.File, error) {
	dir, err := openBelow(s.dir, ledgerDir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := makeIn(dir, rowsDir, 0o700, account); err != nil {
		return nil, err
	}
	return stepInto(dir, rowsDir)
}

// Ledger is the path of the ledger, and Rows that of the directory with what is to be entered into it.
func (s *Store) Ledger() string { return filepath.Join(s.dir, ledgerDir, "triage.db") }

// Rows is the directory with what is to be entered into the ledger: a file for each crash, with its name.
func (s *Store) Rows() string { return filepath.Join(s.dir, ledgerDir, rowsDir) }

// An Account is who makes reports.
type Account struct{ UID, GID int }

// nobody has no rights anywhere.
const nobody = 65534

// account returns the account that makes reports; nil if this program has no privileges itself.
func (p *Policy) account() *Account {
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup(p.User)
	if err != nil {
		return &Account{nobody, nobody}
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	if err1 != nil || err2 != nil || uid == 0 {
		return &Account{nobody, nobody}
	}
	return &Account{uid, gid}
}

// lock waits until no other handler has the lock of a name.
func (s *Store) lock(name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(s.dir, stateDir, name), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// slot waits until there are less than n reports being made.
func (s *Store) slot(n int, deadline time.Duration) (*os.File, error) {
	end := time.Now().Add(100 * max(deadline, time.Second))
	for n = max(n, 1); ; time.Sleep(20 * time.Millisecond) {
		for i := range n {
			f, err := os.OpenFile(filepath.Join(s.dir, stateDir, fmt.Sprintf("report.%d", i)), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
			if err != nil {
				return nil, err
			}
			if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
				return f, nil
			}
			f.Close()
		}
		if time.Now().After(end) {
			return nil, errors.New("too many reports are being made")
		}
	}
}

// maxRated is how many rates of programs and users are remembered.
const maxRated = 1000

// perUser is how many times the rate of a program a user's programs may crash, whose files anybody can make.
const perUser = 8

// rate counts a crash of a program and of a user, and reports whether it is to be kept.
func (s *Store) rate(p *Policy, program string, uid int, now time.Time) (bool, error) {
	if p.Rate == 0 {
		return true, nil
	}
	f, err := s.lock("rates")
	if err != nil {
		return true, err
	}
	defer f.Close()
	rates := map[string][]int64{}
	_ = json.NewDecoder(io.LimitReader(f, 16<<20)).Decode(&rates) // what is damaged is forgotten
	sum := sha256.Sum256([]byte(program))
	most := map[string]int{hex.EncodeToString(sum[:8]): p.Rate}
	if uid != 0 {
		most["user "+strconv.Itoa(uid)] = perUser * p.Rate
	}
	oldest := now.Add(-p.RateTime).Unix()
	for k, times := range rates {
		if rates[k] = slices.DeleteFunc(times, func(t int64) bool { return t <= oldest || t > now.Unix()+60 }); len(rates[k]) == 0 {
			delete(rates, k)
		}
	}
	for key, n := range most {
		if len(rates[key]) >= n {
			return false, nil
		}
	}
	for key := range most {
		if len(rates) < maxRated || rates[key] != nil {
			rates[key] = append(rates[key], now.Unix())
		}
	}
	b, err := report.JSON(rates, "")
	if err != nil {
		return true, err
	}
	if err := f.Truncate(0); err != nil {
		return true, err
	}
	_, err = f.WriteAt(b, 0)
	return true, err
}

// A crashDir is the directory of one crash. It has another name until the core is whole.
type crashDir struct {
	path   string // where it will be
	temp   string
	gid    int
	copied uint64 // bytes of files beside the core
}

// tempPrefix begins the names of directories that are not whole yet.
const tempPrefix = ".new-"

// abandoned is when such a directory is removed: its handler died.
const abandoned = time.Hour

// begin makes the directory of a crash, once there is room for size bytes.
func (s *Store) begin(p *Policy, c Crash, program string, size uint64) (*crashDir, error) {
	s.room(p, size)
	if !enough(s.dir, p.Free+size) {
		return nil, fmt.Errorf("%s has less than %d MiB free: %w", s.dir, p.Free>>20, syscall.ENOSPC)
	}
	name := fmt.Sprintf("%s-%s-%d", c.Time.UTC().Format("20060102T150405.000000"), plain(program), c.PID)
	for i := 0; ; i++ {
		d := &crashDir{path: filepath.Join(s.dir, crashesDir, name), gid: -1}
		if i > 0 {
			d.path += fmt.Sprintf("-%d", i)
		}
		d.temp = filepath.Join(s.dir, crashesDir, tempPrefix+filepath.Base(d.path))
		err := os.Mkdir(d.temp, 0o750)
		if errors.Is(err, fs.ErrExist) && i < 1000 {
			continue
		}
		// The name is looked up while the other one is ours: nobody else can take it from now on.
		if _, there := os.Lstat(d.path); err == nil && there == nil && i < 1000 {
			d.remove()
			continue
		}
		if account := p.account(); err == nil && account != nil {
			err = os.Lchown(d.temp, 0, account.GID)
		}
		return d, err
	}
}

// maxName is how much of a program's name is part of a path, in bytes.
const maxName = 40

// plain makes a part of a file's name of what a process calls itself.
func plain(s string) string {
	b := []byte(s[:min(len(s), maxName)])
	for i, c := range b {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '+' || c == '.' && i > 0) {
			b[i] = '_'
		}
	}
	if len(b) == 0 {
		return "unknown"
	}
	return string(b)
}

// create makes a file of the crash.
func (d *crashDir) create(name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(d.temp, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

func (d *crashDir) remove() { _ = os.RemoveAll(d.temp) }

// finish gives the directory its name.
func (d *crashDir) finish() error { return os.Rename(d.temp, d.path) }

// enough reports whether there are so many bytes free.
func enough(dir string, n uint64) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) != nil || st.Bavail*uint64(st.Bsize) >= n
}

// An entry is a crash that is kept.
type entry struct {
	path string
	size uint64
	time time.Time
}

// entries lists the crashes, the oldest first, and removes what dead handlers left.
func (s *Store) entries() (list []entry) {
	dir := filepath.Join(s.dir, crashesDir)
	found, _ := os.ReadDir(dir)
	for _, e := range found {
		path := filepath.Join(dir, e.Name())
		st, err := e.Info()
		if err != nil || !e.IsDir() {
			continue
		}
		if strings.HasPrefix(e.Name(), tempPrefix) {
			if time.Since(st.ModTime()) > abandoned {
				_ = os.RemoveAll(path)
			}
			continue
		}
		list = append(list, entry{path, used(path), st.ModTime()})
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.path, b.path) }) // names begin with times
	return list
}

// used returns how much of the disk a directory takes, in bytes.
func used(dir string) (n uint64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if st, err := e.Info(); err == nil {
			if sys, ok := st.Sys().(*syscall.Stat_t); ok && st.Mode().IsRegular() {
				n += uint64(sys.Blocks) * 512
			}
		}
		return nil
	})
	return n
}

// rotate removes the oldest crashes until the rest is within the policy.
func (s *Store) rotate(p *Policy) { s.room(p, 0) }

// room is rotate with room for size bytes more.
func (s *Store) room(p *Policy, size uint64) {
	f, err := s.lock("rotate")
	if err != nil {
		return
	}
	defer f.Close()
	list := s.entries()
	sum := size
	for _, e := range list {
		sum += e.size
	}
	count := len(list)
	if size > 0 {
		count++
	}
	for len(list) > 0 {
		e := list[0]
		if !(p.Disk > 0 && sum > p.Disk || p.Count > 0 && count > p.Count || p.Age > 0 && time.Since(e.time) > p.Age || size > 0 && !enough(s.dir, p.Free+size)) {
			return
		}
		_ = os.RemoveAll(e.path)
		sum, count, list = sum-e.size, count-1, list[1:]
	}
}

// keep keeps a file of a process: by its build-id, for all crashes of the same user; or else beside the core. It returns where.
// Others' files are not used, because anybody may give a file any build-id. What is not copied until a time is not kept.
func (s *Store) keep(p *Policy, f *file, d *crashDir, uid int, account *Account, until time.Time) (string, error) {
	to := filepath.Join(d.temp, plain(filepath.Base(f.path)))
	name := filepath.Join(d.path, filepath.Base(to))
	st, err := f.f.Stat()
	if err != nil {
		return "", err
	}
	size := uint64(st.Size())
	if f.buildID == "" {
		if _, err := os.Lstat(to); err == nil || filepath.Base(to) == "core" || filepath.Base(to) == "crash.json" {
			return "", nil
		}
		most := p.FilesDisk
		if most == 0 || p.Disk > 0 && p.Disk < most {
			most = p.Disk
		}
		if most /= besides; most > 0 && size > most-min(most, d.copied) {
			return "", errLarge
		}
		d.copied += size
	} else {
		user := filepath.Join(s.dir, filesDir, strconv.Itoa(uid))
		ids := filepath.Join(user, ".build-id")
		dir := filepath.Join(ids, f.buildID[:2])
		to = filepath.Join(dir, f.buildID[2:])
		if f.debug {
			to += ".debug"
		}
		if name = to; os.Chtimes(to, time.Now(), time.Now()) == nil {
			return name, nil // used again
		}
		for _, made := range []string{user, ids, dir} {
			if err := os.Mkdir(made, 0o750); err == nil && account != nil {
				_ = os.Lchown(made, 0, account.GID)
			}
		}
		s.roomForFiles(p, size)
	}
	if p.FilesDisk > 0 && size > p.FilesDisk || !enough(s.dir, p.Free+size) {
		return "", syscall.ENOSPC
	}
	temp, err := os.CreateTemp(filepath.Dir(to), tempPrefix)
	if err != nil {
		return "", err
	}
	err = copyUntil(temp, io.LimitReader(f.f, st.Size()), until)
	if account != nil {
		err = errors.Join(err, temp.Chown(0, account.GID))
	}
	err = errors.Join(err, temp.Chmod(0o640), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), to)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return "", err
	}
	return name, nil
}

// besides is the part of what all crashes may take that files beside one core may: who makes large ones would have those of others removed.
const besides = 4

// errLarge: a process has more files without a build-id than are kept.
var errLarge = errors.New("the files beside the core are too large")

// errSlow: a file is on a file system that does not answer, as one of FUSE may, or that is slow.
var errSlow = errors.New("its file system is too slow")

// copyUntil copies until a time. Then a goroutine may be left that still waits: the handler is about to end.
func copyUntil(to io.Writer, from io.Reader, until time.Time) error {
	done := make(chan error, 1)
	go func() {
		_, err := io.Copy(to, from)
		done <- err
	}()
	late := time.NewTimer(time.Until(until))
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-late.C:
		return errSlow
	}
}

// roomForFiles removes the kept files that were used the longest ago, until there is room for size bytes.
func (s *Store) roomForFiles(p *Policy, size uint64) {
	if p.FilesDisk == 0 {
		return
	}
	f, err := s.lock("files")
	if err != nil {
		return
	}
	defer f.Close()
	var list []entry
	sum := size
	_ = filepath.WalkDir(filepath.Join(s.dir, filesDir), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if st, err := e.Info(); err == nil {
			list = append(list, entry{path, uint64(st.Size()), st.ModTime()})
			sum += uint64(st.Size())
		}
		return nil
	})
	slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(a.time.UnixNano(), b.time.UnixNano()) })
	for ; sum > p.FilesDisk && len(list) > 0; list = list[1:] {
		_ = os.Remove(list[0].path)
		sum -= list[0].size
	}
}
