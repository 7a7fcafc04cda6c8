package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/debuginfod"
)

// Values of --debuginfod that are no URL.
const (
	serversOfEnv = "env"  // those of DEBUGINFOD_URLS; what the flag means without a value
	noServers    = "none" // not even those
)

// fetchFlags say which debuginfod servers are asked for files.
type fetchFlags struct {
	urls []string

	client *debuginfod.Client // nil for none
	shown  fetching
	note   error // why the servers of the environment are not asked
}

func (f *fetchFlags) register(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.urls, "debuginfod", nil, "fetch missing files from the debuginfod server at `URL` (repeatable; default: those of DEBUGINFOD_URLS; none asks none)")
	fs.Lookup("debuginfod").NoOptDefVal = serversOfEnv
}

// check makes the client that the flag and the environment ask for. The flag must
// make sense; what is wrong in the environment, which others have set, is noted.
func (f *fetchFlags) check() error {
	cfg := debuginfod.FromEnv(os.Getenv)
	cfg.UserAgent = "corewalk/" + corewalk.Version
	cfg.Progress = f.shown.report
	if len(f.urls) == 0 {
		if len(cfg.URLs) > 0 {
			f.client, f.note = debuginfod.New(cfg)
		}
		return nil
	}
	ofEnv := cfg.URLs
	cfg.URLs = nil
	for _, v := range f.urls {
		switch {
		case v == noServers && len(f.urls) == 1:
			return nil
		case v != serversOfEnv:
			cfg.URLs = append(cfg.URLs, strings.Fields(v)...)
		case len(ofEnv) > 0:
			cfg.URLs = append(cfg.URLs, ofEnv...)
		case os.Getenv("DEBUGINFOD_URLS") != "":
			return errors.New("--debuginfod: DEBUGINFOD_URLS wants signatures of files to be checked (ima:enforcing), which corewalk does not; --debuginfod=URL asks without")
		default:
			return errors.New("--debuginfod: DEBUGINFOD_URLS names no server; give one with --debuginfod=URL")
		}
	}
	var err error
	if f.client, err = debuginfod.New(cfg); err != nil {
		return fmt.Errorf("--debuginfod: %w", err)
	}
	return nil
}

// options are those of corewalk.Open.
func (f *fetchFlags) options(e env) []corewalk.Option {
	if f.note != nil {
		e.say("DEBUGINFOD_URLS: %v; no server is asked", f.note)
	}
	if f.client == nil {
		return nil
	}
	if isTerminal(e.stderr) {
		f.shown.line.out = e.stderr
	}
	return []corewalk.Option{corewalk.WithFetcher(e.ctx, f.client)}
}

// fetching shows what is being fetched, on one line of a terminal.
type fetching struct {
	mu     sync.Mutex
	line   progress
	active []debuginfod.Progress
}

// report is called by the goroutines that fetch.
func (f *fetching) report(p debuginfod.Progress) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.line.out == nil {
		return
	}
	keep := f.active[:0]
	for _, a := range f.active {
		if a.BuildID != p.BuildID || a.Kind != p.Kind {
			keep = append(keep, a)
		}
	}
	f.active = keep
	if !p.Ended {
		f.active = append(f.active, p)
	}
	if len(f.active) == 0 {
		f.line.done()
		return
	}
	f.line.show(f.text())
}

func (f *fetching) text() string {
	p := f.active[len(f.active)-1]
	s := fmt.Sprintf("fetching %s of %.8s from %s", p.Kind, p.BuildID, p.Server)
	switch {
	case p.Total > 0:
		s += fmt.Sprintf(": %d%% of %s", 100*min(p.Done, p.Total)/p.Total, megabytes(p.Total))
	case p.Done > 0:
		s += ": " + megabytes(p.Done)
	}
	if n := len(f.active) - 1; n > 0 {
		s += fmt.Sprintf(", and %d more", n)
	}
	return s
}
