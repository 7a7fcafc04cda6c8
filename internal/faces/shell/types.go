package shell

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/report"
)

// ptype writes what a type is made of.
func (sh *Shell) ptype(ctx context.Context, args string) error {
	flags, text := cutFormat(args)
	layout := dwarfvars.Layout{Methods: true}
	for _, c := range flags {
		switch c {
		case 'o':
			layout.Offsets = true
		case 'm':
			layout.Methods = false
		case 't', 'r', 'x', 'd':
		default:
			return fmt.Errorf("ptype/%c is not known; ptype/o shows offsets and holes, /m leaves methods out", c)
		}
	}
	t, err := sh.typeOf(ctx, text)
	if err != nil {
		return err
	}
	layout.Methods = layout.Methods && !layout.Offsets
	lines := t.Definition(layout)
	if layout.Offsets && len(lines) > 1 {
		if err := sh.printf("/* offset | size */\n"); err != nil {
			return err
		}
	}
	for i, line := range lines {
		if i == 0 {
			at := len(line) - len(strings.TrimLeft(line, " "))
			line = line[:at] + "type = " + line[at:]
		}
		if err := sh.printf("%s\n", report.Clean(line)); err != nil {
			return err
		}
	}
	return nil
}

// whatis writes the name of a type.
func (sh *Shell) whatis(ctx context.Context, text string) error {
	if f, err := sh.current(); err == nil && text != "" {
		if v, err := sh.s.Evaluate(ctx, f.ID, text, sh.dollars(ctx, text)); err == nil && v.Type != "" {
			if t, err := sh.typeOf(ctx, text); err == nil { // of an array, with its bounds
				v.Type = t.Name()
			}
			return sh.printf("type = %s\n", report.Clean(v.Type))
		}
	}
	t, err := sh.typeOf(ctx, text)
	if err != nil {
		return err
	}
	return sh.printf("type = %s\n", report.Clean(t.Aliased().Name()))
}

func (sh *Shell) typeOf(ctx context.Context, text string) (t dwarfvars.Type, err error) {
	if text == "" {
		return t, errors.New("a type or an expression is missing: ptype struct tile, ptype q->head")
	}
	f, err := sh.current()
	if err != nil {
		return t, err
	}
	return sh.s.TypeOf(ctx, f.ID, text, sh.dollars(ctx, text))
}

// infoVtbl writes the tables of virtual functions of an object: info vtbl EXPR.
func (sh *Shell) infoVtbl(ctx context.Context, text string) error {
	if text == "" {
		return errors.New("an object is missing: info vtbl shape, info vtbl *this")
	}
	f, err := sh.current()
	if err != nil {
		return err
	}
	list, err := sh.s.VTables(ctx, f.ID, text, sh.dollars(ctx, text))
	if err != nil {
		return err
	}
	for i := range list {
		t := &list[i]
		sep := ""
		if i > 0 {
			sep = "\n"
		}
		if err := sh.printf("%svtable for '%s' @ %#x (subobject @ %#x):\n", sep, report.Clean(t.Class), uint64(t.Table), uint64(t.Object)); err != nil {
			return err
		}
		for k, fn := range t.Functions {
			name := ""
			if fn.Name != "" {
				name = " <" + fn.Name + ">"
			}
			if err := sh.printf("[%d]: %#x%s\n", k, uint64(fn.Address), report.Clean(name)); err != nil {
				return err
			}
		}
		if t.Cut {
			if err := sh.printf("[%d]: not in the dump\n", len(t.Functions)); err != nil {
				return err
			}
		}
	}
	return nil
}
