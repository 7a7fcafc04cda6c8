package render

import (
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/report"
)

// Schema identifies the schema of the JSON lines. The number changes only if a key has to be renamed or
// removed.
const Schema = "corewalk-triage/1"

// A DumpLine is the line of a dump. It is printed as soon as the dump is in the ledger.
type DumpLine struct {
	Type   string `json:"type"`   // tells lines apart
	Schema string `json:"schema"` // the constant Schema
	Path   string `json:"path"`   // absolute
	// PathBytes is the path's exact bytes in base64, if they are not UTF-8.
	PathBytes string `json:"path_bytes,omitempty"`
	// Identity identifies the dump whatever its name: "sha256:" and the digest of the content or, for large
	// dumps, "parts:" and the digest of the parts that identify them. SHA256 is the digest of the whole content,
	// for dumps up to 16 MiB.
	Identity string    `json:"identity,omitempty"`
	SHA256   string    `json:"sha256,omitempty"`
	Size     int64     `json:"size"`               // bytes
	Time     time.Time `json:"time,omitzero"`      // when the process was dumped, or the file's time
	Program  string    `json:"program,omitempty"`  // short name
	BuildID  string    `json:"build_id,omitempty"` // build-id of the program, or Go's build id, or its code or debug identifier
	Arch     string    `json:"arch,omitempty"`     // "x86-64"
	OS       string    `json:"os,omitempty"`       // "linux"
	Kind     string    `json:"kind,omitempty"`     // crash.kind of the report
	Reason   string    `json:"reason,omitempty"`   // in a few words: "null read +0x8"
	// Where is the innermost functions that count: "visit queue.c:15 < serve < main"; before them the one that failed with a null that it was given, which
	// does not count; in parentheses why there are none.
	Where string `json:"where,omitempty"`
	// Signature is what the dumps of a group have in common, with its version; Strict, the second level,
	// distinguishes more.
	Signature string   `json:"signature,omitempty"`
	Strict    string   `json:"strict_signature,omitempty"`
	Weak      bool     `json:"weak,omitempty"`   // the signature is valid for one build only
	Frames    []string `json:"frames,omitempty"` // the functions that count, innermost first
	Group     string   `json:"group,omitempty"`  // the dump's group
	// Trust says how the least certain frame of the signature was found.
	Trust     string `json:"trust,omitempty"`
	SeenAgain bool   `json:"seen_before"`          // it was in the ledger already
	Error     string `json:"error,omitempty"`      // why there is no signature
	ErrorKind string `json:"error_kind,omitempty"` // the kind of failure
}

// A GroupLine is the line of a group: of the dumps of one bug. The groups follow the dumps.
type GroupLine struct {
	Type      string `json:"type"`      // tells lines apart
	Schema    string `json:"schema"`    // the constant Schema
	Group     string `json:"group"`     // identifies the group, in every run
	Signature string `json:"signature"` // of its dumps
	// Kind, Reason, Where, Weak and Frames are those of the dump that stands for the group.
	Kind           string    `json:"kind,omitempty"`
	Reason         string    `json:"reason"`
	Where          string    `json:"where,omitempty"`
	Weak           bool      `json:"weak,omitempty"`
	Frames         []string  `json:"frames,omitempty"`
	Count          int       `json:"count"`                 // dumps in this run; from list, show and export: in the ledger
	Total          int       `json:"total,omitempty"`       // dumps in the ledger, if that is more than Count
	Builds         int       `json:"builds"`                // number of different builds
	Programs       []string  `json:"programs,omitempty"`    // names
	FirstSeen      time.Time `json:"first_seen,omitzero"`   // time of the oldest dump
	LastSeen       time.Time `json:"last_seen,omitzero"`    // time of the newest dump
	FirstBuild     string    `json:"first_build,omitempty"` // build of the oldest dump
	New            bool      `json:"new"`                   // first seen in this run
	Representative string    `json:"representative"`        // path of the dump that stands for the group
	// RepresentativeBytes is that path's exact bytes in base64, if they are not UTF-8.
	RepresentativeBytes string        `json:"representative_bytes,omitempty"`
	Similar             []SimilarLine `json:"similar"` // groups that are probably the same bug
	// Report is the report of the dump that stands for the group as corewalk --format json prints it, with the
	// crashing thread only; from show and export.
	Report json.RawMessage `json:"report,omitempty"`
}

// A SimilarLine is a group that is probably the same bug as another.
type SimilarLine struct {
	Group string  `json:"group"` // its identifier
	Score float64 `json:"score"` // how similar, from 0 to 1
}

// WriteDump writes the line of a dump.
func WriteDump(w io.Writer, d *ledger.Dump, known bool) error {
	return writeLine(w, DumpLine{Type: "dump", Schema: Schema, Path: d.Path, PathBytes: report.ExactBytes(d.Path), Identity: d.Identity, SHA256: d.SHA256, Size: d.Size, Time: d.Time,
		Program: d.Program, BuildID: d.Build, Arch: d.Arch, OS: d.OS, Kind: d.Kind, Reason: d.Reason, Where: d.Where,
		Signature: d.Signature, Strict: d.Strict, Weak: d.Weak, Frames: functions(d.Frames), Group: d.Group, Trust: d.Trust,
		SeenAgain: known, Error: d.Fault, ErrorKind: d.FaultKind})
}

// functions drops the leading entry that says what happened, leaving the functions.
func functions(stack []string) []string {
	if len(stack) > 0 && strings.HasPrefix(stack[0], "(") {
		return stack[1:]
	}
	return stack
}

// WriteGroups writes a line for each group of a summary. With reports each line includes the group's report.
func WriteGroups(w io.Writer, s *Summary, reports bool) error {
	for i := range s.Groups {
		g := &s.Groups[i]
		line := GroupLine{Type: "group", Schema: Schema, Group: g.ID, Signature: g.Signature, Kind: g.Kind, Reason: g.Reason, Where: g.Where,
			Weak: g.Weak, Frames: functions(g.Frames), Count: g.Count, Builds: g.Builds, Programs: g.Programs, FirstSeen: g.FirstSeen, LastSeen: g.LastSeen,
			FirstBuild: g.FirstBuild, New: g.New, Representative: g.Representative, RepresentativeBytes: report.ExactBytes(g.Representative), Similar: []SimilarLine{}}
		if n := s.Total[g.ID]; n > g.Count {
			line.Total = n
		}
		for _, x := range g.Similar {
			line.Similar = append(line.Similar, SimilarLine(x))
		}
		if reports && json.Valid(g.Report) {
			line.Report = g.Report
		}
		if err := writeLine(w, line); err != nil {
			return err
		}
	}
	return nil
}

// writeLine writes v as one line.
func writeLine(w io.Writer, v any) error {
	b, err := report.JSON(v, "")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
