package image

import (
	"encoding/binary"
	"hash/fnv"
	"os"
	"path/filepath"
	"sync"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/kept"
	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// Limits on the answers that are kept of a file.
const (
	maxAnswers = 1 << 10
	maxAnswer  = 1 << 10 // bytes; a longer one is not kept
)

// A Question is what Answer is asked: what it is about, addresses of the file, and all else that the answer depends on.
type Question struct {
	Kind    uint32
	A, B, C uint64
}

// Kinds of questions.
const (
	// AskedKept asks which registers of the set C a function has left as they were: at address B, A being where the
	// function begins, as a code pointer.
	AskedKept uint32 = 1
	// AskedKeptCall is AskedKept for the call that returns to B.
	AskedKeptCall uint32 = 2
)

// answers has what is known of questions about the code of one file.
type answers struct {
	once  sync.Once
	entry *kept.Entry // nil if nothing may be kept

	mu    sync.Mutex
	key   kept.Key
	known map[Question][]byte
	fresh bool // some of what is known is not on disk
}

// Answer returns what find returns, or what it returned in an earlier run of the same build of this program. The answer
// must depend on the question, the code, the unwind tables and the symbols of the file alone.
func (im *Image) Answer(q Question, find func() []byte) []byte {
	k := &im.answers
	k.once.Do(im.openAnswers)
	if k.entry == nil {
		return find()
	}
	k.mu.Lock()
	a, ok := k.known[q]
	k.mu.Unlock()
	if ok {
		return a
	}
	a = find()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.known) < maxAnswers && len(a) <= maxAnswer {
		k.known[q], k.fresh = a, true
	}
	return a
}

// openAnswers reads what is kept. Answers depend on the symbols, and so on the debug file that was found.
func (im *Image) openAnswers() {
	if im.cache == nil || im.cache.Kept == nil || im.file == nil || im.pe != nil {
		return
	}
	program, ok := im.cache.program()
	if !ok {
		return
	}
	im.symTabs() // fetches the debug file if finding the answer would
	debug := im.knownDebug()
	k := &im.answers
	k.key = kept.Key{Kind: kept.KindAnswers, Offset: program}
	if debug != nil {
		if debug.file == nil {
			return
		}
		k.key.Length = fingerprint(debug.file.ID())
	}
	path := im.path
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	k.entry = im.cache.Kept.Entry(kept.Source{File: im.file.ID(), Path: path, BuildID: im.elf.BuildID(), Use: "answers", Packaged: find.InPackages(path)})
	k.known = parseAnswers(k.entry.Whole(k.key))
}

// program identifies this build of the program: another one may know better.
func (c *Cache) program() (uint64, bool) {
	c.programOnce.Do(func() {
		if path, err := os.Executable(); err == nil {
			if id, err := mmapfile.Stat(path); err == nil && id.Ino != 0 && id.CtimeNs != 0 {
				c.programID = fingerprint(id)
			}
		}
	})
	return c.programID, c.programID != 0
}

func fingerprint(id mmapfile.ID) uint64 {
	h := fnv.New64a()
	for _, v := range []uint64{id.Dev, id.Ino, uint64(id.Size), uint64(id.MtimeNs), uint64(id.CtimeNs)} {
		h.Write(binary.LittleEndian.AppendUint64(nil, v))
	}
	return h.Sum64()
}

// keepAnswers writes the answers, if there are new ones.
func (im *Image) keepAnswers() {
	k := &im.answers
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.entry == nil || !k.fresh || !k.entry.Keeps() {
		return
	}
	k.fresh = false
	var data []byte
	le := binary.LittleEndian
	for q, a := range k.known {
		data = le.AppendUint64(le.AppendUint64(le.AppendUint64(le.AppendUint32(data, q.Kind), q.A), q.B), q.C)
		data = append(le.AppendUint32(data, uint32(len(a))), a...)
	}
	_ = k.entry.Replace([]kept.NewPart{{Key: k.key, Size: uint64(len(data)), Data: data}})
}

// parseAnswers reads what keepAnswers has written, as far as it is well-formed. The answers are copies.
func parseAnswers(data []byte) map[Question][]byte {
	known := map[Question][]byte{}
	for c := binbuf.New(data, 0, false); c.Len() > 0 && len(known) < maxAnswers; {
		q := Question{c.U32(), c.U64(), c.U64(), c.U64()}
		a := c.Bytes(int(min(c.U32(), maxAnswer+1)))
		if c.Error != nil || len(a) > maxAnswer {
			break
		}
		known[q] = append([]byte{}, a...)
	}
	return known
}
