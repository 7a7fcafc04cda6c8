package image

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/kept"
	"github.com/corewalk/corewalk/internal/files/mmapfile"
)

// Limits on the answers that are kept of a file.
const (
	maxAnswers = 1 << 12
	maxAnswer  = 4 << 10 // bytes; a longer one is not kept
)

// A Question is what Answer is asked: what it is about, addresses of the file, and all else that the answer depends on.
type Question struct {
	Kind    uint32
	A, B, C uint64
}

func (q Question) compare(o Question) int {
	return cmp.Or(cmp.Compare(q.Kind, o.Kind), cmp.Compare(q.A, o.A), cmp.Compare(q.B, o.B), cmp.Compare(q.C, o.C))
}

// Kinds of questions.
const (
	// AskedKept asks which registers of the set C a function has left as they were: at address B, A being where the
	// function begins, as a code pointer.
	AskedKept uint32 = 1
	// AskedKeptCall is AskedKept for the call that returns to B.
	AskedKeptCall uint32 = 2
	// AskedCalls asks which calls are at address A.
	AskedCalls uint32 = 3
	// askedChain asks whether tail calls lead from the call that returns to A to the function that contains B.
	askedChain uint32 = 4
	// askedChainAt is askedChain for a call of the function that begins at A.
	askedChainAt uint32 = 5
	// askedTarget asks whether it is known which function the call that returns to A calls.
	askedTarget uint32 = 6
	// askedMentions asks whether the text of B bytes with the FNV-1a hash A is among the names of symbols.
	askedMentions uint32 = 7
	// askedUnit and a dwarf.Question's kind ask a unit of the debug information.
	askedUnit uint32 = 1 << 16
)

// answers has what is known of questions about the code of one file.
type answers struct {
	once  sync.Once
	entry *kept.Entry // nil if nothing may be kept
	disk  answerTable // what an earlier run has kept

	key kept.Key

	mu    sync.Mutex          // guards fresh; no other lock is taken inside
	fresh map[Question][]byte // not on disk; nil once it is being written
}

// Answer returns what find returns, or what it returned in an earlier run of the same build of this program. The answer
// must depend on the question, the code, the unwind tables and the symbols of the file alone. It is not to be modified, and
// valid until the file is closed.
func (im *Image) Answer(q Question, find func() []byte) []byte {
	return im.answer(q, find, func([]byte) bool { return true })
}

// DebugAnswer is Answer for what depends on the debug information, too. What find returns as nil is not kept. Nor is anything
// of files whose debug information is damaged or is partly in other files: what is missing there becomes a warning, when it is
// looked for.
func (im *Image) DebugAnswer(q Question, find func() []byte) []byte {
	return im.answer(q, find, func(a []byte) bool { return a != nil && im.sound() && im.knownDebug().sound() })
}

// sound reports whether no other file was looked for, and nothing was found wrong.
func (im *Image) sound() bool {
	if im == nil {
		return true
	}
	im.warnMu.Lock()
	defer im.warnMu.Unlock()
	return len(im.warnings) == 0 && !im.parted
}

