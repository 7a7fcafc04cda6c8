// Package ledger keeps what was found out about dumps: which were seen, which group
// of one bug each belongs to, and when and how often each group came up.
//
// Store is the interface that triage works against; DB is the one that is here, an
// embedded SQLite database. Another store, for many machines, can take its place.
package ledger

import (
	"context"
	"errors"
	"time"
)

// ErrNotFound says that the store has no such dump, group or run.
var ErrNotFound = errors.New("not in the ledger")

// A Dump is one dump that was looked at. What is not known is empty.
type Dump struct {
	Path string // where it was found last
	// Identity tells dumps apart whatever they are called: "sha256:" and the digest of
	// the whole content, or "parts:" and that of what tells large ones apart.
	Identity string
	SHA256   string // of the content; of large ones empty
	Size     int64  // bytes
	Time     time.Time
	SeenAt   time.Time // when it was analysed

	Program string // short name
	Build   string // build-id, or code id, of the program
	Arch    string // "x86-64"
	OS      string // "linux"

	Reason string // in words: "null read +0x8"
	Kind   string // one of the kinds of report.Crash
	Where  string // the innermost significant frames: "visit queue.c:15 < serve < main"
	Trust  string // of the least trusted frame that the signature has

	Signature string   // the first level, of a version: "v1:0123456789abcdef"
	Strict    string   // the second level
	Weak      bool     // the signature is of one build only
	Frames    []string // what happened, in parentheses, and the significant functions, innermost first
	Group     string   // identifier of its group

	// Fault says why there is no signature, and FaultKind which sort of reason it is;
	// both are empty for a dump that was analysed.
	Fault     string
	FaultKind string
	// Report is the report as JSON of the crashing thread, for the group's
	// representative; nil where it is not kept.
	Report []byte
}

// The values of Dump.FaultKind.
const (
	FaultUnreadable = "unreadable" // no dump, or one that cannot be walked
	FaultCrashed    = "crashed"    // the analysis of it died
	FaultTimeout    = "timeout"    // it took longer than the deadline
	FaultMemory     = "memory"     // it took more memory than the budget
)

// A Group is the dumps of one signature.
type Group struct {
	ID        string // stable: made of the signature
	Signature string
	Kind      string
	Reason    string // of the representative
	Where     string
	Weak      bool
	Frames    []string
	Count     int // dumps
	Builds    int // different builds among them
	Programs  []string
	FirstSeen time.Time // times of dumps
	LastSeen  time.Time
	// FirstBuild is the build of the oldest dump.
	FirstBuild     string
	Representative string    // Path of the dump that stands for the group
	Report         []byte    // of the representative, JSON; nil where it is not kept
	Similar        []Similar // groups that are probably the same bug, the likeliest first
	New            bool      // the group was not there before the run that is asked about
}

// A Similar links a group to another one.
type Similar struct {
	Group string
	Score float64 // 0 to 1
}

// A Query says which groups are wanted. The zero Query wants all.
type Query struct {
	Since    time.Time // groups first seen then or later; of dumps' times
	SinceRun int64     // groups that came up first in a later run; 0 for all
	Run      int64     // groups with a dump of this run; 0 for all
	Build    string    // groups with a dump of this build
	Program  string
	Kind     string
	Text     string // part of the reason, a function or the group's identifier
	Limit    int    // 0 for no limit
	Reports  bool   // with Group.Report
}

// A Run is one run of triage.
type Run struct {
	ID       int64
	Started  time.Time
	Ended    time.Time // zero for one that was ended by force
	Args     string
	Analysed int // dumps analysed
	Known    int // dumps seen before
	Failed   int // dumps with a Fault
	Groups   int // groups that its dumps belong to
	New      int // groups that came up first in it
}

// A Store keeps dumps and groups. It may be used by several goroutines. Errors name
// the store.
type Store interface {
	// Begin starts a run; what is added belongs to it.
	Begin(ctx context.Context, args string) (Run, error)
	// Known answers what is known of a dump, by its identity; ErrNotFound where
	// nothing is, or what is known was found out by an older version of signatures.
	Known(ctx context.Context, identity string) (Dump, error)
	// Add keeps dumps, in one step: either all are kept, for good, or none. A dump that
	// is known already is counted once, whatever it is called.
	Add(ctx context.Context, run int64, dumps []Dump) error
	// Link makes groups probably the same as another one, in place of what it was
	// linked to before.
	Link(ctx context.Context, group string, similar []Similar) error
	// Finish ends a run.
	Finish(ctx context.Context, run int64) (Run, error)

	// Groups lists groups, the largest first.
	Groups(ctx context.Context, q Query) ([]Group, error)
	// Group answers one group with its dumps, the newest first, at most limit of them;
	// 0 for all. id may be the beginning of one.
	Group(ctx context.Context, id string, limit int) (Group, []Dump, error)
	// RunGroups lists the groups that the dumps of a run belong to, with the counts of
	// that run.
	RunGroups(ctx context.Context, run int64) ([]Group, error)
	// RunDumps lists the dumps of a run; only those with a Fault where failed is set.
	RunDumps(ctx context.Context, run int64, failed bool) ([]Dump, error)
	// Runs lists the runs, the newest first, at most limit of them; 0 for all.
	Runs(ctx context.Context, limit int) ([]Run, error)
	Close() error
}
