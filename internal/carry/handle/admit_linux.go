package handle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// How many crashes are handled at a time: in all, of one user but root, and of one program. Each takes what the policy takes of a process, and
// waits for its report: who lets programs die by thousands does not get the machine's memory.
const (
	mostHandled   = 32
	mostOfUser    = 24
	mostOfProgram = 16
)

// errBusy: too many crashes are handled.
var errBusy = errors.New("too many crashes are being handled")

// admit reports whether a crash of a user and a program is handled now. Closing the file makes room for another one.
func (s *Store) admit(uid int, program string) (*os.File, error) {
	lock, err := s.lock("handling")
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	user := fmt.Sprintf("%d ", uid)
	var free *os.File
	ofUser, ofProgram := 0, 0
	for i := range mostHandled {
		f, err := os.OpenFile(filepath.Join(s.dir, stateDir, fmt.Sprintf("handling.%d", i)), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, errors.Join(err, closeAll(free))
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			if free == nil {
				free = f
				continue
			}
			f.Close()
			continue
		}
		b, _ := io.ReadAll(io.LimitReader(f, 1<<10))
		f.Close()
		if text := string(b); len(text) > len(user) && text[:len(user)] == user {
			ofUser++
			if text[len(user):] == program {
				ofProgram++
			}
		}
	}
	switch {
	case free == nil:
		return nil, fmt.Errorf("%w: %d", errBusy, mostHandled)
	case ofProgram >= mostOfProgram:
		return nil, errors.Join(fmt.Errorf("%w: %d of this program", errBusy, ofProgram), closeAll(free))
	case ofUser >= mostOfUser && uid != 0:
		return nil, errors.Join(fmt.Errorf("%w: %d of user %d", errBusy, ofUser, uid), closeAll(free))
	}
	if err := free.Truncate(0); err != nil {
		return nil, errors.Join(err, closeAll(free))
	}
	if _, err := free.WriteAt([]byte(user+program), 0); err != nil {
		return nil, errors.Join(err, closeAll(free))
	}
	return free, nil
}

func closeAll(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// identitySize is how much of a program says which one it is: it has the build-id.
const identitySize = 64 << 10

// identity says which program a process runs, whatever its path is: copies of a program are the same. It is the path where the file cannot be read.
func (p *process) identity() string {
	f, err := p.open("exe", unix.O_RDONLY)
	if err != nil {
		return p.exe
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return p.exe
	}
	h := sha256.New()
	fmt.Fprintln(h, st.Size())
	if _, err := io.Copy(h, io.LimitReader(f, identitySize)); err != nil {
		return p.exe
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