func (im *Image) answer(q Question, find func() []byte, keeps func([]byte) bool) []byte {
	k := &im.answers
	k.once.Do(im.openAnswers)
	if k.entry == nil {
		return find()
	}
	if a, ok := k.disk.find(q); ok {
		return a
	}
	k.mu.Lock()
	a, ok := k.fresh[q]
	k.mu.Unlock()
	if ok {
		return a
	}
	a = find()
	if len(a) > maxAnswer || !keeps(a) {
		return a
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fresh != nil && k.disk.n+len(k.fresh) < maxAnswers {
		k.fresh[q] = a
	}
	return a
}

// openAnswers reads what is kept. Answers depend on the symbols, and so on the debug file that was found. Builds of the program,
// such as the two commands of one, have entries of their own: each would throw away the others' answers.
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
	k.entry = im.cache.Kept.Entry(kept.Source{File: im.file.ID(), Path: path, BuildID: im.elf.BuildID(), Use: fmt.Sprintf("answers %x", program), Packaged: find.InPackages(path)})
	k.disk, k.fresh = openAnswerTable(k.entry.WholePart(k.key)), map[Question][]byte{}
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
func (im *Image) keepAnswers(ctx context.Context) {
	k := &im.answers
	if k.entry == nil || !k.entry.Keeps() {
		return
	}
	k.mu.Lock()
	all := k.fresh
	k.fresh = nil
	k.mu.Unlock()
	if len(all) == 0 {
		return
	}
	for i := range k.disk.n {
		if q, at, size := k.disk.row(i); size <= maxAnswer {
			if a, ok := k.disk.bytes(at, size); ok {
				all[q] = a
			}
		}
	}
	data := packAnswers(all)
	_ = k.entry.Replace(ctx, []kept.NewPart{{Key: k.key, Size: uint64(len(data)), Data: data}})
}

// Answers are kept as a table, sorted by question: u32 their number; for each its question (u32, three u64), u32 where the
// answer begins, u32 its length in bytes. The answers follow. A run reads only the blocks that it needs.
const (
	tableTop = 4
	rowSize  = 4 + 3*8 + 4 + 4
)

// packAnswers writes a table of answers.
func packAnswers(all map[Question][]byte) []byte {
	questions := make([]Question, 0, len(all))
	for q := range all {
		questions = append(questions, q)
	}
	slices.SortFunc(questions, Question.compare)
	le := binary.LittleEndian
	data := le.AppendUint32(nil, uint32(len(questions)))
	at := uint32(tableTop + rowSize*len(questions))
	for _, q := range questions {
		data = le.AppendUint64(le.AppendUint64(le.AppendUint64(le.AppendUint32(data, q.Kind), q.A), q.B), q.C)
		size := uint32(len(all[q]))
		data = le.AppendUint32(le.AppendUint32(data, at), size)
		at += size
	}
	for _, q := range questions {
		data = append(data, all[q]...)
	}
	return data
}

// An answerTable is what packAnswers has written. Without a part it is empty.
type answerTable struct {
	part wholePart
	data []byte
	n    int
}

// A wholePart is a kept.Part of which all is kept.
type wholePart interface {
	Data() []byte
	Need(from, end uint64, fill func([]byte, uint64) error) error
}

var errNotKept = errors.New("not kept, or damaged")

func openAnswerTable(p *kept.Part) answerTable {
	if p == nil {
		return answerTable{}
	}
	return newAnswerTable(p)
}

// newAnswerTable reads the number of answers. Nothing is kept of a table that is not well-formed.
func newAnswerTable(p wholePart) answerTable {
	t := answerTable{part: p, data: p.Data()}
	top, ok := t.bytes(0, tableTop)
	if !ok {
		return answerTable{}
	}
	n := binary.LittleEndian.Uint32(top)
	if n > maxAnswers {
		return answerTable{}
	}
	if _, ok := t.bytes(0, tableTop+rowSize*n); !ok {
		return answerTable{}
	}
	t.n = int(n)
	return t
}

// bytes returns a part of the table, if it is there and not damaged.
func (t *answerTable) bytes(at, size uint32) ([]byte, bool) {
	end := uint64(at) + uint64(size)
	if end > uint64(len(t.data)) || t.part.Need(uint64(at), end, func([]byte, uint64) error { return errNotKept }) != nil {
		return nil, false
	}
	return t.data[at:end:end], true
}

// row returns a question, and where its answer is.
func (t *answerTable) row(i int) (q Question, at, size uint32) {
	le, r := binary.LittleEndian, t.data[tableTop+rowSize*i:]
	return Question{le.Uint32(r), le.Uint64(r[4:]), le.Uint64(r[12:]), le.Uint64(r[20:])}, le.Uint32(r[28:]), le.Uint32(r[32:])
}

func (t *answerTable) find(q Question) ([]byte, bool) {
	low, high := 0, t.n
	for low < high {
		mid := (low + high) / 2
		o, at, size := t.row(mid)
		switch c := q.compare(o); {
		case c < 0:
			high = mid
		case c > 0:
			low = mid + 1
		case size > maxAnswer:
			return nil, false
		default:
			return t.bytes(at, size)
		}
	}
	return nil, false
}
