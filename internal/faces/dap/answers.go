package dap

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-dap"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// threadPage is how many threads, and how many goroutines and other tasks, the list of threads has: the protocol has no pages of threads,
// and editors show all that they get. Each request moreThreads adds a page.
const threadPage = 1000

func (sv *server) threads(ctx context.Context) (dap.ResponseMessage, error) {
	list, err := sv.s.Threads(ctx)
	if err != nil {
		return nil, err
	}
	tasks, more, err := sv.s.Tasks(ctx, 0, sv.listed)
	if err != nil {
		return nil, err
	}
	body := dap.ThreadsResponseBody{Threads: []dap.Thread{}}
	add := func(list []session.Stack, more bool) {
		for i := range list {
			body.Threads = append(body.Threads, dap.Thread{Id: int(list[i].ID), Name: name(&list[i])})
		}
		if more && len(list) > 0 {
			body.Threads[len(body.Threads)-1].Name += " (more follow: " + list[len(list)-1].Kind + " N at the console shows any)"
		}
	}
	add(list[:min(len(list), sv.listed)], len(list) > sv.listed) // the one that died is the first
	add(tasks, more)
	return &dap.ThreadsResponse{Body: body}, nil
}

// name says which stack it is.
func name(st *session.Stack) string {
	s := st.Title()
	if st.Name != "" {
		s += " " + st.Name
	}
	switch {
	case st.Crashed:
		s += " [crashed]"
	case st.Status != "":
		s += " [" + st.Status + "]"
	case st.State != "":
		s += " [" + st.State + "]"
	}
	return report.Clean(s)
}

// maxFrames is how many frames one question returns.
const maxFrames = 1000

func (sv *server) stackTrace(ctx context.Context, a *dap.StackTraceArguments) (dap.ResponseMessage, error) {
	n := a.Levels
	if n <= 0 || n > maxFrames {
		n = maxFrames
	}
	frames, more, err := sv.s.Frames(ctx, session.StackID(a.ThreadId), a.StartFrame, n)
	if err != nil {
		return nil, err
	}
	body := dap.StackTraceResponseBody{StackFrames: make([]dap.StackFrame, 0, len(frames))}
	if len(frames) > 0 {
		body.TotalFrames = a.StartFrame + len(frames)
		if more {
			body.TotalFrames += n // those that are not walked yet are not counted
		}
	}
	for i := range frames {
		body.StackFrames = append(body.StackFrames, sv.frame(ctx, &frames[i]))
	}
	return &dap.StackTraceResponse{Body: body}, nil
}

func (sv *server) frame(ctx context.Context, f *session.Frame) dap.StackFrame {
	out := dap.StackFrame{Id: int(f.ID), Name: report.Clean(f.Function), InstructionPointerReference: f.PC.String()}
	if out.Name == "" {
		out.Name = f.PC.String()
	}
	if f.Module != "" {
		out.ModuleId = f.Module
	}
	switch {
	case f.Inlined:
		out.Name += " [inlined]"
	case f.Tail:
		out.Name += " [tail call]"
	}
	if f.Signal != "" {
		out.Name = "signal " + report.Clean(f.Signal) + " delivered here"
		if f.SignalConfidence != "" {
			out.Name += " [" + report.Clean(f.SignalConfidence) + "]"
		}
		out.PresentationHint = "label"
		return out
	}
	if f.Trust == report.TrustScan || f.Source.File == "" || f.Folded || f.Library {
		out.PresentationHint = "subtle"
	}
	if f.Source.File != "" {
		src := sv.sourceOf(ctx, f)
		if f.Library {
			src.PresentationHint = "deemphasize" // the editor shows the program's own code first
		}
		out.Source, out.Line, out.Column = &src, f.Source.Line, f.Source.Column
	}
	return out
}

func (sv *server) scopes(ctx context.Context, a *dap.ScopesArguments) (dap.ResponseMessage, error) {
	list, err := sv.s.Scopes(ctx, session.FrameID(a.FrameId))
	if err != nil {
		return nil, err
	}
	body := dap.ScopesResponseBody{Scopes: []dap.Scope{}}
	for _, sc := range list {
		out := dap.Scope{Name: sc.Name, VariablesReference: int(sc.Ref), NamedVariables: sc.Count, PresentationHint: strings.ToLower(sc.Name)}
		out.Expensive = out.PresentationHint == "registers"
		body.Scopes = append(body.Scopes, out)
	}
	return &dap.ScopesResponse{Body: body}, nil
}

// A pageOf stands for the parts of something from number first on.
type pageOf struct {
	ref   session.Ref
	first int
}

const (
	// pageSize is how many parts are listed of something with many; the last of them then stands for the rest.
	pageSize = 200
	// firstPage is where the numbers of pages begin, far from those of a session.
	firstPage = 1 << 30
	// maxPages is how many pages are remembered.
	maxPages = 1 << 16
)

