package render

import (
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// Schema identifies the schema of the JSON lines. The number changes only if a key has to be renamed or
// removed.
const Schema = "corewalk-triage/1"

// A dumpLine is the line of a dump.
type dumpLine struct {
	Type      string    `json:"type"` // "dump"
	Schema    string    `json:"schema"`
	Path      string    `json:"path"`
	Identity  string    `json:"identity,omitempty"`
	SHA256    string    `json:"sha256,omitempty"`
	Size      int64     `json:"size"`
	Time      time.Time `json:"time,omitzero"`
	Program   string    `json:"program,omitempty"`
	BuildID   string    `json:"build_id,omitempty"`
	Arch      string    `json:"arch,omitempty"`
	OS        string    `json:"os,omitempty"`
	Kind      string    `json:"kind,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	Where     string    `json:"where,omitempty"`
	Signature string    `json:"signature,omitempty"`
	Strict    string    `json:"strict_signature,omitempty"`
	Weak      bool      `json:"weak,omitempty"`
	Frames    []string  `json:"frames,omitempty"`
	Group     string    `json:"group,omitempty"`
	Trust     string    `json:"trust,omitempty"`
	SeenAgain bool      `json:"seen_before"`
	Error     string    `json:"error,omitempty"`
	ErrorKind string    `json:"error_kind,omitempty"`
}

// A groupLine is the line of a group.
type groupLine struct {
	Type           string          `json:"type"` // "group"
	Schema         string          `json:"schema"`
	Group          string          `json:"group"`
	Signature      string          `json:"signature"`
	Kind           string          `json:"kind,omitempty"`
	Reason         string          `json:"reason"`
	Where          string          `json:"where,omitempty"`
	Weak           bool            `json:"weak,omitempty"`
	Frames         []string        `json:"frames,omitempty"`
	Count          int             `json:"count"`
	Total          int             `json:"total,omitempty"` // in the ledger, if that is more than Count
	Builds         int             `json:"builds"`
	Programs       []string        `json:"programs,omitempty"`
	FirstSeen      time.Time       `json:"first_seen,omitzero"`
	LastSeen       time.Time       `json:"last_seen,omitzero"`
	FirstBuild     string          `json:"first_build,omitempty"`
	New            bool            `json:"new"`
	Representative string          `json:"representative"`
	Similar        []similarLine   `json:"similar"`
	Report         json.RawMessage `json:"report,omitempty"`
}

type similarLine struct {
	Group string  `json:"group"`
	Score float64 `json:"score"`
}

// WriteDump writes the line of a dump.
func WriteDump(w io.Writer, d *ledger.Dump, known bool) error {
	return writeLine(w, dumpLine{Type: "dump", Schema: Schema, Path: d.Path, Identity: d.Identity, SHA256: d.SHA256, Size: d.Size, Time: d.Time,
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
		line := groupLine{Type: "group", Schema: Schema, Group: g.ID, Signature: g.Signature, Kind: g.Kind, Reason: g.Reason, Where: g.Where,
			Weak: g.Weak, Frames: functions(g.Frames), Count: g.Count, Builds: g.Builds, Programs: g.Programs, FirstSeen: g.FirstSeen, LastSeen: g.LastSeen,
			FirstBuild: g.FirstBuild, New: g.New, Representative: g.Representative, Similar: []similarLine{}}
		if n := s.Total[g.ID]; n > g.Count {
			line.Total = n
		}
		for _, x := range g.Similar {
			line.Similar = append(line.Similar, similarLine(x))
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
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
