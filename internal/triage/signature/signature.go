// Package signature makes a crash's signature from its report: what two dumps of
// one bug have in common, in two levels, with the reason for every frame taken or
// left.
//
// The first level (Hash) is for "the same bug": the class of what happened, the
// module and the innermost functions that say something. It is the same whatever
// compiler, optimisation, linking and load address the program had, as far as the
// debugging information tells inlined and tail calls. The second level (Strict) is
// for "the same place exactly": the whole stack with source lines.
//
// docs/signatures.md says how well that works, measured. The lists of functions
// that say nothing are the files in rules. All functions are pure and may be used
// by several goroutines.
package signature

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/corewalk/corewalk/report"
)

// Version is in front of every hash: signatures of different versions are not to
// be compared.
const Version = "v1"

// How many of the innermost significant functions the first level takes: of a crash
// the one it happened in, and where a function decided to end the program its caller
// too, for it may be one that many call to do so. docs/signatures.md has the figures
// for other numbers.
const (
	topFrames   = 1
	topQuitting = 2
)

// A Signature is what a crash is known by.
type Signature struct {
	Version string // Version
	// Kind is what happened: a report.Crash constant or, in reports without one, the
	// reason with its numbers masked; a failed assertion's condition and other
	// messages of the program follow a colon, masked too.
	Kind string
	// Class is what the first level takes of Kind: the same for kinds that one bug
	// may show by turns.
	Class string
	// Via is the function by which the program's code came to die, where there is one:
	// "abort", "core::option::unwrap_failed". It stands for the class of what says no
	// more than that the program ended itself.
	Via string
	// Quit says that the innermost function decided to end the program, and the first
	// level has its caller too.
	Quit bool
	// Module is the file that the innermost significant function is in, without
	// directories and version numbers.
	Module string
	// Frames are the significant functions, innermost first, with recursion
	// collapsed and names normalised. The first Top of them belong to the first
	// level.
	Frames []string
	Top    int
	// Weak says that too few functions have names: Frames are places in modules, and
	// the signature is of one build only.
	Weak   bool
	Hash   string // the first level: Version, ":" and 16 hexadecimal digits
	Strict string // the second level, in the same form
	// Decisions has an entry for each frame of the crashing thread.
	Decisions []Decision
}

// The values of Decision.Action.
const (
	Kept      = "kept"      // in Frames
	Cut       = "cut"       // inside the machinery of dying
	Dropped   = "dropped"   // says nothing about the bug
	Collapsed = "collapsed" // a further round of a recursion
)

// A Decision is what became of one frame, for people who wonder.
type Decision struct {
	Frame  int    // index in report.Thread.Frames
	Name   string // normalised; a place in a module where there is no name
	Action string // Kept, Cut, Dropped or Collapsed
	Why    string // "the C library"
	First  bool   // the first level has it
}

// Of makes the signature of a report: that of the thread that crashed, or of the
// first one where none did. Kinds of reports without threads are all they have.
func Of(r *report.Report) Signature { return of(r, new(Cache)) }

func of(r *report.Report, c *Cache) Signature {
	s := Signature{Version: Version}
	b := builder{report: r, sig: &s}
	s.Kind, s.Class, b.said = kindOf(r.Crash)
	th := crashed(r)
	if th != nil {
		b.thread, b.known = th, c.meanings(th.Frames)
		b.build()
	} else {
		s.Weak = true
		b.first, b.strict = []string{b.alone()}, []string{b.alone()}
	}
	s.Hash = hash(append([]string{s.Class, s.Module}, b.first...))
	s.Strict = hash(append([]string{s.Kind, s.Module}, b.strict...))
	return s
}

// String is the signature for people, on one line: the kind and the functions of
// the first level.
func (s *Signature) String() string {
	top := s.Frames[:min(s.Top, len(s.Frames))]
	if len(top) == 0 {
		return s.Kind
	}
	return s.Kind + " in " + strings.Join(top, " < ")
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

// hash is a short stable identifier. The length of each part is hashed too, so
// that no part can pass for two.
func hash(parts []string) string {
	b := make([]byte, 0, 1024)
	for _, p := range parts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
		b = append(b, p...)
	}
	sum := sha256.Sum256(b)
	return Version + ":" + hex.EncodeToString(sum[:8])
}

// Stack is what nearness to other groups is measured by: the significant functions,
// innermost first, and what happened before them, marked as no function's name can be.
// Where a function decided to end the program it is part of what happened, with its
// caller: another caller's reason is another one.
func (s *Signature) Stack() []string {
	what := "(" + s.Class
	if s.Quit {
		what += " " + strings.Join(s.Frames[:min(s.Top, len(s.Frames))], " < ")
	}
	return append([]string{what + ")"}, s.Frames...)
}
