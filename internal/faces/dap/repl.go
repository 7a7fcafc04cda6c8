package dap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/google/go-dap"

	"github.com/corewalk/corewalk/internal/faces/shell"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// A prompt is the editor's console: expressions, and the commands of corewalk shell.
type prompt struct {
	sh   *shell.Shell
	out  bytes.Buffer
	lost int // bytes that were written beyond maxPrompt
}

// Write implements io.Writer. It keeps what a console shows.
func (p *prompt) Write(b []byte) (int, error) {
	keep := min(len(b), maxPrompt-p.out.Len())
	p.out.Write(b[:keep])
	p.lost += len(b) - keep
	return len(b), nil
}

// maxPrompt is how much one command writes, in bytes.
const maxPrompt = 1 << 20

// prompt returns the console, at a frame.
func (sv *server) prompt(ctx context.Context, id session.FrameID) (*prompt, error) {
	if sv.console == nil {
		p := &prompt{}
		sh, err := shell.New(ctx, sv.s, p, report.TextOptions{})
		if err != nil {
			return nil, err
		}
		p.sh, sv.console = sh, p
	}
	return sv.console, sv.console.sh.Go(ctx, id)
}

// command takes a command from what was typed. "-exec" and "`" before it, as adapters of other debuggers have it, say that it is one; else a first word that
// is a command's name does.
func command(typed string) (line string, sure, is bool) {
	typed = strings.TrimSpace(typed)
	for _, mark := range []string{"-exec ", "`"} {
		if rest, ok := strings.CutPrefix(typed, mark); ok {
			return strings.TrimSpace(rest), true, true
		}
	}
	return typed, false, shell.Is(typed)
}

// run runs a command in a frame, and returns what it writes.
func (sv *server) run(ctx context.Context, id session.FrameID, line string) (dap.ResponseMessage, error) {
	p, err := sv.prompt(ctx, id)
	if err != nil {
		return nil, err
	}
	p.out.Reset()
	p.lost = 0
	if err := p.sh.Run(ctx, line); err != nil && !errors.Is(err, shell.ErrQuit) {
		return nil, errors.New(shell.Explain(err))
	}
	text := p.out.String()
	if p.lost > 0 {
		text = strings.ToValidUTF8(text, "") + fmt.Sprintf("\n... and %d bytes more: corewalk shell writes all", p.lost)
	}
	return &dap.EvaluateResponse{Body: dap.EvaluateResponseBody{Result: strings.TrimSuffix(text, "\n"), PresentationHint: &dap.VariablePresentationHint{Attributes: []string{"readOnly"}}}}, nil
}

// completions completes what is typed at the console.
func (sv *server) completions(ctx context.Context, a *dap.CompletionsArguments) (dap.ResponseMessage, error) {
	body := dap.CompletionsResponseBody{Targets: []dap.CompletionItem{}}
	id := session.FrameID(a.FrameId)
	if id == 0 {
		f, err := sv.s.Focus(ctx)
		if err != nil {
			return &dap.CompletionsResponse{Body: body}, nil
		}
		id = f.ID
	}
	p, err := sv.prompt(ctx, id)
	if err != nil {
		return nil, err
	}
	units := utf16.Encode([]rune(a.Text)) // columns are units of UTF-16, from 1 on
	head := string(utf16.Decode(units[:min(max(a.Column-1, 0), len(units))]))
	line, add := head, 0
	for _, mark := range []string{"-exec ", "`"} {
		if rest, ok := strings.CutPrefix(head, mark); ok {
			line, add = rest, len(utf16.Encode([]rune(mark)))
		}
	}
	before, words, _ := p.sh.Complete(ctx, line, len(line))
	switch {
	case strings.Contains(line, " "):
	case len(words) > 0: // commands: names of the program would only be in their way
		words = append(words, p.sh.Variables(ctx, line)...)
	default: // names of variables
		const asked = "p "
		named, more, _ := p.sh.Complete(ctx, asked+line, len(asked)+len(line))
		if named == asked+before {
			words = append(words, more...)
		} else if len(more) > 0 {
			before, words = strings.TrimPrefix(named, asked), more
		}
	}
	start := len(utf16.Encode([]rune(before))) + add
	for _, w := range words {
		body.Targets = append(body.Targets, dap.CompletionItem{Label: report.Clean(w), Start: start, Length: max(len(utf16.Encode([]rune(line)))+add-start, 0)})
	}
	return &dap.CompletionsResponse{Body: body}, nil
}
