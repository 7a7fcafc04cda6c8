package mcp

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

type variablesIn struct {
	dumpIn
	Frame int `json:"frame,omitempty" doc:"number of the frame, from frame or summary"`
	Ref   int `json:"ref,omitempty" doc:"instead of a frame: number of a variable whose parts to list"`
	From  int `json:"from,omitempty" doc:"number of the first variable to list, as the answer before says"`
}

func (sv *server) variables(ctx context.Context, in variablesIn) (*answer, error) {
	d, done, err := sv.use(in.Dump)
	if err != nil {
		return nil, err
	}
	defer done()
	from := max(in.From, 0)
	if in.Ref != 0 {
		list, more, err := d.s.Children(ctx, session.Ref(in.Ref), from, page)
		if err != nil {
			return nil, err
		}
		a := &answer{head: fmt.Sprintf("Parts of ref %d:", in.Ref), from: from, more: more, next: "from"}
		for i := range list {
			a.lines = append(a.lines, variableText(&list[i]))
		}
		return a, nil
	}
	id := session.FrameID(in.Frame)
	if id == 0 {
		f, err := d.s.Focus(ctx)
		if err != nil {
			return nil, err
		}
		id = f.ID
	}
	scopes, err := d.s.Scopes(ctx, id)
	if err != nil {
		return nil, err
	}
	a := &answer{head: fmt.Sprintf("Variables of frame %d:", id), from: from, next: "from"}
	skip := from
	for _, sc := range scopes {
		if skip >= max(sc.Count, 1) {
			skip -= sc.Count
			continue
		}
		list, more, err := d.s.Children(ctx, sc.Ref, skip, page)
		if err != nil {
			return nil, err
		}
		skip = 0
		what := strings.ToLower(strings.TrimSuffix(sc.Name, "s"))
		for i := range list {
			a.lines = append(a.lines, what+" "+variableText(&list[i]))
		}
		if a.more = more; more {
			break
		}
	}
	return a, nil
}

// variableText is a variable in one line: its name, type and value, or why it has none.
func variableText(v *session.Variable) string {
	s := report.Clean(v.Name)
	if v.Type != "" {
		s += " (" + report.Clean(v.Type) + ")"
	}
	s += " = " + valueText(v)
	if v.Entry != "" {
		s += "; on entry " + report.Clean(v.Entry)
	}
	s += v.Whose()
	if v.Ref != 0 {
		s += fmt.Sprintf("  [ref %d]", v.Ref)
	}
	return s
}

func valueText(v *session.Variable) string {
	if v.Status != report.StatusSuccess {
		return "<" + report.Clean(v.Reason) + ">"
	}
	return report.Clean(v.Value)
}

type printIn struct {
	dumpIn
	Frame      int    `json:"frame,omitempty" doc:"number of the frame; 0 for the one to look at first"`
	Expression string `json:"expression" doc:"what to print, for instance list->head.name"`
}

func (sv *server) print(ctx context.Context, in printIn) (*answer, error) {
	d, done, err := sv.use(in.Dump)
	if err != nil {
		return nil, err
	}
	defer done()
	id := session.FrameID(in.Frame)
	if id == 0 {
		f, err := d.s.Focus(ctx)
		if err != nil {
			return nil, err
		}
		id = f.ID
	}
	v, err := d.s.Evaluate(ctx, id, in.Expression)
	if err != nil {
		return nil, err
	}
	v.Name = in.Expression
	return &answer{head: fmt.Sprintf("In frame %d:", id), lines: []string{variableText(&v)}}, nil
}

type memoryIn struct {
	dumpIn
	Address string `json:"address" doc:"the address, as 0x7f10"`
	Length  int    `json:"length,omitempty" doc:"how many bytes to show, at most 1024; 64 if it is not given"`
}

// maxBytes is how many bytes of memory an answer shows.
const maxBytes = 1024

func (sv *server) memoryAt(ctx context.Context, in memoryIn) (*answer, error) {
	d, done, err := sv.use(in.Dump)
	if err != nil {
		return nil, err
	}
	defer done()
	addr, err := strconv.ParseUint(strings.TrimSpace(in.Address), 0, 64)
	if err != nil {
		return nil, fmt.Errorf("address %q is not a number such as 0x7f10", in.Address)
	}
	p, err := d.s.At(ctx, addr)
	if err != nil {
		return nil, err
	}
	a := &answer{head: fmt.Sprintf("At %#x:", addr), lines: []string{report.Clean(p.String())}}
	n := in.Length
	if n <= 0 {
		n = 64
	}
	b, err := d.s.ReadMemory(ctx, addr, min(n, maxBytes))
	for i := 0; i < len(b); i += 16 {
		row := b[i:min(i+16, len(b))]
		text := make([]byte, len(row))
		for j, c := range row {
			text[j] = '.'
			if c >= ' ' && c < 0x7f {
				text[j] = c
			}
		}
		a.lines = append(a.lines, fmt.Sprintf("%#x  %s  %s", addr+uint64(i), hex.EncodeToString(row), text))
	}
	if err != nil {
		a.lines = append(a.lines, report.Clean(err.Error()))
	}
	return a, nil
}
