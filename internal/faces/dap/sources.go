package dap

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-dap"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
	"github.com/corewalk/corewalk/unwind/arch"
)

// sources are the source files that frames named. The text of no other file is given out.
type sources struct {
	list []namedSource
	at   map[string]int // where a path is in list
}

// A namedSource is asked for again when its text is wanted: it is not kept here.
type namedSource struct {
	as       dap.Source
	code     arch.Address // of the module
	recorded string       // its path there
}

func (s *sources) all() []dap.Source {
	out := make([]dap.Source, len(s.list))
	for i := range s.list {
		out[i] = s.list[i].as
	}
	return out
}

// find returns a file that a client asks for.
func (s *sources) find(a *dap.SourceArguments) (namedSource, bool) {
	i := a.SourceReference - 1
	if a.Source != nil && i < 0 {
		i = a.Source.SourceReference - 1
		if n, ok := s.at[a.Source.Path]; ok && i < 0 {
			i = n
		}
	}
	if i < 0 || i >= len(s.list) {
		return namedSource{}, false
	}
	return s.list[i], true
}

// sourceOf returns the source file of a frame: on this machine, or as the program recorded it. One that the editor cannot open itself, as it is
// in an image, or that is kept by another name, as it was fetched, has a number to ask for its text.
func (sv *server) sourceOf(ctx context.Context, f *session.Frame) dap.Source {
	src := dap.Source{Name: report.Clean(report.Base(f.Source.File))}
	file, err := sv.s.Source(ctx, f.ID)
	if err != nil {
		src.Path, src.PresentationHint = report.Clean(f.Source.File), "deemphasize"
		src.Origin = "not found: give search or sourceMap"
		return src
	}
	path := file.Path
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if i, ok := sv.sources.at[path]; ok {
		return sv.sources.list[i].as
	}
	src.Path = path
	st, err := os.Stat(path)
	switch fetched := report.Base(path) != report.Base(f.Source.File); {
	case fetched || err != nil || !st.Mode().IsRegular():
		src.Path, src.SourceReference = report.Clean(f.Source.File), len(sv.sources.list)+1
		if src.Origin = "in an image"; fetched {
			src.Origin = "fetched"
		}
	case file.Newer && f.Language == "":
		src.Origin = "changed since the program was built"
	}
	if sv.sources.at == nil {
		sv.sources.at = map[string]int{}
	}
	sv.sources.at[path] = len(sv.sources.list)
	sv.sources.list = append(sv.sources.list, namedSource{src, arch.Address(f.Lookup), f.Source.File})
	return src
}

// source returns the text of a file that a frame named.
func (sv *server) source(ctx context.Context, a *dap.SourceArguments) (dap.ResponseMessage, error) {
	named, ok := sv.sources.find(a)
	if !ok {
		return nil, errors.New("no frame is in this file")
	}
	file, err := sv.s.SourceOf(ctx, named.code, named.recorded)
	if err != nil {
		return nil, err
	}
	_, lines := file.Lines(1, int(^uint(0)>>1))
	return &dap.SourceResponse{Body: dap.SourceResponseBody{Content: report.UTF8(strings.Join(lines, "\n") + "\n")}}, nil
}
