// Package ledger stores what triage found out about dumps: which dumps were seen, which group each belongs to,
// and when and how often each group occurred.
//
// Store is the interface that triage uses; package sqlite implements it as an embedded database, package postgres in a database that
// many machines share.
package ledger

import (
	"context"
	"errors"
	"time"
)

// ErrNotFound is wrapped by the errors for a dump, group or run that the store does not have.
var ErrNotFound = errors.New("not in the ledger")

// ErrAmbiguous is wrapped by the errors for the start of an identifier that several groups have.
var ErrAmbiguous = errors.New("is ambiguous")

// A Dump is the result for one dump. Unknown fields are empty.
type Dump struct {
	Path string // where it was found last
	// Identity identifies a dump whatever its name: "sha256:" and the digest of the whole content or, for large
	// dumps, "parts:" and the digest of the parts that identify them.
	Identity string
	SHA256   string // of the content; empty for large dumps
	Size     int64  // bytes
	Time     time.Time
	SeenAt   time.Time // when it was analysed

	Program string // short name
	Build   string // build-id, or code id, of the program
	Arch    string // "x86-64"
	OS      string // "linux"

	Reason string // in a few words: "null read +0x8"
	Kind   string // one of the kinds of report.Crash
	Where  string // the innermost significant frames, and the one that failed: "visit queue.c:15 < serve < main"
	Trust  string // trust of the least certain frame in the signature

	Signature string   // the first level, with its version: "v1:0123456789abcdef"
	Strict    string   // the second level
	Weak      bool     // the signature is valid for one build only
	Files     string   // which files were looked for in the analysis, in words that only equal others: with other ones a weak signature may become better
	Frames    []string // what happened, in parentheses, then the significant functions, innermost first
	Group     string   // identifier of its group

	// Attributes are what else is known of a dump by which it may be searched: pairs of a name and a value. A Store does not keep them.
	Attributes [][2]string
	// Needed is how many frames of the crashed stack are in a module whose file was not found, by the file's path in the attribute "lacks". A Store does not keep it.
	Needed map[string]int
	// Client identifies the installation that made the dump, as Crashpad says it. A Store does not keep it.
	Client string

	// Fault says why there is no signature, and FaultKind is the kind of failure; both are empty for a dump
	// that was analysed.
	Fault     string
	FaultKind string
	// Report is the JSON report of the crashing thread, for the representative of a group; nil if it is not
	// kept.
	Report []byte
}

// The values of Dump.FaultKind and DumpLine.ErrorKind.
const (
	FaultUnreadable = "unreadable" // not a dump, or one that cannot be walked
	FaultCrashed    = "crashed"    // the analysis crashed
	FaultTimeout    = "timeout"    // the analysis exceeded its deadline
	FaultMemory     = "memory"     // the analysis exceeded its memory limit
)

// A Group is the dumps with one signature.
type Group struct {
	ID        string // stable: derived from the signature
	Signature string
	Kind      string
	Reason    string // of the representative
	Where     string
	Weak      bool
	Frames    []string
	Count     int // dumps
	Builds    int // different builds among the dumps
	Programs  []string
	FirstSeen time.Time // earliest and latest time of the dumps
	LastSeen  time.Time
	// FirstBuild is the build of the oldest dump.
	FirstBuild     string
	Representative string    // Path of the dump that represents the group
	Report         []byte    // of the representative, JSON; nil if it is not kept
	Similar        []Similar // groups that are probably the same bug, most similar first
	New            bool      // the group did not exist before the run in question
}

// A Similar is a link to a similar group.
type Similar struct {
	Group string
	Score float64 // from 0 to 1
}

// A Query selects groups. The zero Query selects all.
type Query struct {
	Since    time.Time // groups first seen at this time or later, by the times of dumps
	SinceRun int64     // groups that first appeared in a later run; 0 for all
	Run      int64     // groups with a dump of this run; 0 for all
	Build    string    // groups with a dump of this build
	Program  string
	Kind     string
	Text     string // a part of the reason, of a function, or the start of the group's identifier
	Limit    int    // 0 for no limit
	Reports  bool   // fill in Group.Report
}

// A Run is one run of triage.
type Run struct {
	ID       int64
	Started  time.Time
	Ended    time.Time // zero if it was killed
	Args     string
	Analysed int // dumps analysed
	Known    int // dumps seen before
	Failed   int // dumps with a Fault
	Groups   int // groups that its dumps belong to
	New      int // groups that first appeared in it
}

// A Store stores dumps and groups. It is safe for concurrent use. Errors name the store.
type Store interface {
	// Begin starts a run.
	Begin(ctx context.Context, args string) (Run, error)
	// Known returns the result for a dump, by its identity. The error is ErrNotFound if there is none, or if it
	// has an older signature version.
	Known(ctx context.Context, identity string) (Dump, error)
	// Add stores the results of dumps for a run in one transaction: all or none. A dump that is already known
	// counts once, whatever its path.
	Add(ctx context.Context, run int64, dumps []Dump) error
	// Link sets the groups that a group is probably the same as, and replaces earlier links.
	Link(ctx context.Context, group string, similar []Similar) error
	// Finish ends a run.
	Finish(ctx context.Context, run int64) (Run, error)

	// Groups lists groups, largest first.
	Groups(ctx context.Context, q Query) ([]Group, error)
	// Group returns one group and its newest dumps, at most limit; 0 for all. id may be a prefix of the
	// identifier.
	Group(ctx context.Context, id string, limit int) (Group, []Dump, error)
	// RunGroups lists the groups of a run's dumps, with counts for that run.
	RunGroups(ctx context.Context, run int64) ([]Group, error)
	// RunDumps lists the dumps of a run; with failed only those with a Fault.
	RunDumps(ctx context.Context, run int64, failed bool) ([]Dump, error)
	// Runs lists the runs, newest first, at most limit; 0 for all.
	Runs(ctx context.Context, limit int) ([]Run, error)
	Close() error
}
