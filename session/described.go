package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
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

// Source returns the source file of a frame. The error wraps fs.ErrNotExist if there is none.
func (s *Session) Source(ctx context.Context, id FrameID) (file *modules.SourceFile, err error) {
	err = s.guarded(ctx, func() error {
		f, err := s.at(id)
		if err != nil {
			return err
		}
		e := &f.st.named[f.index]
		if e.Source.File == "" {
			return fmt.Errorf("a frame without a source line: %w", fs.ErrNotExist)
		}
		file, err = s.t.SourceFile(arch.Address(e.Lookup), e.Source.File)
		return err
	})
	return file, err
}

// Listing returns the source line of a frame, with as many lines before and after it as lines says; nil if the source was
// not found, or the frame has no line.
func (s *Session) Listing(ctx context.Context, id FrameID, lines int) (*report.Listing, error) {
	file, err := s.Source(ctx, id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.at(id)
	if err != nil {
		return nil, err
	}
	line := f.st.named[f.index].Source.Line
	first, text := file.Lines(line-lines, line+lines)
	if line < first || line >= first+len(text) {
		return nil, fmt.Errorf("%s has fewer than %d lines: it is another version", file.Path, line)
	}
	return &report.Listing{Path: file.Path, First: first, Lines: text, Newer: file.Newer && f.st.named[f.index].Language == ""}, nil
}

// Position returns the stack that a frame belongs to, and the frame's number in it, from 0 on.
func (s *Session) Position(id FrameID) (of Stack, index int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.at(id)
	if err != nil {
		return Stack{}, 0, err
	}
	return f.st.Stack, f.index, nil
}
