// Package ask answers what a crash service asks about one dump, by a session: see package question. It runs in a process of its own, in the
// sandbox.
package ask

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/reportpage"
	"github.com/corewalk/corewalk/internal/service/question"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// A server answers questions, one at a time.
type server struct {
	s *session.Session
	// What the session calls the places of questions that were asked before.
	frames map[[2]int]session.FrameID
	refs   map[string]session.Ref
}

// Serve answers each line of in until it ends. limit is how long one answer may take.
func Serve(ctx context.Context, in io.Reader, out io.Writer, s *session.Session, limit time.Duration) error {
	sv := &server{s: s, frames: map[[2]int]session.FrameID{}, refs: map[string]session.Ref{}}
	lines := bufio.NewScanner(in)
	w := bufio.NewWriter(out)
	for lines.Scan() {
		var q question.Question
		var a question.Answer
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			a.Error = report.Clean(fmt.Sprintf("not a question: %v", err))
		} else {
			a = sv.answer(ctx, &q, limit)
		}
		b, err := report.JSON(a, "")
		if err != nil {
			return err
		}
		w.Write(append(b, '\n'))
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (sv *server) answer(ctx context.Context, q *question.Question, limit time.Duration) (a question.Answer) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	q.Count = min(max(q.Count, 0), question.MaxCount)
	q.First = max(q.First, 0)
	var err error
	switch q.Ask {
	case question.About:
		err = sv.about(ctx, &a)
	case question.Memory:
		err = sv.memory(ctx, &a)
	case question.Stacks:
		err = sv.stacks(ctx, q, &a)
	case question.Frames:
		err = sv.framesOf(ctx, q, &a)
	case question.Modules:
		err = sv.modules(ctx, q, &a)
	case question.Variables:
		err = sv.variables(ctx, q, &a)
	default:
		err = fmt.Errorf("%q cannot be asked", q.Ask)
	}
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("there is no answer within %s", limit)
		}
		return question.Answer{Error: report.Clean(err.Error())}
	}
	return a
}

func (sv *server) about(ctx context.Context, a *question.Answer) error {
	r, err := sv.s.Summary(ctx)
	if err != nil {
		return err
	}
	short := *r
	short.Threads, short.Tasks, short.Modules = nil, nil, nil
	short.Dump.Path = "" // where it is concerns nobody
	var b bytes.Buffer
	if err := report.WriteJSON(&b, &short); err != nil {
		return err
	}
	a.About = bytes.TrimSpace(b.Bytes())
	if list := reportpage.Waits(r); len(list) > 0 {
		a.Waits, err = report.JSON(list, "")
	}
	return err
}

func (sv *server) memory(ctx context.Context, a *question.Answer) error {
	list, err := sv.s.Around(ctx)
	if err != nil {
		return err
	}
	a.Memory, err = report.JSON(reportpage.Memory(list), "")
	return err
}

// list returns stacks from number first on: threads, then tasks.
func (sv *server) list(ctx context.Context, first, n int) (list []session.Stack, more bool, err error) {
	threads, err := sv.s.Threads(ctx)
	if err != nil {
		return nil, false, err
	}
	list = slices.Clone(threads[min(first, len(threads)):])
	if len(list) > n {
		return list[:n], true, nil
	}
	tasks, more, err := sv.s.Tasks(ctx, max(first-len(threads), 0), n-len(list))
	return append(list, tasks...), more, err
}

