package image

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/files/kept"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

// TestAnswers: what one run found out the next one of the same program knows, unless what is kept is damaged. Another program finds
// it out itself, and leaves that of the first as it is.
func TestAnswers(t *testing.T) {
	path := settled(t, "amd64-pie")
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
		files int
	}{{0, 4, 1}, {0, 0, 1}, {1, 4, 2}, {1, 0, 2}, {0, 0, 2}} {
		if n := run(1<<30, c.other); n != c.want || len(entries()) != c.files {
			t.Errorf("run %d: asked %d times, want %d; %q", i, n, c.want, entries())
		}
	}
	for _, e := range entries() {
		bad, _ := os.ReadFile(e)
		bad[len(bad)-1] ^= 1
		os.WriteFile(e, bad, 0o600)
	}
	if n := run(1<<30, 0); n != 4 {
		t.Errorf("damaged: asked %d times", n)
	}
}

// TestAnswersLimited: there are not more answers, and no longer ones, than the limits say.
func TestAnswersLimited(t *testing.T) {
	im := &Image{}
	im.answers.once.Do(func() { im.answers.entry, im.answers.fresh = new(kept.Entry), map[Question][]byte{} })
	for i := range uint64(2 * maxAnswers) {
		im.Answer(Question{A: i}, func() []byte { return make([]byte, maxAnswer+i%2) })
	}
	if n := len(im.answers.fresh); n != maxAnswers {
		t.Errorf("%d answers", n)
	}
	for _, a := range im.answers.fresh {
		if len(a) > maxAnswer {
			t.Errorf("%d bytes", len(a))
		}
	}
}

// TestDebugAnswers: what depends on debug information is kept if all of it is here and nothing is wrong with it.
func TestDebugAnswers(t *testing.T) {
	for _, c := range []struct {
		what string
		do   func(im *Image)
		keep bool
	}{
		{"nothing", func(*Image) {}, true},
		{"damage", func(im *Image) { im.DamagedDWARF(errNotKept) }, false},
		{"damage of the debug file", func(im *Image) { im.AddDebugFile(&Image{warnings: []string{"damaged"}}) }, false},
		{"other files", (*Image).part, false},
	} {
		im := &Image{elf: new(elffile.File)}
		im.answers.once.Do(func() { im.answers.entry, im.answers.fresh = new(kept.Entry), map[Question][]byte{} })
		asked := 0
		ask := func(q uint64, a []byte) {
			im.DebugAnswer(Question{A: q}, func() []byte { asked++; return a })
		}
		ask(1, nil)
		ask(1, nil)
		if asked != 2 {
			t.Errorf("%s: what is not to be kept was asked %d times", c.what, asked)
		}
		c.do(im)
		ask(2, []byte{})
		if _, ok := im.answers.fresh[Question{A: 2}]; ok != c.keep {
			t.Errorf("%s: kept is %t", c.what, ok)
		}
	}
}

// inMemory is a part of which damaged cannot be read.
type inMemory struct {
	data    []byte
	damaged uint64
}

func (p inMemory) Data() []byte { return p.data }

func (p inMemory) Need(from, end uint64, fill func([]byte, uint64) error) error {
	if from <= p.damaged && p.damaged < end {
		return fill(nil, p.damaged)
	}
	return nil
}

// TestAnswerTable: of a damaged table all is known that can be read.
func TestAnswerTable(t *testing.T) {
	all := map[Question][]byte{}
	for i := range uint64(100) {
		all[Question{uint32(i % 3), i / 7, i / 2 % 5, i}] = []byte(fmt.Sprint("answer ", i))
	}
	data := packAnswers(all)
	for _, c := range []struct{ damaged, want int }{{len(data), 100}, {len(data) - 1, 99}, {0, 0}, {tableTop + rowSize, 0}} {
		table, got := newAnswerTable(inMemory{data, uint64(c.damaged)}), 0
		for q, want := range all {
			if a, ok := table.find(q); ok {
				got++
				if !bytes.Equal(a, want) {
					t.Errorf("%v: %q", q, a)
				}
			}
		}
		if got != c.want {
			t.Errorf("byte %d damaged: %d answers, want %d", c.damaged, got, c.want)
		}
		if a, ok := table.find(Question{C: 1000}); ok {
			t.Errorf("nobody answered %q", a)
		}
	}
}

// A table is whatever is on disk.
func FuzzAnswers(f *testing.F) {
	f.Add(packAnswers(map[Question][]byte{{1, 2, 3, 4}: []byte("one"), {1, 2, 3, 5}: nil}))
	f.Add([]byte{255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		table := newAnswerTable(inMemory{data, uint64(len(data))})
		for i := range table.n {
			q, _, _ := table.row(i)
			if a, ok := table.find(q); ok && len(a) > maxAnswer {
				t.Errorf("%d bytes", len(a))
			}
		}
	})
}

// Whether a large table of names has a text is known to a later run, which does not read the table.
func TestMentionsKept(t *testing.T) {
	path := settled(t, "amd64-vars-libcxx")
	dir := filepath.Join(t.TempDir(), "kept")
	for run := range 2 {
		with(t, kept.New(dir, 1<<30), path, func(im *Image) {
			for text, want := range map[string]bool{"main\x00": true, "basic_string": true, "no such name": false, "no such names": false} {
				if got := im.MentionsSymbol(text); got != want {
					t.Errorf("run %d: %q: %v", run, text, got)
				}
			}
			if n := len(im.answers.fresh); n != 4*(1-run) {
				t.Errorf("run %d: %d answers are new", run, n)
			}
		})
	}
}
