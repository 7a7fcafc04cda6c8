package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/signature"
	"github.com/corewalk/corewalk/internal/triage/similar"
	"github.com/corewalk/corewalk/report"
)

type groupsIn struct {
	Text  string `json:"text,omitempty" doc:"only groups with this text in their reason, a function or their identifier"`
	Build string `json:"build,omitempty" doc:"only groups with a dump of the build whose build-id begins so"`
	From  int    `json:"from,omitempty" doc:"number of the first group to list, as the answer before says"`
}

// ledger opens the ledger.
func (sv *server) ledger(ctx context.Context) (ledger.Store, error) {
	if sv.Ledger == nil {
		return nil, errors.New("there is no ledger: corewalk triage makes one, and corewalk mcp --db FILE names it")
	}
	return sv.Ledger(ctx)
}

func (sv *server) groups(ctx context.Context, in groupsIn) (*answer, error) {
	db, err := sv.ledger(ctx)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	from := min(max(in.From, 0), maxGroups)
	list, err := db.Groups(ctx, ledger.Query{Text: in.Text, Build: in.Build, Limit: from + page + 1})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return &answer{head: "The ledger has no such group."}, nil
	}
	a := &answer{head: "Groups, largest first:", from: min(from, len(list)), next: "from"}
	for i := range list[a.from:] {
		a.lines = append(a.lines, groupText(&list[a.from+i]))
	}
	if a.more = len(a.lines) > page; a.more {
		a.lines = a.lines[:page]
	}
	return a, nil
}

func groupText(g *ledger.Group) string {
	return fmt.Sprintf("group %s: %d dumps of %d builds, %s to %s: %s; %s", g.ID, g.Count, g.Builds, day(g.FirstSeen), day(g.LastSeen), report.Clean(g.Reason), report.Clean(g.Where))
}

func day(t time.Time) string {
	if t.IsZero() {
		return "?"
	}
	return t.UTC().Format(time.DateOnly)
}

// maxGroups is the number up to which groups are listed.
const maxGroups = 1 << 20

type similarIn struct {
	Dump  int    `json:"dump,omitempty" doc:"number of a dump, from open_dump"`
	Group string `json:"group,omitempty" doc:"instead of a dump: identifier of a group, or how it begins"`
}

// shownDumps is how many dumps of a group are listed.
const shownDumps = 10

func (sv *server) similar(ctx context.Context, in similarIn) (*answer, error) {
	db, err := sv.ledger(ctx)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if in.Group != "" {
		g, dumps, err := db.Group(ctx, in.Group, shownDumps)
		if err != nil {
			return nil, err
		}
		a := &answer{head: "The group, its newest dumps, and groups that are probably the same bug:", lines: []string{groupText(&g)}}
		a.lines = append(a.lines, "functions: "+report.Clean(strings.Join(g.Frames, " < ")))
		for i := range dumps {
			a.lines = append(a.lines, fmt.Sprintf("dump of %s, build %s: %s", day(dumps[i].Time), report.Clean(dumps[i].Build), report.Clean(dumps[i].Path)))
		}
		for _, s := range g.Similar {
			a.lines = append(a.lines, fmt.Sprintf("similar: group %s, %.2f", s.Group, s.Score))
		}
		return a, nil
	}
	d, done, err := sv.use(in.Dump)
	if err != nil {
		return nil, err
	}
	defer done()
	r, err := d.s.Summary(ctx)
	if err != nil {
		return nil, err
	}
	sig := signature.Of(r)
	all, err := db.Groups(ctx, ledger.Query{})
	if err != nil {
		return nil, err
	}
	a := &answer{head: "Groups of the ledger with this crash, and those that are probably the same bug:"}
	var index similar.Index
	at := map[string]*ledger.Group{}
	for i := range all {
		g := &all[i]
		at[g.ID] = g
		if g.Signature == sig.Hash {
			a.lines = append(a.lines, "the same: "+groupText(g))
		} else if !g.Weak && len(g.Frames) >= similar.MinFrames {
			index.Add(g.ID, g.Frames)
		}
	}
	if frames := sig.Stack(); !sig.Weak && len(frames) >= similar.MinFrames {
		for _, m := range index.Query(frames) {
			a.lines = append(a.lines, fmt.Sprintf("similar, %.2f: %s", m.Score, groupText(at[m.Group])))
		}
	}
	if len(a.lines) == 0 {
		a.head = fmt.Sprintf("No group of the ledger's %d is this crash or like it.", len(all))
	}
	return a, nil
}
