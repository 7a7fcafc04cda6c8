package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk/internal/reportpage"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/render"
	"github.com/corewalk/corewalk/report"
)

// queryFlags say which groups of the ledger to show.
type queryFlags struct {
	ledgerFlags
	since, build, program, kind, text string
	limit                             int
	format                            string
	all                               bool
	query                             ledger.Query
}

func (f *queryFlags) set(name string) *pflag.FlagSet {
	fs := pflag.NewFlagSet("corewalk triage "+name, pflag.ContinueOnError)
	f.register(fs)
	fs.StringVar(&f.format, "format", formatText, "print `FORMAT`: text, json, sarif or html")
	choose(fs, "format", formatText, formatJSON, formatSARIF, formatHTML)
	fs.StringVar(&f.since, "since", "", "only groups first seen since `WHEN`: a date (2026-11-01), a time, or how long ago (36h)")
	fs.StringVar(&f.build, "build", "", "only groups with a dump of the build whose build-id begins with `ID`")
	fs.StringVar(&f.program, "program", "", "only groups with a dump of the program `NAME`")
	fs.StringVar(&f.kind, "kind", "", "only groups of the `KIND` of crash")
	fs.StringVar(&f.text, "grep", "", "only groups with `TEXT` in reason, functions or identifier")
	fs.IntVar(&f.limit, "limit", 0, "at most `N` groups, or dumps of one (default: all)")
	if name == "diff" {
		fs.BoolVar(&f.all, "all", false, "list in text also the groups that have as many dumps in both runs")
	}
	return fs
}

// take parses a command line.
func (f *queryFlags) take(name string, args []string, most int, e env) (operands []string, status int, ok bool) {
	fs := f.set(name)
	if status, ok := parse(fs, args, triageUsage, e); !ok {
		return nil, status, false
	}
	err := f.check()
	if err == nil && fs.NArg() > most {
		err = fmt.Errorf("unexpected argument %q", fs.Arg(most))
	}
	if err != nil {
		return nil, e.usageError("%v", err), false
	}
	return fs.Args(), 0, true
}

func (f *queryFlags) check() error {
	switch f.format {
	case formatText, formatJSON, formatSARIF, formatHTML:
	default:
		return fmt.Errorf("--format %s: must be text, json, sarif or html", f.format)
	}
	if f.limit < 0 {
		return errors.New("--limit is a positive number")
	}
	f.query = ledger.Query{Build: f.build, Program: report.UTF8(f.program), Kind: f.kind, Text: report.UTF8(f.text), Limit: f.limit, Reports: f.format != formatText}
	if f.since == "" {
		return nil
	}
	var err error
	f.query.Since, err = moment(f.since, time.Now())
	return err
}

// moment parses a date, a time, or how long ago.
func moment(s string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.DateOnly, time.DateTime, time.RFC3339} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--since %s: must be a date such as 2026-11-01, a time, or a duration such as 36h", s)
}

// withStore opens the ledger and the output for do.
func (f *queryFlags) withStore(e env, do func(context.Context, ledger.Store, *outFile) (int, error)) int {
	store, err := f.open(e)
	if err != nil {
		return e.fail(err)
	}
	defer store.Close()
	out, err := f.create(e)
	if err != nil {
		return e.fail(err)
	}
	status, err := do(e.ctx, store, out)
	if err != nil && status == exitNothing { // there is nothing to write
		out.close()
		return e.fail(err)
	}
	if err = errors.Join(err, out.close()); err != nil {
		return e.written(err, status)
	}
	return status
}

func (f *queryFlags) write(out *outFile, s *render.Summary) error {
	t := triageFlags{fileFlags: fileFlags{format: f.format}}
	return t.write(out, s)
}

func runTriageList(args []string, e env) int {
	var f queryFlags
	if _, status, ok := f.take("list", args, 0, e); !ok {
		return status
	}
	return f.withStore(e, func(ctx context.Context, store ledger.Store, out *outFile) (int, error) {
		list, err := store.Groups(ctx, f.query)
		if err != nil {
			return exitNothing, err
		}
		if len(list) == 0 && f.format == formatText {
			_, err := fmt.Fprintln(out, "  no such groups")
			return exitComplete, err
		}
		s := &render.Summary{Groups: list}
		if f.format == formatHTML {
			if s.Dumps, err = dumpsOf(ctx, store, list); err != nil {
				return exitNothing, err
			}
		}
		return exitComplete, f.write(out, s)
	})
}

