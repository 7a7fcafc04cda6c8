package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
)

// Limits on files of commands: how they name each other, and their lines.
const (
	maxScripts = 8
	maxLine    = 64 << 10
)

// RunAll runs the commands of a reader, one each line. What fails is told, and the others run: failed says that one did. The error is ErrQuit, the reader's, or of
// ctx.
func (sh *Shell) RunAll(ctx context.Context, in io.Reader, tell func(error)) (failed bool, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if ctx.Err() != nil {
			return failed, context.Cause(ctx)
		}
		line := lines.Text()
		for strings.HasSuffix(line, `\`) && !strings.HasPrefix(strings.TrimSpace(line), "echo") && lines.Scan() {
			line = line[:len(line)-1] + lines.Text()
		}
		err := sh.Run(ctx, line)
		if lost := sh.Lost(); lost != nil {
			return failed, lost
		}
		switch {
		case errors.Is(err, ErrQuit):
			return failed, err
		case err != nil:
			failed = true
			tell(err)
		}
	}
	return failed, lines.Err()
}

// script is source FILE.
func (sh *Shell) script(ctx context.Context, args string) error {
	args = strings.TrimSpace(strings.TrimPrefix(args, "-v "))
	if args == "" {
		return errors.New("source FILE: the file is missing")
	}
	if strings.HasSuffix(args, ".py") {
		why, _ := refuses("python")
		return fmt.Errorf("%s: %s", args, why)
	}
	if sh.scripts >= maxScripts {
		return fmt.Errorf("%s: files of commands name each other %d deep", args, maxScripts)
	}
	f, _, err := mmapfile.OpenRegular(args)
	if err != nil {
		return err
	}
	defer f.Close()
	sh.scripts++
	defer func() { sh.scripts--; sh.inBlock = 0 }()
	n := 0
	failed, err := sh.RunAll(ctx, f, func(err error) {
		if n++; n <= maxTold {
			_ = sh.printf("%s: %s\n", args, Explain(err))
		}
	})
	if err == nil && failed {
		err = fmt.Errorf("%s: %d commands failed", args, n)
	}
	return err
}

// maxTold is how many failures of one file of commands are told.
const maxTold = 100
