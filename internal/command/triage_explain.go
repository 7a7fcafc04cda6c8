package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/triage"
	"github.com/corewalk/corewalk/internal/triage/signature"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/report"
)

// explainSignatures explains the signature of each dump, in a sandbox if there is to be one.
func (f *triageFlags) explainSignatures(e env, args, paths []string) int {
	if f.sandbox.when == sandboxInside {
		f.output = "" // the parent writes it
	}
	out, err := f.create(e)
	if err != nil {
		return e.fail(err)
	}
	if out.file != nil { // to standard output, a process in a sandbox writes itself, and says how that went
		e.stdout = out
	}
	e, status, done := f.sandboxed(e, []string{"triage"}, args, f.operands(paths))
	if !done {
		status = f.explainAll(e, out, paths)
	}
	return e.written(out.close(), status)
}

func (f *triageFlags) explainAll(e env, out io.Writer, paths []string) int {
	cache := corewalk.NewCache(e.ctx, int64(f.memory/4), f.options(e, "")...)
	defer cache.Close()
	status, some := exitComplete, false
	for path, err := range (triage.Files{Paths: paths, Recursive: f.recursive}).Dumps(e.ctx) {
		if err == nil {
			var text string
			if text, err = explainSignature(e, cache, path); err == nil {
				if _, lost := io.WriteString(out, text); lost != nil {
					return status // out says so when it is closed
				}
			}
		}
		if err != nil {
			e.say("%v", err)
			status = exitIncomplete
			continue
		}
		some = true
	}
	if !some {
		status = exitNothing
	}
	return status
}

// explainSignature says what the signature of a dump is made of.
func explainSignature(e env, cache *modules.Cache, path string) (string, error) {
	t, err := corewalk.Open(e.ctx, path, corewalk.WithCache(cache))
	if t != nil {
		defer t.Close()
	}
	if err != nil {
		return "", err
	}
	r, err := triage.ForSignature(e.ctx, t)
	if err != nil {
		return "", err
	}
	s := signature.Of(r)
	weak := ""
	if s.Weak {
		weak = ", weak: valid for this build only"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s\n  signature %s, strict %s%s\n  kind %s (class %s), module %s\n", report.Clean(path), report.Clean(s.String()), s.Hash, s.Strict, weak,
		report.Clean(s.Kind), report.Clean(s.Class), report.Clean(s.Module))
	for _, d := range s.Decisions {
		mark := " "
		if d.First {
			mark = "*"
		}
		fmt.Fprintf(&out, "  %s #%-3d %-9s %s", mark, d.Frame, d.Action, report.Clean(d.Name))
		if d.Why != "" {
			fmt.Fprintf(&out, ": %s", report.Clean(d.Why))
		}
		out.WriteString("\n")
	}
	out.WriteString("\n")
	return out.String(), nil
}
