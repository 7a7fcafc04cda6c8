package image

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/files/kept"
	"github.com/corewalk/corewalk/internal/fixture"
)

// TestAnswers: what one run found out the next one knows, unless the program is another one, or what is kept is damaged.
func TestAnswers(t *testing.T) {
	data, err := os.ReadFile(fixture.Get(t, "amd64-pie").Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, data, 0o700); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2100 * time.Millisecond)
	dir := filepath.Join(t.TempDir(), "kept")
	run := func(limit int64, other uint64) (asked int) {
		with(t, kept.New(dir, limit), path, func(im *Image) {
			if _, ok := im.cache.program(); !ok {
				t.Skip("this program's file is not known")
			}
			im.cache.programID += other
			for _, q := range []Question{{AskedKept, 1, 2, 4}, {AskedKept, 1, 3, 4}, {AskedKeptCall, 1, 2, 4}, {AskedKept, 1, 2, 4}, {AskedKept, 1, 2, 5}} {
				want := []byte(fmt.Sprint(q))
				if q.B == 3 {
					want = nil
				}
				if got := im.Answer(q, func() []byte { asked++; return want }); !bytes.Equal(got, want) {
					t.Errorf("%v: %q", q, got)
				}
			}
		})
		return asked
	}
	entries := func() []string {
		list, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
		return list
	}
	if n := run(0, 0); n != 4 || len(entries()) != 0 {
		t.Errorf("nothing may be kept: asked %d times, %q", n, entries())
	}
	for i, c := range []struct {
		other uint64
		want  int
	}{{0, 4}, {0, 0}, {1, 4}, {1, 0}, {0, 4}} {
		if n := run(1<<30, c.other); n != c.want || len(entries()) != 1 {
			t.Errorf("run %d: asked %d times, want %d; %q", i, n, c.want, entries())
		}
	}
	bad, _ := os.ReadFile(entries()[0])
	bad[len(bad)-1] ^= 1
	os.WriteFile(entries()[0], bad, 0o600)
	if n := run(1<<30, 0); n != 4 {
		t.Errorf("damaged: asked %d times", n)
	}
}

// TestAnswersLimited: there are not more answers, and no longer ones, than the limits say.
func TestAnswersLimited(t *testing.T) {
	im := &Image{}
	im.answers.once.Do(func() { im.answers.entry, im.answers.known = new(kept.Entry), map[Question][]byte{} })
	for i := range uint64(2 * maxAnswers) {
		im.Answer(Question{A: i}, func() []byte { return make([]byte, maxAnswer+i%2) })
	}
	if n := len(im.answers.known); n != maxAnswers {
		t.Errorf("%d answers", n)
	}
	for _, a := range im.answers.known {
		if len(a) > maxAnswer {
			t.Errorf("%d bytes", len(a))
		}
	}
}

// Answers are read as far as they are well-formed.
func FuzzAnswers(f *testing.F) {
	one := append(make([]byte, 20), 1, 0, 0, 0, 9)
	f.Add(one)
	f.Add(append(one, one[:23]...))
	f.Add(append(make([]byte, 20), 255, 255, 255, 255))
	f.Fuzz(func(t *testing.T, data []byte) {
		size := 0
		for _, a := range parseAnswers(data) {
			size += 24 + len(a)
		}
		if size > len(data) {
			t.Errorf("%d bytes of answers in %d", size, len(data))
		}
	})
}
