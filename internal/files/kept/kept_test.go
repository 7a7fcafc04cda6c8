package kept

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
)

// newRoom returns a room in a new directory, for which files are settled at once.
func newRoom(t testing.TB, limit int64) *Room {
	t.Helper()
	r := New(filepath.Join(t.TempDir(), "cache", "kept"), limit)
	r.settled = -time.Hour
	return r
}

// again is the room as another process opens it.
func again(r *Room) *Room {
	o := New(r.dir, r.limit)
	o.settled = r.settled
	return o
}

// newSource makes a file.
func newSource(t testing.TB) Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lib.so")
	if err := os.WriteFile(path, []byte("a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	return sourceAt(t, path)
}

func sourceAt(t testing.TB, path string) Source {
	t.Helper()
	id, err := mmapfile.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return Source{File: id, Path: path, BuildID: []byte("twenty bytes of an id")}
}

// contents are bytes that differ from block to block.
func contents(size int) []byte {
	data := make([]byte, size)
	r := rand.New(rand.NewPCG(1, uint64(size)))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

var key = Key{Kind: KindSection, Section: 7, Offset: 100, Length: 200, Ends: 5}

// keep writes an entry with the beginning of a part, and returns the file of the entry.
func keep(t testing.TB, r *Room, s Source, whole []byte, have int) string {
	t.Helper()
	e := r.Entry(s)
	defer e.Close()
	if err := e.Keep(t.Context(), []NewPart{{key, uint64(len(whole)), whole[:have]}}); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(r.dir, s.wing(), s.name())
}

// filler makes what is not kept, and counts the blocks.
func filler(whole []byte, n *int) func([]byte, uint64) error {
	return func(dst []byte, off uint64) error {
		*n++
		copy(dst, whole[off:])
		return nil
	}
}

// read reads a part to its end, and returns how many blocks were made; -1 if there is no part.
func read(t testing.TB, r *Room, s Source, whole []byte) (made int) {
	t.Helper()
	e := r.Entry(s)
	defer e.Close()
	p := e.Part(key, uint64(len(whole)))
	if p == nil {
		return -1
	}
	fault := mmapfile.Guard(func() {
		if err := p.Need(0, 1<<60, filler(whole, &made)); err != nil {
			t.Error(err)
		}
		if !bytes.Equal(p.Data(), whole) {
			t.Error("not what was kept")
		}
	})
	if fault != nil {
		t.Error(fault)
	}
	return made
}

func TestKeep(t *testing.T) {
	whole := contents(10*blockSize + 100)
	for _, c := range []struct{ have, made int }{{len(whole), 0}, {4 * blockSize, 7}, {4*blockSize + 1, 7}, {blockSize, 10}} {
		r, s := newRoom(t, 1<<30), newSource(t)
		if got := read(t, r, s, whole); got != -1 {
			t.Fatal("something is kept from the start")
		}
		path := keep(t, r, s, whole, c.have)
		if got := read(t, r, s, whole); got != c.made {
			t.Errorf("%d bytes kept: %d blocks made, want %d", c.have, got, c.made)
		}
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("the entry is %v, %v", st, err)
		}
	}
}

// TestNeedReadsAPart: only what is needed is checked and made, and what is made stays in the process.
func TestNeedReadsAPart(t *testing.T) {
	r, s, whole := newRoom(t, 1<<30), newSource(t), contents(10*blockSize)
	path := keep(t, r, s, whole, 5*blockSize)
	before, _ := os.ReadFile(path)
	e := r.Entry(s)
	defer e.Close()
	p, made := e.Part(key, uint64(len(whole))), 0
	if err := p.Need(7*blockSize+5, 7*blockSize+6, filler(whole, &made)); err != nil || made != 1 {
		t.Errorf("%d blocks made, %v", made, err)
	}
	if !bytes.Equal(p.Data()[7*blockSize:8*blockSize], whole[7*blockSize:8*blockSize]) {
		t.Error("not what was made")
	}
	for _, need := range [][2]uint64{{5, 4}, {1 << 62, 1 << 63}, {10 * blockSize, 11 * blockSize}, {7 * blockSize, 8 * blockSize}} {
		if err := p.Need(need[0], need[1], filler(whole, &made)); err != nil || made != 1 {
			t.Errorf("%v: %d blocks made, %v", need, made, err)
		}
	}
	failed := errors.New("failed")
	if err := p.Need(0, 1<<60, func([]byte, uint64) error { return failed }); err != failed {
		t.Errorf("error %v", err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the entry's file has changed")
	}
}

// TestMerged: a later run adds to what is kept.
func TestMerged(t *testing.T) {
	r, s, whole := newRoom(t, 1<<30), newSource(t), contents(10*blockSize)
	keep(t, r, s, whole, 5*blockSize)
	other := key
	other.Section++
	e := r.Entry(s)
	if err := e.Keep(t.Context(), []NewPart{{other, blockSize, whole[:blockSize]}, {key, uint64(len(whole)), whole[:blockSize]}}); err != nil {
		t.Fatal(err)
	}
	e.Close()
	if got := read(t, r, s, whole); got != 5 {
		t.Errorf("%d blocks made, want 5", got)
	}
	if e := r.Entry(s); e.Part(other, blockSize) == nil || e.Part(other, 2*blockSize) != nil {
		t.Error("the part of the second run is lost, or has another size")
	}
}

// TestWhole: a part of unknown size is found if all of it is kept and sound, and a new one replaces it.
func TestWhole(t *testing.T) {
	r, s, whole := newRoom(t, 1<<30), newSource(t), contents(3*blockSize+5)
	index := Key{Kind: KindIndex + 1}
	look := func() (found []byte) {
		e := r.Entry(s)
		defer e.Close()
		if fault := mmapfile.Guard(func() { found = bytes.Clone(e.Whole(index)) }); fault != nil {
			t.Error(fault)
		}
		return found
	}
	for _, size := range []int{len(whole), blockSize, 5} {
		e := r.Entry(s)
		if err := e.Keep(t.Context(), []NewPart{{index, uint64(size), whole[:size]}}); err != nil {
			t.Fatal(err)
		}
		e.Close()
		if got := look(); !bytes.Equal(got, whole[:size]) {
			t.Errorf("%d bytes of %d, or others", len(got), size)
		}
	}
	path := keep(t, r, s, whole, blockSize) // adds a part of another kind
	if len(look()) != 5 {
		t.Error("the index is lost")
	}
	e := r.Entry(s)
	if e.Whole(key) != nil {
		t.Error("the beginning of a part is taken for all of it")
	}
	e.Close()
	bad, _ := os.ReadFile(path)
	bad[bytes.LastIndex(bad, whole[:5])] ^= 1
	os.WriteFile(path, bad, 0o600)
	if got := look(); got != nil {
		t.Errorf("a damaged index: %x", got)
	}
}

// TestReplace: what was kept for the same use is lost, what was kept for others is not.
func TestReplace(t *testing.T) {
	r, s, whole := newRoom(t, 1<<30), newSource(t), contents(100)
	keep(t, r, s, contents(blockSize), blockSize)
	answers := s
	answers.Use = "answers"
	for i := range uint64(2 * maxParts) {
		e := r.Entry(answers)
		if i > 0 && e.Whole(Key{Kind: KindAnswers, Offset: i - 1}) == nil {
			t.Fatalf("%d: nothing is kept", i)
		}
		if err := e.Replace(t.Context(), []NewPart{{Key{Kind: KindAnswers, Offset: i}, 100, whole}}); err != nil {
			t.Fatal(err)
		}
		e.Close()
	}
	e := r.Entry(answers)
	defer e.Close()
	if len(e.parts) != 1 {
		t.Errorf("%d parts", len(e.parts))
	}
	if read(t, r, s, contents(blockSize)) != 0 {
		t.Error("the other entry is lost")
	}
}

// TestDamage: whatever the file of an entry has in it, what is read is right, or nothing is found.
func TestDamage(t *testing.T) {
	r, s, whole := newRoom(t, 1<<30), newSource(t), contents(3*blockSize)
	path := keep(t, r, s, whole, len(whole))
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]int{}
	try := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		found[read(t, r, s, whole)]++
	}
	for i := 0; i < len(good); i += 1 + i/200 {
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		try(bad)
	}
	for i := 0; i < len(good); i += 1 + i/20 {
		try(good[:i])
		try(append(bytes.Clone(good[:i]), make([]byte, len(good)-i)...)) // a crash of the machine
	}
	if found[-1] == 0 || found[1] == 0 || found[0] == 0 {
		t.Errorf("blocks made, -1 for no entry: %v", found)
	}
	// Damage is repaired by writing again.
	bad := bytes.Clone(good)
	bad[len(bad)-blockSize] ^= 1
	try(bad)
	e, made := r.Entry(s), 0
	e.Part(key, uint64(len(whole))).Need(0, 1<<60, filler(whole, &made))
	if err := e.Keep(t.Context(), []NewPart{{key, uint64(len(whole)), whole[:blockSize]}}); err != nil || made != 1 {
		t.Fatal(made, err)
	}
	e.Close()
	if got := read(t, r, s, whole); got != 0 {
		t.Errorf("%d blocks made after the repair", got)
	}
}