// dumpsOf lists the dumps of groups.
func dumpsOf(ctx context.Context, store ledger.Store, groups []ledger.Group) ([]ledger.Dump, error) {
	var list []ledger.Dump
	for i := range groups {
		_, dumps, err := store.Group(ctx, groups[i].ID, 0)
		if err != nil {
			return nil, err
		}
		list = append(list, dumps...)
	}
	return list, nil
}

func runTriageShow(args []string, e env) int {
	var f queryFlags
	operands, status, ok := f.take("show", args, 1, e)
	if !ok {
		return status
	}
	if len(operands) == 0 {
		return e.usageError("need a group; corewalk triage list lists them")
	}
	return f.withStore(e, func(ctx context.Context, store ledger.Store, out *outFile) (int, error) {
		g, dumps, err := store.Group(ctx, operands[0], f.limit)
		if err != nil {
			return exitNothing, err
		}
		s := &render.Summary{Groups: []ledger.Group{g}, Dumps: dumps}
		r, err := report.ParseJSON(g.Report)
		if f.format == formatHTML && err == nil {
			var numbers strings.Builder
			if err := render.WriteGroupText(&numbers, s); err != nil {
				return exitNothing, err
			}
			return exitComplete, reportpage.Write(out, r, reportpage.Section{Title: "The group, of which this is a dump", Text: numbers.String()})
		}
		if f.format != formatText {
			if f.format == formatJSON {
				for i := range dumps {
					if err := render.WriteDump(out, &dumps[i], true); err != nil {
						return exitComplete, err
					}
				}
				return exitComplete, render.WriteGroups(out, s, true)
			}
			return exitComplete, f.write(out, s)
		}
		if err := render.WriteGroupText(out, s); err != nil {
			return exitComplete, err
		}
		if err == nil {
			return exitComplete, report.WriteText(out, r, report.TextOptions{})
		}
		return exitComplete, nil
	})
}

func runTriageDiff(args []string, e env) int {
	var f queryFlags
	operands, status, ok := f.take("diff", args, 2, e)
	if !ok {
		return status
	}
	if f.format != formatText && f.format != formatJSON {
		return e.usageError("--format %s: must be text or json for diff", f.format)
	}
	return f.withStore(e, func(ctx context.Context, store ledger.Store, out *outFile) (int, error) {
		runs, err := store.Runs(ctx, 0)
		if err != nil {
			return exitNothing, err
		}
		before, after, err := pickRuns(runs, operands)
		if err != nil {
			return exitNothing, err
		}
		d := render.Diff{Old: before, New: after}
		if d.OldGroups, err = store.RunGroups(ctx, before.ID); err == nil {
			d.NewGroups, err = store.RunGroups(ctx, after.ID)
		}
		if err != nil {
			return exitNothing, err
		}
		if f.format == formatJSON {
			return exitComplete, d.WriteJSON(out)
		}
		return exitComplete, d.WriteText(out, f.all)
	})
}

// pickRuns finds the two runs that the operands name; runs has the newest first.
func pickRuns(runs []ledger.Run, operands []string) (before, after ledger.Run, err error) {
	if len(runs) < 2 {
		return before, after, errors.New("nothing to compare: the ledger has fewer than two runs")
	}
	after, before = runs[0], runs[1]
	for i, to := range []*ledger.Run{&before, &after}[:len(operands)] {
		n, err := strconv.ParseInt(operands[i], 10, 64)
		found := false
		for _, r := range runs {
			if err == nil && r.ID == n {
				*to, found = r, true
			}
		}
		if !found {
			return before, after, fmt.Errorf("run %s: the ledger has runs %d to %d", operands[i], runs[len(runs)-1].ID, runs[0].ID)
		}
	}
	return before, after, nil
}

func runTriageExport(args []string, e env) int {
	var f queryFlags
	if _, status, ok := f.take("export", args, 0, e); !ok {
		return status
	}
	if f.format == formatText {
		f.format = formatJSON
	}
	f.query.Reports = true
	return f.withStore(e, func(ctx context.Context, store ledger.Store, out *outFile) (int, error) {
		list, err := store.Groups(ctx, f.query)
		if err != nil {
			return exitNothing, err
		}
		s := &render.Summary{Groups: list}
		if f.format != formatJSON {
			if s.Dumps, err = dumpsOf(ctx, store, list); err != nil {
				return exitNothing, err
			}
			return exitComplete, f.write(out, s)
		}
		for _, g := range list {
			_, dumps, err := store.Group(ctx, g.ID, 0)
			if err != nil {
				return exitNothing, err
			}
			for i := range dumps {
				if err := render.WriteDump(out, &dumps[i], true); err != nil {
					return exitComplete, err
				}
			}
		}
		return exitComplete, render.WriteGroups(out, s, true)
	})
}
