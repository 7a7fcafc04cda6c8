package session

import (
	"context"
	"errors"
	"math"
	"strings"
	"unicode"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/unwind"
)

// Calls that left the stack by a tail call: of these only a report has variables, but the program around them is as everywhere.

// left reports whether a frame is one of a compiled function that left the stack by a tail call.
func (f *frameAt) left() bool {
	e := &f.st.named[f.index]
	return e.Tail && e.Language == "" && f.st.task == nil
}

// noCall is the number of no call, which has no variables.
const noCall = math.MaxInt

// beside returns the walked frames, and the number of one beside f that is of the same module: names mean there what they mean in f.
func (f *frameAt) beside() (frames []*unwind.Frame, physical int, err error) {
	frames = f.st.frames()
	own := &f.st.named[f.index]
	for _, step := range [...]int{-1, 1} {
		for i := f.index + step; i >= 0 && i < len(f.st.named); i += step {
			at := &f.st.named[i]
			if at.Module == own.Module && !at.Tail && at.Physical < len(frames) {
				return frames, at.Physical, nil
			}
			if !at.Tail {
				break
			}
		}
	}
	return nil, 0, errors.New("the call left the stack, and no frame beside it is of its module: go to another frame")
}

// ofProgram evaluates an expression of which no name is one of the frame's variables, without those of the frame that is there instead.
func (s *Session) ofProgram(ctx context.Context, f *frameAt, expr string, vars []Convenience) (dwarfvars.Object, error) {
	if err := s.callers(ctx, f.st); err != nil {
		return dwarfvars.Object{}, err
	}
	frames, physical, err := f.beside()
	if err != nil {
		return dwarfvars.Object{}, err
	}
	return s.facts.Variables().Evaluate(frames, physical, noCall, expr, objectsOf(vars)...)
}

// mentions reports whether an expression has the name of one of the variables, or of a register, which is another one's.
func (r *variables) mentions(expr string) bool {
	if strings.Contains(expr, "$") {
		return true
	}
	words := strings.FieldsFunc(expr, func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	for _, w := range words {
		if w == "this" || w == "self" || r.find(w) != nil {
			return true
		}
	}
	return false
}

// typeOfProgram is TypeOf in a frame of which only a report has the variables.
func (s *Session) typeOfProgram(ctx context.Context, f *frameAt, text string, vars []Convenience) (t dwarfvars.Type, err error) {
	read, err := s.reported(ctx, f)
	if err != nil {
		return t, err
	}
	words := strings.TrimLeft(text, "*& ")
	if v := read.find(words); v != nil && words == text && v.Type != "" {
		text = v.Type
	} else if read.mentions(text) {
		return t, errors.New("values of a call that left the stack have their types beside them: print shows them")
	}
	if err := s.callers(ctx, f.st); err != nil {
		return t, err
	}
	frames, physical, err := f.beside()
	if err != nil {
		return t, err
	}
	return s.facts.Variables().TypeOf(frames, physical, noCall, text, objectsOf(vars)...)
}