// TestTruncatedWhileRead: a mapping that shrinks is an error.
func TestTruncatedWhileRead(t *testing.T) {
	r, s, whole := newRoom(t, 1<<30), newSource(t), contents(100*blockSize)
	path := keep(t, r, s, whole, len(whole))
	e, made := r.Entry(s), 0
	defer e.Close()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	p := e.Part(key, uint64(len(whole)))
	for range 2 { // the first fault must not leave a lock
		if err := mmapfile.Guard(func() { p.Need(0, 1<<60, filler(whole, &made)) }); !errors.Is(err, mmapfile.ErrChanged) {
			t.Errorf("error %v", err)
		}
	}
}

// TestOtherFile: another file with the same build-id, and the same file after a change, have nothing.
func TestOtherFile(t *testing.T) {
	r, s, whole := newRoom(t, 1<<30), newSource(t), contents(2*blockSize)
	path := keep(t, r, s, whole, len(whole))
	for name, change := range map[string]func(*Source){
		"device":       func(s *Source) { s.File.Dev++ },
		"inode":        func(s *Source) { s.File.Ino++ },
		"size":         func(s *Source) { s.File.Size++ },
		"time":         func(s *Source) { s.File.MtimeNs++ },
		"inode's time": func(s *Source) { s.File.CtimeNs++ },
		"build-id":     func(s *Source) { s.BuildID = append(bytes.Clone(s.BuildID), 1) },
	} {
		o := s
		change(&o)
		if e := r.Entry(o); e.Part(key, uint64(len(whole))) != nil {
			t.Errorf("another %s: the entry is used", name)
		}
		// Nor under the name that it would have.
		if err := os.Link(path, filepath.Join(r.dir, wingOwn, o.name())); err != nil {
			t.Fatal(err)
		}
		if e := r.Entry(o); e.Part(key, uint64(len(whole))) != nil {
			t.Errorf("another %s: the entry is used under its name", name)
		}
	}
	for name, k := range map[string]Key{"kind": {2, 7, 100, 200, 5}, "section": {1, 8, 100, 200, 5}, "offset": {1, 7, 101, 200, 5}, "length": {1, 7, 100, 201, 5}, "ends": {1, 7, 100, 200, 6}} {
		if e := r.Entry(s); e.Part(k, uint64(len(whole))) != nil {
			t.Errorf("another %s: the part is used", name)
		}
	}
}

