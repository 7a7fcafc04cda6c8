package session

import (
	"context"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// Described returns n frames of a stack from number first on as a report has them, with their arguments and, if locals is
// true, their local variables. more says that others follow.
func (s *Session) Described(ctx context.Context, of StackID, first, n int, locals bool) (list []report.Frame, more bool, err error) {
	frames, more, err := s.Frames(ctx, of, first, n)
	if err != nil {
		return nil, false, err
	}
	for i := range frames {
		f := frames[i].Frame
		scopes, err := s.Scopes(ctx, frames[i].ID)
		if err != nil {
			return nil, false, err
		}
		for _, sc := range scopes {
			if sc.Name != scopeArguments && (sc.Name != scopeLocals || !locals) {
				continue
			}
			vars, _, err := s.Children(ctx, sc.Ref, 0, max(sc.Count, 1))
			if err != nil {
				return nil, false, err
			}
			out := make([]report.Variable, len(vars))
			for i, v := range vars {
				out[i] = report.Variable{Name: v.Name, Type: v.Type, Value: v.Value, Status: v.Status, Reason: v.Reason, Entry: v.Entry, Location: v.Location}
			}
			if sc.Name == scopeArguments {
				f.Args = out
			} else {
				f.Locals = out
			}
		}
		list = append(list, f)
	}
	return list, more, nil
}

// Listing returns lines lines of source before and after that of a frame; nil if the source was not found, or the frame
// has no line.
func (s *Session) Listing(ctx context.Context, id FrameID, lines int) (l *report.Listing, err error) {
	err = s.guarded(ctx, func() error {
		f, err := s.at(id)
		if err != nil {
			return err
		}
		if f.st.task != nil || lines <= 0 {
			return nil
		}
		r, err := s.t.Analyze(ctx, corewalk.AnalyzeOptions{Threads: []unwind.ThreadID{unwind.ThreadID(f.st.Number)}, Locals: corewalk.LocalsNone, NoTasks: true, NoBlame: true,
			MaxFrames: f.st.named[f.index].Physical + spareFrames, SourceLines: lines, Runtimes: s.o.Runtimes})
		if err != nil {
			return err
		}
		for i := range r.Threads {
			if f.index < len(r.Threads[i].Frames) {
				l = r.Threads[i].Frames[f.index].Listing
			}
		}
		return nil
	})
	return l, err
}

// Position returns the stack that a frame is of, and its number there.
func (s *Session) Position(id FrameID) (of Stack, index int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.at(id)
	if err != nil {
		return Stack{}, 0, err
	}
	return f.st.Stack, f.index, nil
}
