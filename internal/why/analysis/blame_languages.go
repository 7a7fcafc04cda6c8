package analysis

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
)

// maxPassedOn is through how many calls of a language a bad value is followed.
const maxPassedOn = 32

// throughLanguages returns a blame that goes on where a function of C was called by a function of a language: by ctypes, which passes what the program
// computed. A call that has the bad value in an argument, and nowhere else, was given it by its own caller. What such a call does with its arguments is not
// looked at: the blame is likely at most.
func (c *crash) throughLanguages(ctx context.Context, b *report.Blame) *report.Blame {
	if b == nil || len(b.Steps) == 0 || c.naming == nil {
		return b
	}
	last := &b.Steps[len(b.Steps)-1]
	if !last.Entry || last.Role != "argument" || last.Kind != report.BlameVariable && last.Kind != report.BlameArgument && last.Kind != report.BlameOffset && last.Kind != report.BlamePassed {
		return b
	}
	value := uint64(b.Value)
	if last.Value != nil {
		value = uint64(*last.Value)
	}
	s := c.shown(ctx)
	frames := s.thread.Frames
	at := s.calledFrom(last.Physical)
	if at < 0 {
		return b
	}
	var steps []report.BlameStep
	for ; at < len(frames) && len(steps) < maxPassedOn; at++ {
		f := &frames[at]
		call := callAt(s.calls, at)
		if call == nil {
			if f.Folded {
				continue
			}
			break
		}
		step := report.BlameStep{Kind: report.BlamePassed, Function: f.Function, Source: f.Source, Physical: f.Physical}
		step.Name = passedOn(call, value)
		steps = append(steps, step)
		if step.Name == "" {
			break
		}
		steps[len(steps)-1].Role = "argument"
	}
	if len(steps) == 0 {
		return b
	}
	out := *b
	out.Steps = append(slices.Clip(slices.Clone(b.Steps)), steps...)
	if out.Confidence == report.Certain {
		out.Confidence = report.Likely
	}
	return &out
}

// calledFrom returns the entry of the call of a language that called the function of a physical frame by libffi; -1 if none did.
func (s *shown) calledFrom(physical int) int {
	foreign := false
	for i := range s.thread.Frames {
		switch f := &s.thread.Frames[i]; {
		case f.Physical <= physical && f.Language == "":
		case callAt(s.calls, i) != nil:
			if foreign && f.Language == "python" {
				return i
			}
			return -1
		case foreignCall(f):
			foreign = true
		case !foreign: // another function of C is between
			return -1
		}
	}
	return -1
}

// foreignCall reports whether a frame is of libffi, in whatever library it is.
func foreignCall(f *report.Frame) bool {
	base := f.Module[strings.LastIndexByte(f.Module, '/')+1:]
	return strings.HasPrefix(base, "libffi") || strings.HasPrefix(f.Function, "ffi_call")
}

// passedOn returns the only argument of a call that has a value; "" if there is none, or a local variable has it as well.
func passedOn(c *tasks.Call, value uint64) (name string) {
	if c.Variables == nil {
		return ""
	}
	args, own := c.Variables(true, tasks.Limits{})
	for i := range args {
		if !numbers(&args[i], value) {
			continue
		}
		if name != "" {
			return ""
		}
		name = args[i].Name
	}
	if slices.ContainsFunc(own, func(v tasks.SuspendedVariable) bool { return numbers(&v, value) }) {
		return ""
	}
	return name
}

// numbers reports whether ctypes passes a value of Python as an address: a number, or None for null.
func numbers(v *tasks.SuspendedVariable, value uint64) bool {
	if v.Err != nil {
		return false
	}
	switch v.Type {
	case "NoneType":
		return value == 0
	case "int":
		n, err := strconv.ParseUint(v.Value, 10, 64)
		return err == nil && n == value
	}
	return false
}
