package dap

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/google/go-dap"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A response to a request of our own, for plugins of editors.
type ownResponse struct {
	dap.Response
	Body any `json:"body"`
}

// GetResponse implements dap.ResponseMessage.
func (r *ownResponse) GetResponse() *dap.Response { return &r.Response }

// own answers requests that the protocol does not have.
func (sv *server) own(ctx context.Context, command string) (dap.ResponseMessage, []dap.Message, error) {
	switch command {
	case "moreThreads":
		return sv.moreThreads(ctx)
	case "cause":
		r, err := sv.cause(ctx)
		if err != nil {
			return nil, nil, err
		}
		return asJSON(func(w io.Writer) error { return report.WriteJSON(w, r) })
	case "summary":
		r, err := sv.s.Summary(ctx)
		if err != nil {
			return nil, nil, err
		}
		return asJSON(func(w io.Writer) error { return report.WriteJSON(w, sv.short(ctx, r)) })
	case "memory":
		m, err := sv.s.Memory(ctx)
		if err != nil {
			return nil, nil, err
		}
		return asJSON(func(w io.Writer) error { return report.WriteMemoryJSON(w, m) })
	}
	return nil, nil, fmt.Errorf("%q is no request that is known here", command)
}

func asJSON(write func(io.Writer) error) (dap.ResponseMessage, []dap.Message, error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return nil, nil, err
	}
	return &ownResponse{Body: json.RawMessage(b.Bytes())}, nil, nil
}

// moreThreads adds a page to the list of threads, and has the client ask for it.
func (sv *server) moreThreads(ctx context.Context) (dap.ResponseMessage, []dap.Message, error) {
	list, err := sv.s.Threads(ctx)
	if err != nil {
		return nil, nil, err
	}
	tasks, more, err := sv.s.Tasks(ctx, sv.listed, threadPage)
	if err != nil {
		return nil, nil, err
	}
	more = more || len(list) > sv.listed+threadPage
	added := append(slices.Clone(list[min(len(list), sv.listed):min(len(list), sv.listed+threadPage)]), tasks...)
	var after []dap.Message
	if len(added) > 0 {
		sv.listed += threadPage
		if sv.redraws {
			after = append(after, event(&dap.InvalidatedEvent{Body: dap.InvalidatedEventBody{Areas: []dap.InvalidatedAreas{"threads"}}}, "invalidated"))
		} else {
			after = append(after, event(&dap.ThreadEvent{Body: dap.ThreadEventBody{Reason: "started", ThreadId: int(added[0].ID)}}, "thread"))
		}
	}
	return &ownResponse{Body: struct {
		Added int  `json:"added"`
		More  bool `json:"more"`
	}{len(added), more}}, after, nil
}

// cause is a report of the thread that died alone: the other stacks and tasks need not be looked at for it.
func (sv *server) cause(ctx context.Context) (*report.Report, error) {
	c, err := sv.s.Crash(ctx)
	if err != nil {
		return nil, err
	}
	r := &report.Report{Crash: c, Modules: []report.Module{}, Threads: []report.Thread{}, Warnings: []report.Warning{}}
	threads, err := sv.s.Threads(ctx)
	if err != nil || len(threads) == 0 || !threads[0].Crashed {
		return r, err
	}
	list, _, err := sv.s.Frames(ctx, threads[0].ID, 0, framesOfCrash)
	if err != nil {
		return nil, err
	}
	frames := make([]report.Frame, len(list))
	for i := range list {
		frames[i] = list[i].Frame
	}
	t := &threads[0]
	r.Threads = append(r.Threads, report.Thread{ID: int(t.Number), Name: t.Name, Crashed: true, Frames: sv.located(ctx, frames, framesOfCrash)})
	return r, nil
}

const (
	// maxShown is how many threads and tasks a summary has.
	maxShown = 1000
	// framesShown is how many frames each of them has; that of the thread that died has framesOfCrash.
	framesShown, framesOfCrash = 16, 200
)

// short is a report as a view of an editor shows it: without modules and memory, stacks without their oldest frames. Sources are paths on this machine where they
// were found.
func (sv *server) short(ctx context.Context, whole *report.Report) *report.Report {
	r := *whole
	r.Modules, r.Memory, r.Details = []report.Module{}, nil, nil
	r.Threads = make([]report.Thread, 0, min(len(whole.Threads), maxShown))
	for i := range whole.Threads[:min(len(whole.Threads), maxShown)] {
		t := whole.Threads[i]
		n := framesShown
		if t.Crashed {
			n = framesOfCrash
		}
		t.Registers, t.Frames = report.Registers{}, sv.located(ctx, t.Frames, n)
		r.Threads = append(r.Threads, t)
	}
	r.Tasks = nil
	for i := range whole.Tasks[:min(len(whole.Tasks), maxShown)] {
		t := whole.Tasks[i]
		t.Frames, t.Places = sv.located(ctx, t.Frames, framesShown), nil
		r.Tasks = append(r.Tasks, t)
	}
	return &r
}

// located returns the first n frames, where their sources are on this machine, without variables.
func (sv *server) located(ctx context.Context, frames []report.Frame, n int) []report.Frame {
	out := make([]report.Frame, 0, min(len(frames), n))
	for i := range frames[:min(len(frames), n)] {
		f := frames[i]
		f.Args, f.Locals, f.Listing, f.Code, f.Explain, f.Verify = nil, nil, nil, nil, nil, nil
		if f.Source.File != "" {
			if file, err := sv.s.SourceOf(ctx, arch.Address(f.Lookup), f.Source.File); err == nil {
				f.Source.File = file.Path
			}
		}
		out = append(out, f)
	}
	return out
}
