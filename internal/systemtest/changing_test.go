package systemtest

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// A vandal writes to files while others read them.
type vandal struct {
	paths []string
	whole [][]byte
	rnd   *rand.Rand
}

// strike does something to one of the files, and after some time makes it whole again.
// Errors do not matter: the file may just be gone.
func (v *vandal) strike() {
	i := v.rnd.IntN(len(v.paths))
	path, whole := v.paths[i], v.whole[i]
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	switch v.rnd.IntN(6) {
	case 0: // shorter, and whole again
		f.Truncate(v.rnd.Int64N(int64(len(whole))))
		f.WriteAt(whole, 0)
	case 1: // longer
		f.WriteAt(make([]byte, 1<<20), int64(len(whole)))
	case 2: // another file of that name
		os.WriteFile(path+".new", whole, 0o600)
		os.Rename(path+".new", path)
	default: // other bytes, more often in the headers
		size := len(whole)
		if v.rnd.IntN(2) == 0 {
			size = min(size, 8<<10)
		}
		at := v.rnd.IntN(size)
		b := make([]byte, min(1+v.rnd.IntN(64), len(whole)-at))
		for k := range b {
			b[k] = byte(v.rnd.Uint32())
		}
		f.WriteAt(b, int64(at))
		if v.rnd.IntN(2) == 0 {
			f.WriteAt(whole[at:at+len(b)], int64(at))
		}
	}
	if v.rnd.IntN(64) == 0 {
		f.Truncate(int64(len(whole)))
		f.WriteAt(whole, 0)
	}
}

// Files that another process writes to while they are analysed lead to wrong reports at
// worst: nothing that was checked is believed to be still so.
func TestFilesChangeWhileRead(t *testing.T) {
	rounds := 2
	if fixture.IsLong(t) {
		rounds = 500
	}
	for _, name := range []string{"amd64-recursion-O0", "amd64-cxx-sort", "amd64-inline-tail-O2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := fixture.Get(t, name)
			dir := t.TempDir()
			v := vandal{rnd: rand.New(rand.NewPCG(rand.Uint64(), 1))}
			for to, from := range map[string]string{"core": c.Core(t), c.Program: c.Binary(t)} {
				path := filepath.Join(dir, to)
				data, err := os.ReadFile(from)
				if err == nil {
					err = os.WriteFile(path, data, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
				v.paths, v.whole = append(v.paths, path), append(v.whole, data)
			}
			done, ended := make(chan bool), make(chan bool)
			go func() {
				defer close(ended)
				for {
					select {
					case <-done:
						return
					default:
						v.strike()
					}
				}
			}()
			reports := 0
			for range rounds {
				target, err := corewalk.Open(context.Background(), filepath.Join(dir, "core"), corewalk.WithSysroot(c.Sysroot(t)),
					corewalk.WithDebugDir(dir), corewalk.WithExecutable(filepath.Join(dir, c.Program)))
				if err != nil {
					continue
				}
				r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll})
				if err == nil {
					reports++
					err = report.WriteText(io.Discard, r, report.TextOptions{})
				}
				if in := target.Info(); err == nil {
					err = report.WriteInfoText(io.Discard, in, report.TextOptions{})
				}
				if err != nil && !errors.Is(err, corewalk.ErrChanged) {
					t.Error(err)
				}
				target.Close()
			}
			close(done)
			<-ended
			t.Logf("%d reports of %d", reports, rounds)
		})
	}
}
