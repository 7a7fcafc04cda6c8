package shell

import (
	"context"
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/report"
)

// display shows an expression now and after each change of the frame.
func (sh *Shell) display(ctx context.Context, args string) error {
	if args == "" {
		return sh.displays(ctx)
	}
	if len(sh.displayed) >= maxDisplays {
		return fmt.Errorf("%d expressions are displayed: undisplay N takes one away", maxDisplays)
	}
	if err := sh.shown(ctx, sh.nextDisplay+1, args); err != nil {
		return err
	}
	sh.nextDisplay++
	sh.displayed = append(sh.displayed, displayed{sh.nextDisplay, args})
	return nil
}

const maxDisplays = 50

// A displayed expression has a number.
type displayed struct {
	n    int
	expr string
}

// shown writes one displayed expression.
func (sh *Shell) shown(ctx context.Context, n int, args string) error {
	format, expr := cutFormat(args)
	if format != "" && (len(format) > 1 || strings.ContainsAny(format, "si")) {
		if err := sh.printf("%d: x/%s %s\n", n, format, expr); err != nil {
			return err
		}
		return sh.examine(ctx, "/"+format+" "+expr)
	}
	v, err := sh.value(ctx, expr)
	if err != nil {
		return err
	}
	s, err := sh.valueText(ctx, &v, format)
	if err != nil {
		return err
	}
	return sh.printf("%d: %s = %s\n", n, report.Clean(expr), s)
}

func (sh *Shell) displays(ctx context.Context) error {
	for _, d := range sh.displayed {
		if err := sh.shown(ctx, d.n, d.expr); err != nil && context.Cause(ctx) != nil {
			return err
		}
	}
	return nil
}

func (sh *Shell) undisplay(_ context.Context, args string) error {
	if args == "" {
		sh.displayed = nil
		return nil
	}
	for word := range strings.FieldsSeq(args) {
		n, err := number(word, 0)
		if err != nil {
			return err
		}
		found := false
		for i := range sh.displayed {
			if sh.displayed[i].n == n {
				sh.displayed, found = append(sh.displayed[:i], sh.displayed[i+1:]...), true
				break
			}
		}
		if !found {
			return fmt.Errorf("no expression with the number %d is displayed", n)
		}
	}
	return nil
}
