package render

import (
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/report"
)

// WriteSARIF writes the groups as a SARIF 2.1.0 log (OASIS, "Static Analysis Results Interchange Format"): a
// result for each group, a rule for each kind of crash. The signature is the fingerprint by which a continuous
// integration system recognises a group. The error is w's.
func WriteSARIF(w io.Writer, s *Summary, version string) error {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "corewalk", Version: version, Rules: []sarifRule{}}
	rules := map[string]int{}
	for i := range s.Groups {
		g := &s.Groups[i]
		kind := g.Kind
		if kind == "" {
			kind = "unknown"
		}
		at, ok := rules[kind]
		if !ok {
			at = len(run.Tool.Driver.Rules)
			rules[kind] = at
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{ID: kind, Short: sarifText{"Crash: " + strings.ReplaceAll(kind, "-", " ")}})
		}
		run.Results = append(run.Results, result(g, kind, at))
	}
	for i := range s.Failed {
		d := &s.Failed[i]
		run.Invocations = invocation(run.Invocations, d)
	}
	b, err := report.JSON(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}, "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// maxSARIFFrames limits a stack: a stack overflow has tens of thousands of frames.
const maxSARIFFrames = 100

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	Invocations []sarifInvocation `json:"invocations,omitempty"`
	Results     []sarifResult     `json:"results"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID    string    `json:"id"`
	Short sarifText `json:"shortDescription"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	Notifications []sarifNotification `json:"toolExecutionNotifications"`
}

type sarifNotification struct {
	Level   string    `json:"level"`
	Message sarifText `json:"message"`
}

type sarifResult struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Baseline     string            `json:"baselineState"`
	Occurrences  int               `json:"occurrenceCount"`
	Message      sarifText         `json:"message"`
	Locations    []sarifLocation   `json:"locations,omitempty"`
	Stacks       []sarifStack      `json:"stacks,omitempty"`
	Fingerprints map[string]string `json:"fingerprints"`
	Properties   map[string]any    `json:"properties"`
}

type sarifLocation struct {
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	Message  *sarifText     `json:"message,omitempty"`
}

type sarifPhysical struct {
	Artifact struct {
		URI string `json:"uri"`
	} `json:"artifactLocation"`
	Region *sarifRegion `json:"region,omitempty"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
}

type sarifLogical struct {
	FullyQualified string `json:"fullyQualifiedName"`
	Kind           string `json:"kind"`
}

type sarifStack struct {
	Message sarifText    `json:"message"`
	Frames  []sarifFrame `json:"frames"`
}

type sarifFrame struct {
	Location sarifLocation `json:"location"`
	Module   string        `json:"module,omitempty"`
}

func invocation(list []sarifInvocation, d *ledger.Dump) []sarifInvocation {
	if len(list) == 0 {
		list = append(list, sarifInvocation{Successful: true})
	}
	list[0].Notifications = append(list[0].Notifications, sarifNotification{"warning", sarifText{report.Clean(d.Path + ": " + d.Fault)}})
	return list
}

func result(g *ledger.Group, kind string, rule int) sarifResult {
	r := sarifResult{RuleID: kind, RuleIndex: rule, Level: "error", Baseline: "unchanged", Occurrences: g.Count,
		Message:      sarifText{report.Clean(g.Reason + " in " + g.Where)},
		Fingerprints: map[string]string{"corewalkSignature/" + version(g.Signature): g.Signature},
		Properties:   map[string]any{"group": g.ID, "representative": g.Representative, "builds": g.Builds, "weak": g.Weak}}
	if b := report.ExactBytes(g.Representative); b != "" {
		r.Properties["representative_bytes"] = b
	}
	if g.New {
		r.Baseline = "new"
	}
	frames, look := representativeFrames(g.Report)
	if look != nil {
		r.Locations = []sarifLocation{location(look)}
	}
	if len(frames) > 0 {
		stack := sarifStack{Message: sarifText{"stack of the crashing thread"}}
		if n := len(frames); n > maxSARIFFrames {
			stack.Message.Text = fmt.Sprintf("the innermost %d of %d frames of the crashing thread", maxSARIFFrames, n)
			frames = frames[:maxSARIFFrames]
		}
		for i := range frames {
			stack.Frames = append(stack.Frames, sarifFrame{location(&frames[i]), frames[i].Module})
		}
		r.Stacks = []sarifStack{stack}
	}
	return r
}

func version(signature string) string {
	v, _, _ := strings.Cut(signature, ":")
	return v
}

func location(f *report.Frame) sarifLocation {
	var l sarifLocation
	if f.Source.File != "" {
		p := &sarifPhysical{}
		p.Artifact.URI = fileURI(f.Source.File)
		if f.Source.Line > 0 {
			p.Region = &sarifRegion{f.Source.Line, f.Source.Column}
		}
		l.Physical = p
	}
	if f.Function != "" {
		l.Logical = []sarifLogical{{report.Clean(f.Function), "function"}}
	} else {
		l.Message = &sarifText{report.Clean(f.Module)}
	}
	return l
}

// fileURI returns a file reference, which is absolute if the path is.
func fileURI(path string) string {
	slashed := filepath.ToSlash(path)
	u := url.URL{Path: slashed}
	if strings.HasPrefix(slashed, "/") {
		u.Scheme = "file"
	}
	return u.String()
}

// representativeFrames returns the frames of a group's report, and the frame to look at first. If that has no place in the source, look is
// its nearest caller in the same module that has one: what is further out, or further in, is the system's. look is nil for a stack without places of which
// no frame is known to be the one.
func representativeFrames(data []byte) (frames []report.Frame, look *report.Frame) {
	if len(data) == 0 {
		return nil, nil
	}
	r, err := report.ParseJSON(data)
	if err != nil || len(r.Threads) == 0 {
		return nil, nil
	}
	frames = r.Threads[0].Frames
	from, known := 0, false
	if c := r.Crash; c != nil && c.Frame != nil && *c.Frame >= 0 && *c.Frame < len(frames) {
		from, known = *c.Frame, true
		look = &frames[from]
	}
	for i := from; i < len(frames); i++ {
		if frames[i].Source.File != "" && (!known || frames[i].Module == look.Module) {
			return frames, &frames[i]
		}
	}
	return frames, look
}