// TestUnsettled: nothing is kept of a file that has changed since it was opened, or just before.
func TestUnsettled(t *testing.T) {
	r, s, whole := newRoom(t, 1<<30), newSource(t), contents(2*blockSize)
	parts := []NewPart{{key, uint64(len(whole)), whole}}
	r.settled = settled
	if err := r.Entry(s).Keep(t.Context(), parts); !errors.Is(err, errUnsettled) {
		t.Errorf("a new file: %v", err)
	}
	r.settled = -time.Hour
	e := r.Entry(s)
	if err := os.WriteFile(s.Path, []byte("others"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := e.Keep(t.Context(), parts); !errors.Is(err, errUnsettled) && mmapSame(t, s) {
		t.Errorf("a file that changed: %v", err)
	}
	os.Remove(s.Path)
	if err := e.Keep(t.Context(), parts); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is gone: %v", err)
	}
	for _, bad := range []Source{{File: s.File, Path: s.Path}, {File: mmapfile.ID{Size: 6}, Path: s.Path, BuildID: s.BuildID}} {
		if err := r.Entry(bad).Keep(t.Context(), parts); err == nil {
			t.Errorf("kept of %+v", bad)
		}
	}
}

// mmapSame reports whether a file's identity shows a change.
func mmapSame(t *testing.T, s Source) bool {
	id, err := mmapfile.Stat(s.Path)
	return err == nil && id != s.File
}

// TestLimit: the oldest entries are removed, and temporary files that nobody writes.
func TestLimit(t *testing.T) {
	whole := contents(16 * blockSize)
	r := newRoom(t, 5*18*blockSize)
	old := time.Now().Add(-30 * 24 * time.Hour)
	var sources []Source
	for i := range 8 {
		s := newSource(t)
		s.Packaged = i%2 == 0
		path := keep(t, r, s, whole, len(whole))
		at := old.Add(time.Duration(i) * time.Hour)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		if sources = append(sources, s); i == 3 && read(t, r, sources[0], whole) != 0 { // used now
			t.Error("nothing kept of the first file")
		}
	}
	var left []int
	for i, s := range sources {
		if read(t, r, s, whole) == 0 {
			left = append(left, i)
		}
	}
	if want := []int{0, 5, 6, 7}; !slices.Equal(left, want) && !slices.Equal(left, []int{0, 4, 5, 6, 7}) {
		t.Errorf("kept of the files %v, want %v", left, want)
	}
	list, err := r.List()
	if err != nil || len(list) != len(left) {
		t.Errorf("%d entries listed, %v", len(list), err)
	}
	var size int64
	for _, in := range list {
		size += in.Size
	}
	if size > r.limit || size == 0 {
		t.Errorf("%d bytes are kept, the limit is %d", size, r.limit)
	}
	if err := r.Entry(newSource(t)).Keep(t.Context(), nil); err != nil {
		t.Errorf("an entry without parts: %v", err)
	}
	big := contents(64 * blockSize)
	if err := r.Entry(newSource(t)).Keep(t.Context(), []NewPart{{key, uint64(len(big)), big}}); err == nil {
		t.Error("an entry of more than half the limit is kept")
	}
	if err := New(r.dir, 0).Entry(sources[0]).Keep(t.Context(), nil); !errors.Is(err, ErrReadOnly) {
		t.Errorf("without a limit: %v", err)
	}
}

// TestCounted: entries are looked at once for many that are written, and again when they may not fit, or after some
// time, since other processes write, too.
func TestCounted(t *testing.T) {
	whole := contents(16 * blockSize)
	one := int64(18 * blockSize) // an entry, with its header
	r := newRoom(t, 6*one)
	now := time.Now()
	r.now = func() time.Time { return now }
	put := func(r *Room) { keep(t, r, newSource(t), whole, len(whole)) }
	size := func() (n int64) {
		list, err := r.List()
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range list {
			n += in.Size
		}
		return n
	}
	put(r)
	at := r.counted
	now = now.Add(recount / 2)
	if put(r); r.counted != at || r.size < size() {
		t.Errorf("looked at again: %v; %d bytes, %d known", r.counted != at, size(), r.size)
	}
	other := again(r)
	for range 3 {
		put(other)
	}
	now = now.Add(recount)
	if put(r); r.counted != now || r.size < size() || size() > r.limit {
		t.Errorf("not looked at after %v; %d bytes, %d known, the limit is %d", recount, size(), r.size, r.limit)
	}
	for range 20 { // those that may not fit
		if put(r); size() > r.limit {
			t.Fatalf("%d bytes, the limit is %d", size(), r.limit)
		}
	}
}

func TestAbandoned(t *testing.T) {
	r, whole := newRoom(t, 1<<30), contents(blockSize)
	path := keep(t, r, newSource(t), whole, len(whole))
	for name, age := range map[string]time.Duration{"tmp-1-1": 2 * abandoned, "tmp-2-2": 0, "notes": 1000 * time.Hour} {
		file, at := filepath.Join(filepath.Dir(path), name), time.Now().Add(-age)
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		os.Chtimes(file, at, at)
	}
	r = again(r) // the next process
	keep(t, r, newSource(t), whole, len(whole))
	names := func() (list []string) {
		entries, _ := os.ReadDir(filepath.Dir(path))
		for _, e := range entries {
			if !isEntry(e.Name()) {
				list = append(list, e.Name())
			}
		}
		return list
	}
	if got := names(); !slices.Equal(got, []string{"notes", "tmp-2-2"}) {
		t.Errorf("files %v", got)
	}
	if n, size, err := r.Clear(); n != 2 || size == 0 || err != nil {
		t.Errorf("cleared %d entries of %d bytes, %v", n, size, err)
	}
	if got := names(); !slices.Equal(got, []string{"notes"}) {
		t.Errorf("after clearing: files %v", got)
	}
}

func TestList(t *testing.T) {
	r, s, whole := newRoom(t, 1<<30), newSource(t), contents(blockSize)
	if list, err := r.List(); len(list) != 0 || err != nil {
		t.Errorf("no room: %v, %v", list, err)
	}
	path := keep(t, r, s, whole, len(whole))
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "abcd-0123456789abcdef.v99"), []byte("of the future"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := r.List()
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	i := slices.IndexFunc(list, func(in Info) bool { return in.Path != "" })
	if in := list[i]; in.Path != s.Path || in.BuildID != fmt.Sprintf("%x", s.BuildID) || in.Stale || in.Size < blockSize {
		t.Errorf("%+v", in)
	}
	if other := list[1-i]; other.BuildID != "" || other.Name != filepath.Join(wingOwn, "abcd-0123456789abcdef.v99") {
		t.Errorf("%+v", other)
	}
	os.Remove(s.Path)
	if list, _ := r.List(); !list[0].Stale && !list[1].Stale {
		t.Error("an entry of a file that is gone is not stale")
	}
}

// TestTogether: several write and read the same entry.
func TestTogether(t *testing.T) {
	r, s, whole := newRoom(t, 1<<30), newSource(t), contents(50*blockSize)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 10 {
				e := r.Entry(s)
				if err := e.Keep(t.Context(), []NewPart{{key, uint64(len(whole)), whole[:(i+n)*blockSize]}}); err != nil {
					t.Error(err)
				}
				e.Close()
				read(t, r, s, whole)
			}
		})
	}
	wg.Wait()
	if got := read(t, r, s, whole); got < 0 || got == 50 {
		t.Errorf("%d blocks made at the end", got)
	}
	if list, err := r.List(); len(list) != 1 || err != nil {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestNeedTogether: several goroutines read one part.
func TestNeedTogether(t *testing.T) {
	r, s, whole := newRoom(t, 1<<30), newSource(t), contents(50*blockSize)
	keep(t, r, s, whole, 20*blockSize)
	e := r.Entry(s)
	defer e.Close()
	p, made := e.Part(key, uint64(len(whole))), 0
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for at := uint64(i * 1000); at < uint64(len(whole)); at += 3000 {
				if err := p.Need(at, at+5000, filler(whole, &made)); err != nil {
					t.Error(err)
				}
				if end := min(at+5000, uint64(len(whole))); !bytes.Equal(p.Data()[at:end], whole[at:end]) {
					t.Errorf("wrong bytes at %d", at)
				}
			}
		})
	}
	wg.Wait()
	if made != 30 {
		t.Errorf("%d blocks made, want 30", made)
	}
}

