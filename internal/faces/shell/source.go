package shell

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A listing is where list is: an empty one goes on behind it.
type listing struct {
	frame       session.FrameID // in which list was asked for first
	path        string          // as the debugging information has it
	addr        arch.Address    // code of the file
	first, last int             // lines that were shown; 0 for none
}

// fileLine parts "file.c:12".
func fileLine(s string) (file string, line int, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i <= 0 || s[i-1] == ':' {
		return "", 0, false
	}
	n, err := strconv.Atoi(s[i+1:])
	return s[:i], n, err == nil
}

// source is list: nothing goes on, - goes back; a line, FIRST,LAST, a function, FILE:LINE, FILE:FUNCTION or *ADDRESS are shown with the lines around.
func (sh *Shell) source(ctx context.Context, args string) error {
	size := sh.settings.listSize
	f, err := sh.current()
	if err == nil && sh.list.frame != f.ID {
		sh.list = listing{frame: f.ID, path: f.Source.File, addr: arch.Address(f.PC)}
		if f.Source.File != "" && args == "" {
			return sh.lines(ctx, f.Source.Line-size/2, f.Source.Line-size/2+size-1)
		}
	}
	switch {
	case args == "" || args == "+":
		if sh.list.last == 0 {
			if err == nil && f.Source.File != "" {
				return sh.lines(ctx, f.Source.Line-size/2, f.Source.Line-size/2+size-1)
			}
			if err == nil {
				err = errors.New("the frame has no source line; list FUNCTION shows a function")
			}
			return err
		}
		return sh.lines(ctx, sh.list.last+1, sh.list.last+size)
	case args == "-":
		if sh.list.last == 0 && err == nil && f.Source.File != "" {
			return sh.lines(ctx, f.Source.Line-size, f.Source.Line-1)
		}
		if sh.list.first <= 1 {
			return errors.New("the file's first line was shown")
		}
		return sh.lines(ctx, sh.list.first-size, sh.list.first-1)
	}
	from, to, isRange := strings.Cut(args, ",")
	if !isRange {
		line, err := sh.lineOf(ctx, args)
		if err != nil {
			return err
		}
		return sh.lines(ctx, line-size/2, line-size/2+size-1)
	}
	from, to = strings.TrimSpace(from), strings.TrimSpace(to)
	first, last := 0, 0
	if from != "" {
		if first, err = sh.lineOf(ctx, from); err != nil {
			return err
		}
	}
	if n, ok := strings.CutPrefix(to, "+"); ok && from != "" { // so many more
		if last, err = strconv.Atoi(n); err != nil || last < 0 {
			return fmt.Errorf("%q is no number of lines", to)
		}
		last += first
	} else if to != "" {
		if last, err = sh.lineOf(ctx, to); err != nil {
			return err
		}
	}
	switch {
	case from == "" && to == "":
		return errors.New("list FIRST,LAST: one of the lines is missing")
	case from == "":
		first = last - size + 1
	case to == "":
		last = first + size - 1
	}
	if last < first {
		return fmt.Errorf("the last line, %d, is before the first, %d", last, first)
	}
	return sh.lines(ctx, first, last)
}

// lineOf is the line that a person names. It makes its file the one that is listed.
func (sh *Shell) lineOf(ctx context.Context, text string) (int, error) {
	if n, err := strconv.Atoi(text); err == nil {
		if n < 1 {
			return 0, fmt.Errorf("%d is no line", n)
		}
		return n, nil
	}
	file, rest, ok := strings.Cut(text, ":")
	if ok && !strings.HasPrefix(rest, ":") && file != "" {
		if n, err := strconv.Atoi(rest); err == nil {
			return n, sh.openNamed(ctx, file)
		}
		text = rest // FILE:FUNCTION
	}
	at, err := sh.location(ctx, text)
	if err != nil {
		return 0, err
	}
	src, err := sh.s.Line(ctx, at)
	if err != nil {
		return 0, err
	}
	if src.File == "" {
		return 0, fmt.Errorf("no source line is known of %s", text)
	}
	sh.list.path, sh.list.addr = src.File, at
	return src.Line, nil
}