func (sv *server) variables(ctx context.Context, a *dap.VariablesArguments) (dap.ResponseMessage, error) {
	ref, first := session.Ref(a.VariablesReference), 0
	if i := a.VariablesReference - firstPage; i >= 0 {
		if i >= len(sv.pages) {
			return nil, session.ErrUnknown
		}
		ref, first = sv.pages[i].ref, sv.pages[i].first
	}
	if a.Filter == "indexed" { // none was said to be
		return &dap.VariablesResponse{Body: dap.VariablesResponseBody{Variables: []dap.Variable{}}}, nil
	}
	n := pageSize
	if a.Start > 0 {
		first += a.Start
	}
	if a.Count > 0 {
		n = min(a.Count, n)
	}
	list, more, err := sv.s.Children(ctx, ref, first, n)
	if err != nil {
		return nil, err
	}
	body := dap.VariablesResponseBody{Variables: make([]dap.Variable, 0, len(list)+1)}
	for i := range list {
		body.Variables = append(body.Variables, variable(&list[i]))
	}
	if more && a.Count == 0 && len(sv.pages) < maxPages {
		sv.pages = append(sv.pages, pageOf{ref, first + len(list)})
		body.Variables = append(body.Variables, dap.Variable{Name: "...", Value: fmt.Sprintf("from number %d on", first+len(list)), VariablesReference: firstPage + len(sv.pages) - 1,
			PresentationHint: &dap.VariablePresentationHint{Kind: "virtual", Attributes: []string{"readOnly"}}})
	}
	return &dap.VariablesResponse{Body: body}, nil
}

func variable(v *session.Variable) dap.Variable {
	out := dap.Variable{Name: report.Clean(v.Name), Type: report.Clean(v.Type), Value: value(v), VariablesReference: int(v.Ref), EvaluateName: report.UTF8(v.Expression)}
	hint := dap.VariablePresentationHint{Kind: "data", Attributes: []string{"readOnly"}}
	if v.Status != report.StatusSuccess {
		hint.Attributes = append(hint.Attributes, "failedEvaluation")
	}
	out.PresentationHint = &hint
	out.MemoryReference = reference(v)
	return out
}

// reference is the address of a value, or what a pointer points to.
func reference(v *session.Variable) string {
	if v.Kind == string(dwarfvars.KindPointer) {
		word, _, _ := strings.Cut(v.Value, " ")
		if word = strings.TrimSuffix(word, ":"); strings.HasPrefix(word, "0x") && word != "0x0" { // of Go's, what it points to follows
			return word
		}
	}
	if v.HasAddress {
		return fmt.Sprintf("%#x", v.Address)
	}
	return ""
}

// value is a value, or why there is none.
func value(v *session.Variable) string {
	s := report.Clean(v.Value)
	if v.Status != report.StatusSuccess {
		s = "<" + report.Clean(v.Reason) + ">"
	}
	if v.Entry != "" {
		s += " (on entry " + report.Clean(v.Entry) + ")"
	}
	return s + v.Whose()
}

func (sv *server) evaluate(ctx context.Context, a *dap.EvaluateArguments) (dap.ResponseMessage, error) {
	id := session.FrameID(a.FrameId)
	if id == 0 {
		f, err := sv.s.Focus(ctx)
		if err != nil {
			return nil, err
		}
		id = f.ID
	}
	line, sure, is := command(a.Expression)
	if is = is && a.Context == "repl"; is && sure {
		return sv.run(ctx, id, line)
	}
	v, err := sv.s.Evaluate(ctx, id, a.Expression)
	if err != nil && is {
		return sv.run(ctx, id, line)
	}
	if err != nil {
		return nil, err
	}
	if v.Status != report.StatusSuccess && a.Context == "hover" {
		return nil, errors.New(v.Reason)
	}
	return &dap.EvaluateResponse{Body: dap.EvaluateResponseBody{Result: value(&v), Type: report.Clean(v.Type), VariablesReference: int(v.Ref), MemoryReference: reference(&v),
		PresentationHint: &dap.VariablePresentationHint{Attributes: []string{"readOnly"}}}}, nil
}

func (sv *server) modules(ctx context.Context, a *dap.ModulesArguments) (dap.ResponseMessage, error) {
	in, err := sv.s.Info(ctx)
	if err != nil {
		return nil, err
	}
	first, n := 0, len(in.Modules)
	if a != nil {
		first = min(max(a.StartModule, 0), n)
		if a.ModuleCount > 0 {
			n = min(a.ModuleCount, n)
		}
	}
	list := in.Modules[first:min(first+n, len(in.Modules))]
	body := dap.ModulesResponseBody{Modules: make([]dap.Module, 0, len(list)), TotalModules: len(in.Modules)}
	for i := range list {
		m := &list[i]
		body.Modules = append(body.Modules, dap.Module{Id: m.Path, Name: report.Clean(report.Base(m.Path)), Path: report.Clean(m.Path),
			SymbolStatus: m.Status, SymbolFilePath: report.Clean(m.File), Version: m.BuildID, AddressRange: m.Base.String() + "-" + m.End.String()})
	}
	return &dap.ModulesResponse{Body: body}, nil
}