func (sv *server) stacks(ctx context.Context, q *question.Question, a *question.Answer) error {
	list, more, err := sv.list(ctx, q.First, q.Count)
	if err != nil {
		return err
	}
	a.More = more
	for _, st := range list {
		out := question.Stack{Kind: st.Kind, ID: st.Number, Name: report.Clean(st.Name), Status: report.Clean(cmp.Or(st.Status, st.State)), Crashed: st.Crashed}
		if f, err := sv.s.FocusOf(ctx, st.ID); err == nil {
			out.Top = report.Clean(cmp.Or(f.Function, f.PC.String()))
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		a.Stacks = append(a.Stacks, out)
	}
	return nil
}

// stack is the session's number of a stack.
func (sv *server) stack(ctx context.Context, n int) (session.StackID, error) {
	if n >= 0 {
		list, _, err := sv.list(ctx, n, 1)
		if err != nil {
			return 0, err
		}
		if len(list) > 0 {
			return list[0].ID, nil
		}
	}
	return 0, fmt.Errorf("there is no stack %d", n)
}

func (sv *server) framesOf(ctx context.Context, q *question.Question, a *question.Answer) error {
	id, err := sv.stack(ctx, q.Stack)
	if err != nil {
		return err
	}
	list, more, err := sv.s.Frames(ctx, id, q.First, q.Count)
	if err != nil {
		return err
	}
	if a.More = more; !more {
		a.End = report.Clean(sv.s.End(id))
	}
	for i := range list {
		f := &list[i]
		sv.frames[[2]int{q.Stack, q.First + i}] = f.ID
		offset := ""
		if f.Offset != 0 {
			offset = f.Offset.String()
		}
		a.Frames = append(a.Frames, question.Frame{Offset: offset, Function: report.Clean(f.Function), PC: f.PC.String(), File: report.Clean(f.Source.File), Line: f.Source.Line,
			Module: report.Clean(f.Module), Inlined: f.Inlined, Tail: f.Tail, Signal: report.Clean(f.Signal), Trust: f.Trust})
	}
	return nil
}

// frame is the session's number of a frame.
func (sv *server) frame(ctx context.Context, q *question.Question) (session.FrameID, error) {
	at := [2]int{q.Stack, q.Frame}
	if id := sv.frames[at]; id != 0 {
		return id, nil
	}
	id, err := sv.stack(ctx, q.Stack)
	if err != nil {
		return 0, err
	}
	if q.Frame >= 0 && q.Frame < maxFrame {
		list, _, err := sv.s.Frames(ctx, id, q.Frame, 1)
		if err != nil {
			return 0, err
		}
		if len(list) > 0 {
			sv.frames[at] = list[0].ID
			return list[0].ID, nil
		}
	}
	return 0, fmt.Errorf("stack %d has no frame %d", q.Stack, q.Frame)
}

const (
	// maxFrame is the number up to which frames are looked at.
	maxFrame = 1 << 20
	// sourceLines are shown before and after that of a frame.
	sourceLines = 4
	// maxLine is how much of a line of source is shown, in bytes.
	maxLine = 500
	// maxRefs is how many places are remembered. Others are found again.
	maxRefs = 1 << 14
)

func (sv *server) variables(ctx context.Context, q *question.Question, a *question.Answer) error {
	if len(q.Path) > question.MaxPath {
		return fmt.Errorf("a path of more than %d parts", question.MaxPath)
	}
	if len(q.Path) == 0 {
		return sv.groups(ctx, q, a)
	}
	ref, err := sv.ref(ctx, q, q.Path)
	if err != nil {
		return err
	}
	list, more, err := sv.s.Children(ctx, ref, q.First, q.Count)
	if errors.Is(err, session.ErrExpired) { // so are others, perhaps
		clear(sv.refs)
		if ref, err = sv.ref(ctx, q, q.Path); err == nil {
			list, more, err = sv.s.Children(ctx, ref, q.First, q.Count)
		}
	}
	if err != nil {
		return err
	}
	a.Variables, a.More = sv.all(q, q.Path, q.First, list), more
	return nil
}

// groups lists the variables of a frame, with the first of each group but registers.
func (sv *server) groups(ctx context.Context, q *question.Question, a *question.Answer) error {
	id, err := sv.frame(ctx, q)
	if err != nil {
		return err
	}
	scopes, err := sv.s.Scopes(ctx, id)
	if err != nil {
		return err
	}
	for i, sc := range scopes {
		g := question.Group{Name: sc.Name, Count: sc.Count}
		path := []int{i}
		sv.remember(q, path, sc.Ref)
		if sc.Name != "Registers" {
			list, more, err := sv.s.Children(ctx, sc.Ref, 0, q.Count)
			if err != nil {
				return err
			}
			g.Variables, g.More = sv.all(q, path, 0, list), more
		}
		a.Groups = append(a.Groups, g)
	}
	if l, err := sv.s.Listing(ctx, id, sourceLines); err == nil && l != nil {
		st, index, err := sv.s.Position(id)
		if err != nil {
			return err
		}
		f, _, err := sv.s.Frames(ctx, st.ID, index, 1)
		if err != nil || len(f) == 0 {
			return err
		}
		a.Source = &question.Source{Path: report.Clean(l.Path), First: l.First, Line: f[0].Source.Line, Newer: l.Newer}
		for _, line := range l.Lines {
			a.Source.Lines = append(a.Source.Lines, report.Clean(strings.ReplaceAll(line[:min(len(line), maxLine)], "\t", "    ")))
		}
	}
	return nil
}

// all converts variables, the first of which is number first of what is at path.
func (sv *server) all(q *question.Question, path []int, first int, list []session.Variable) []question.Variable {
	out := make([]question.Variable, len(list))
	for i := range list {
		v := &list[i]
		out[i] = question.Variable{Name: report.Clean(v.Name), Type: report.Clean(v.Type), Value: report.Clean(v.Value), Entry: report.Clean(v.Entry), Parts: v.Ref != 0}
		if v.Status != report.StatusSuccess {
			out[i].Value, out[i].Reason = "", report.Clean(cmp.Or(v.Reason, v.Status))
		}
		if v.Ref != 0 {
			sv.remember(q, append(slices.Clip(path), first+i), v.Ref)
		}
	}
	return out
}

func place(q *question.Question, path []int) string { return fmt.Sprint(q.Stack, q.Frame, path) }

func (sv *server) remember(q *question.Question, path []int, ref session.Ref) {
	if len(sv.refs) >= maxRefs {
		clear(sv.refs)
	}
	sv.refs[place(q, path)] = ref
}

// ref is the session's number of what is at a path, which is not empty.
func (sv *server) ref(ctx context.Context, q *question.Question, path []int) (session.Ref, error) {
	if ref := sv.refs[place(q, path)]; ref != 0 {
		return ref, nil
	}
	last := path[len(path)-1]
	none := fmt.Errorf("nothing is at %v of frame %d of stack %d", path, q.Frame, q.Stack)
	if last < 0 {
		return 0, none
	}
	if len(path) == 1 {
		id, err := sv.frame(ctx, q)
		if err != nil {
			return 0, err
		}
		scopes, err := sv.s.Scopes(ctx, id)
		if err != nil {
			return 0, err
		}
		if last >= len(scopes) {
			return 0, none
		}
		sv.remember(q, path, scopes[last].Ref)
		return scopes[last].Ref, nil
	}
	of, err := sv.ref(ctx, q, path[:len(path)-1])
	if err != nil {
		return 0, err
	}
	list, _, err := sv.s.Children(ctx, of, last, 1)
	if err != nil {
		return 0, err
	}
	if len(list) == 0 || list[0].Ref == 0 {
		return 0, none
	}
	sv.remember(q, path, list[0].Ref)
	return list[0].Ref, nil
}