// FuzzEntry reads files that pretend to be entries, with right checksums of their headers.
func FuzzEntry(f *testing.F) {
	r, s, whole := newRoom(f, 1<<30), newSource(f), contents(2*blockSize+5)
	path := keep(f, r, s, whole, len(whole))
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, true)
	f.Add(good[:200], true)
	f.Add([]byte(magic), false)
	f.Fuzz(func(t *testing.T, data []byte, sign bool) {
		data = bytes.Clone(data)
		if sign && len(data) > headerTop {
			n := len(data)
			if got := leUint32(data[len(magic):]); uint64(got) <= uint64(n) && got >= uint32(headerTop) {
				n = int(got)
			}
			putUint32(data[len(magic)+4:], Checksum(data[headerTop:n]))
		}
		h, err := readHeader(data)
		if err != nil {
			return
		}
		for _, p := range h.parts {
			made := 0
			p.prefix()
			if err := p.Need(0, 1<<60, func(dst []byte, off uint64) error {
				made++
				if off+uint64(len(dst)) > uint64(len(p.data)) {
					t.Errorf("block at %d of %d bytes", off, len(p.data))
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
			if uint64(made) > blocks(uint64(len(p.data))) {
				t.Errorf("%d blocks made of %d bytes", made, len(p.data))
			}
		}
	})
}

func leUint32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

func putUint32(b []byte, v uint32) { binary.LittleEndian.PutUint32(b, v) }