// at reads a memory reference.
func at(ref string, offset int) (uint64, error) {
	addr, err := strconv.ParseUint(ref, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not an address", ref)
	}
	return addr + uint64(offset), nil
}

func (sv *server) readMemory(ctx context.Context, a *dap.ReadMemoryArguments) (dap.ResponseMessage, error) {
	addr, err := at(a.MemoryReference, a.Offset)
	if err != nil {
		return nil, err
	}
	b, err := sv.s.ReadMemory(ctx, addr, a.Count)
	body := dap.ReadMemoryResponseBody{Address: fmt.Sprintf("%#x", addr), Data: base64.StdEncoding.EncodeToString(b)}
	if err != nil {
		if context.Cause(ctx) != nil {
			return nil, err
		}
		body.Data = ""
	}
	body.UnreadableBytes = max(0, a.Count-len(b))
	return &dap.ReadMemoryResponse{Body: body}, nil
}

// maxCode is how many instructions one question returns.
const maxCode = 4096

func (sv *server) disassemble(ctx context.Context, a *dap.DisassembleArguments) (dap.ResponseMessage, error) {
	addr, err := at(a.MemoryReference, a.Offset)
	if err != nil {
		return nil, err
	}
	count := min(max(a.InstructionCount, 0), maxCode)
	before, skip := max(-max(a.InstructionOffset, -maxCode), 0), max(a.InstructionOffset, 0)
	var list []session.Instruction // of those farther away, nothing is said
	if a.InstructionOffset >= -maxCode && a.InstructionOffset <= maxCode {
		list, err = sv.s.Disassemble(ctx, addr, before, max(count-before, 0)+skip)
		if err != nil && context.Cause(ctx) != nil {
			return nil, err
		}
	}
	here := 0
	for here < len(list) && uint64(list[here].Address) < addr {
		here++
	}
	body := dap.DisassembleResponseBody{Instructions: make([]dap.DisassembledInstruction, 0, count)}
	for i := here - before + skip; len(body.Instructions) < count; i++ {
		if i < 0 || i >= len(list) { // the client wants so many, whatever there is
			body.Instructions = append(body.Instructions, dap.DisassembledInstruction{Address: fmt.Sprintf("%#x", addr+uint64(i-here)), Instruction: "(no code)"})
			continue
		}
		in := &list[i]
		text := in.Text
		if text == "" {
			text = "(not decoded)"
		}
		body.Instructions = append(body.Instructions, dap.DisassembledInstruction{Address: in.Address.String(), InstructionBytes: in.Bytes, Instruction: report.Clean(text), Symbol: report.Clean(in.Symbol)})
	}
	return &dap.DisassembleResponse{Body: body}, nil
}

// died says why the process died: in a few words, and in a sentence.
func (sv *server) died(ctx context.Context) (what, why string) {
	c, err := sv.s.Crash(ctx)
	if err != nil || c == nil {
		return "died", ""
	}
	what = c.Signal + c.Exception
	why = c.Reason
	if c.Message != "" {
		why = strings.TrimSpace(c.Message + "\n" + why)
	}
	return report.Clean(what), report.UTF8(why)
}

func (sv *server) exceptionInfo(ctx context.Context, id session.StackID) (dap.ResponseMessage, error) {
	if _, _, err := sv.s.Frames(ctx, id, 0, 1); err != nil {
		return nil, err
	}
	c, err := sv.s.Crash(ctx)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, errors.New("nothing says that the process died")
	}
	list, err := sv.s.Threads(ctx)
	if err != nil {
		return nil, err
	}
	if died := slices.IndexFunc(list, func(st session.Stack) bool { return st.Crashed }); died >= 0 && list[died].ID != id {
		return nil, fmt.Errorf("this one did not die: it is %s that did", list[died].Title())
	}
	what, why := sv.died(ctx)
	body := dap.ExceptionInfoResponseBody{ExceptionId: what, Description: why, BreakMode: "unhandled", Details: &dap.ExceptionDetails{Message: why, TypeName: c.Kind}}
	for i := range c.Causes {
		body.Description += fmt.Sprintf("\ncause: %s [%s]", report.Clean(c.Causes[i].Text), c.Causes[i].Confidence)
	}
	return &dap.ExceptionInfoResponse{Body: body}, nil
}