// openNamed looks for a file of a frame's stack by the end of its path.
func (sh *Shell) openNamed(ctx context.Context, name string) error {
	same := func(path string) bool { return path == name || strings.HasSuffix(path, "/"+name) }
	if same(sh.list.path) {
		return nil
	}
	if sh.has {
		frames, _, err := sh.s.Frames(ctx, sh.stack.ID, 0, allFrames)
		if err != nil {
			return err
		}
		for i := range frames {
			if same(frames[i].Source.File) {
				sh.list.path, sh.list.addr = frames[i].Source.File, arch.Address(frames[i].PC)
				return nil
			}
		}
	}
	return fmt.Errorf("no frame of this stack is in %s: list FUNCTION shows a function of it", name)
}

// open opens the file that is listed.
func (sh *Shell) open(ctx context.Context) (*modules.SourceFile, error) {
	if sh.list.path == "" {
		return nil, errors.New("the frame has no source line; list FUNCTION shows a function")
	}
	file, err := sh.s.SourceOf(ctx, sh.list.addr, sh.list.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the source file %s was not found; --search DIR or --source-map FROM=TO says where sources are", report.Clean(sh.list.path))
	}
	return file, err
}

// lines writes lines of the file that is listed.
func (sh *Shell) lines(ctx context.Context, first, last int) error {
	file, err := sh.open(ctx)
	if err != nil {
		return err
	}
	if first < 1 {
		last += 1 - first
		first = 1
	}
	first, lines := file.Lines(first, min(last, first+maxLines))
	if len(lines) == 0 {
		return fmt.Errorf("%s has no line %d", report.Clean(file.Path), first)
	}
	sh.list.first, sh.list.last = first, first+len(lines)-1
	for i, line := range lines {
		mark := " "
		if sh.has && first+i == sh.frame.Source.Line && sh.list.path == sh.frame.Source.File {
			mark = ">"
		}
		if err := sh.printf("%s %d\t%s\n", mark, first+i, sourceText(line)); err != nil {
			return err
		}
	}
	return nil
}

// tab is how many columns a tab goes on to.
const tab = 8

// sourceText is a line of source with its tabs as columns.
func sourceText(line string) string {
	var b strings.Builder
	n := 0
	for _, r := range line {
		if r != '\t' {
			b.WriteRune(r)
			n++
			continue
		}
		for more := tab - n%tab; more > 0; more-- {
			b.WriteByte(' ')
			n++
		}
	}
	return report.Clean(b.String())
}

// maxLines is how many lines one list shows.
const maxLines = 10_000

// search looks for a line of the listed file that matches, behind those that were shown.
func (sh *Shell) search(ctx context.Context, args string) error {
	re, err := regexp.Compile(args)
	if err != nil {
		return fmt.Errorf("the pattern: %w", err)
	}
	if args == "" {
		return errors.New("a regular expression is missing")
	}
	if f, err := sh.current(); err == nil && sh.list.frame != f.ID {
		sh.list = listing{frame: f.ID, path: f.Source.File, addr: arch.Address(f.PC)}
	}
	file, err := sh.open(ctx)
	if err != nil {
		return err
	}
	first, lines := file.Lines(sh.list.last+1, 1<<30)
	for i, line := range lines {
		if re.MatchString(line) {
			return sh.lines(ctx, first+i, first+i)
		}
	}
	return fmt.Errorf("no line behind %d matches %s", sh.list.last, args)
}

// infoSource says which file the frame's code is of.
func (sh *Shell) infoSource(ctx context.Context, _ string) error {
	f, err := sh.current()
	if err != nil {
		return err
	}
	if f.Source.File == "" {
		return errors.New("no source file is known of the frame")
	}
	rows := [][]string{{"source file", report.Clean(f.Source.File)}, {"line", strconv.Itoa(f.Source.Line)}}
	switch file, err := sh.s.SourceOf(ctx, arch.Address(f.PC), f.Source.File); {
	case err != nil:
		rows = append(rows, []string{"at hand", "no; --search DIR or --source-map FROM=TO says where sources are"})
	default:
		rows = append(rows, []string{"at hand", report.Clean(file.Path)})
	}
	if f.Language != "" {
		rows = append(rows, []string{"language", f.Language})
	}
	return report.WriteColumns(sh.out, []string{"", "value"}, rows)
}
