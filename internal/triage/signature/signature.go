// Package signature computes a crash's signature from its report: what two dumps of one bug have in common, in
// two levels, with the reason why each frame was kept or dropped.
//
// The first level (Hash) means "the same bug": the class of what happened, the module and the innermost
// significant functions. It does not depend on the compiler, optimisation, linking and load address of the
// program, as far as the debugging information records inlined and tail calls. The second level (Strict) means
// "exactly the same place": the whole stack with source lines.
//
// docs/signatures.md has measurements. The files in rules list the functions that say nothing about a bug. All
// functions are pure and safe for concurrent use.
package signature

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/corewalk/corewalk/report"
)

// Version is the prefix of every hash. Signatures of different versions must not be compared.
const Version = "v11"

// How many of the innermost significant functions the first level takes: for a crash the function in which it
// happened; if a function decided to end the program, its caller too, because many may call such a function.
// docs/signatures.md has the figures for other numbers.
const (
	topFrames   = 1
	topQuitting = 2
)

// A Signature identifies a crash.
type Signature struct {
	Version string // Version
	// Kind is what happened: a report.Crash constant or, for reports without one, the reason with its numbers
	// masked. A failed assertion's condition and other messages of the program follow a colon, masked too.
	Kind string
	// Class is the part of Kind that the first level takes. Kinds that one bug may show in turn have the same
	// class.
	Class string
	// Via is the function by which the program ended itself, if there is one: "abort",
	// "core::option::unwrap_failed". It replaces a class that only says that the program ended itself.
	Via string
	// Quit says that the innermost function decided to end the program, so that the first level has its caller
	// too.
	Quit bool
	// Module is the file of the innermost significant function, without directory and version numbers.
	Module string
	// Frames are the significant functions, innermost first, with recursion collapsed and names normalised. The
	// first Top of them belong to the first level.
	Frames []string
	Top    int
	// Cycle says that Frames are those where the tasks of a deadlock wait, in the order of their names.
	Cycle bool
	// Weak says that too few functions have names: Frames are places in modules, and the signature is valid for
	// one build only.
	Weak   bool
	Hash   string // the first level: Version, ":" and 16 hexadecimal digits
	Strict string // the second level, in the same form
	// Decisions has an entry for each frame of the crashing thread.
	Decisions []Decision
}

// The values of Decision.Action.
const (
	Kept      = "kept"      // in Frames
	Cut       = "cut"       // inside the abort machinery
	Dropped   = "dropped"   // says nothing about the bug
	Collapsed = "collapsed" // another round of a recursion
)

// GivenNull is why the function that failed is dropped. People are told of it all the same.
const GivenNull = "given null, which is its caller's mistake"

// Why else a frame that failed is dropped.
const (
	givenAddress = "given a bad address by Python, which is its caller's mistake"
	handedOn     = "handed on what its caller gave it"
	badNumber    = "refused a number that its caller gave it, for what has no such element"
	soughtPast   = "a search that did not find what its caller uses"
)

// A Decision says what happened to one frame, and why.
type Decision struct {
	Frame  int    // index in report.Thread.Frames
	Name   string // normalised; a place in a module if there is no name
	Action string // Kept, Cut, Dropped or Collapsed
	Why    string // "the C library"
	First  bool   // it belongs to the first level
}

// Of returns the signature of a report: of the thread that crashed or, if none did, of the first thread; if that waits for the end of another, of that
// one. For a report without threads it is made from the kind alone.
func Of(r *report.Report) Signature { return of(r, new(Cache)) }

func of(r *report.Report, c *Cache) Signature {
	s := Signature{Version: Version}
	b := builder{report: r, sig: &s}
	s.Kind, s.Class, b.said = kindOf(r.Crash)
	th := crashed(r)
	if s.Class == report.CrashSignal && waits(r, th) && waits(r, meant(r, th)) { // one that waits for the end of another is told by what that does
		s.Class = report.CrashHang // whether another thread may still end the wait is chance
	}
	if what := madeElsewhere(r.Crash, th); what != "" {
		b.elsewhere = report.Clean(baseName(r.Crash.MadeElsewhere(th).File))
		s.Kind, s.Class, b.said = s.Kind+": "+what, s.Class+": "+what, true
	}
	if d := r.Hang(); d != nil && itself(r, d) == nil {
		b.cycle(d, th, c)
	} else if th != nil {
		if d != nil {
			// Whether memory says who holds a lock depends on the kind of lock. With it or without, this thread waits for it.
			s.Class = report.CrashHang
			if r.Crash == nil {
				s.Kind = report.CrashDeadlock
			}
		}
		b.thread = meant(r, th)
		b.known = c.meanings(b.thread.Frames)
		instead := "it waits for the end of another thread"
		if killer(r, th) != nil {
			instead = "another thread, for which it waits, sent the signal"
		}
		if d != nil {
			instead = "another thread waits for itself"
		}
		if g := b.mainGoroutine(); g != nil {
			b.thread, b.known, instead = g, c.meanings(g.Frames), "it ran no goroutine"
		}
		b.build()
		if b.thread != th {
			b.waits(th, c, instead)
		}
	} else {
		s.Weak = true
		b.first, b.strict = []string{b.alone()}, []string{b.alone()}
	}
	s.Hash = hash(append([]string{s.Class, s.Module}, b.first...))
	s.Strict = hash(append([]string{s.Kind, s.Module}, b.strict...))
	return s
}

// String returns the signature for people, on one line: the kind and the functions of the first level.
func (s *Signature) String() string {
	top := s.Frames[:min(s.Top, len(s.Frames))]
	if len(top) == 0 {
		return s.Kind
	}
	return s.Kind + " in " + strings.Join(top, s.Between())
}

// Between is what stands between two functions in texts.
func (s *Signature) Between() string {
	if s.Cycle {
		return " and "
	}
	return " < "
}

func crashed(r *report.Report) *report.Thread {
	for i := range r.Threads {
		if r.Threads[i].Crashed {
			return &r.Threads[i]
		}
	}
	if r.Crash != nil {
		for i := range r.Threads {
			if r.Threads[i].ID == r.Crash.Thread {
				return &r.Threads[i]
			}
		}
	}
	if len(r.Threads) == 0 {
		return nil
	}
	return &r.Threads[0]
}

// hash returns a short stable identifier. It hashes the length of each part too, so that no part can pass for
// two.
func hash(parts []string) string {
	b := make([]byte, 0, 1024)
	for _, p := range parts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
		b = append(b, p...)
	}
	sum := sha256.Sum256(b)
	return Version + ":" + hex.EncodeToString(sum[:8])
}

// Stack returns what similarity to other groups is measured by: what happened, marked so that it equals no
// function's name, then the significant functions, innermost first. A function that decided to end the program
// is a part of what happened, together with its caller: another caller means another reason.
func (s *Signature) Stack() []string {
	what := "(" + s.Class + " in " + s.Module
	if s.Quit {
		what += " " + strings.Join(s.Frames[:min(s.Top, len(s.Frames))], " < ")
	}
	return append([]string{what + ")"}, s.Frames...)
}
