package command

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/files/broker"
	"github.com/corewalk/corewalk/internal/files/debuginfod"
	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
	"github.com/corewalk/corewalk/modules"
)

// Values of --debuginfod that are not URLs.
const (
	serversOfEnv = "env"  // the servers in DEBUGINFOD_URLS; the meaning of the flag without a value
	noServers    = "none" // no servers, not even those
)

// fetchFlags say which servers to ask for files: debuginfod servers, and those of the
// symbol path.
type fetchFlags struct {
	urls    []string
	symbols symbolFlags
	cache   string // keeps what debuginfod servers have sent; "" for the directory that clients share

	client modules.Fetcher // nil if there are none
	shown  fetching
	notes  []string // what was ignored in the environment, and why

	// via is what a sandboxed process asks instead of the clients; nil outside.
	via *broker.Client
}

func (f *fetchFlags) register(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.urls, "debuginfod", nil, "fetch missing files from the debuginfod server at `URL` (repeatable; default: those of DEBUGINFOD_URLS; none disables servers)")
	fs.Lookup("debuginfod").NoOptDefVal = serversOfEnv
	f.symbols.register(fs)
}

// check makes the clients that the flags and the environment ask for. Errors in the
// flags are usage errors. Errors in the environment are only noted, because others may
// have set it.
func (f *fetchFlags) check(e env) error {
	cfg := f.config(false)
	if err := f.symbols.check(e, cfg); err != nil {
		return err
	}
	return f.checkDebuginfod(e)
}

// config returns the configuration that the environment asks for.
func (f *fetchFlags) config(servers bool) settings.Config {
	cfg := settings.FromEnv(os.Getenv, servers)
	if f.cache != "" {
		cfg.CacheDir = f.cache
	}
	cfg.UserAgent = "corewalk/" + version()
	cfg.Progress = f.shown.report
	return cfg
}

func (f *fetchFlags) checkDebuginfod(e env) error {
	if len(f.urls) == 1 && f.urls[0] == noServers {
		return nil
	}
	asksEnv := len(f.urls) == 0 || slices.Contains(f.urls, serversOfEnv)
	cfg := f.config(asksEnv)
	if len(f.urls) == 0 {
		f.ofEnv(e, cfg)
		return nil
	}
	if asksEnv && len(cfg.URLs) == 0 && len(cfg.LeftOut) == 0 {
		return errors.New("--debuginfod: DEBUGINFOD_URLS names no server; give one with --debuginfod=URL")
	}
	for _, v := range f.urls {
		if v != serversOfEnv {
			cfg.URLs = append(cfg.URLs, strings.Fields(v)...)
		}
	}
	var err error
	if f.client, err = servers(cfg); err != nil {
		return fmt.Errorf("--debuginfod: %w%s", err, despite(cfg))
	}
	f.note(cfg)
	return nil
}

// servers makes a client of debuginfod servers.
func servers(cfg settings.Config) (modules.Fetcher, error) {
	c, err := debuginfod.New(cfg)
	if err != nil {
		return nil, err // avoids a nil *Client in a non-nil interface; so do the others
	}
	return c, nil
}

// ofEnv makes the client that the environment alone asks for.
func (f *fetchFlags) ofEnv(e env, cfg settings.Config) {
	if len(cfg.URLs)+len(cfg.LeftOut) == 0 {
		return
	}
	f.note(cfg)
	if len(cfg.URLs) == 0 {
		return
	}
	var err error
	if f.client, err = servers(cfg); err != nil {
		f.notes = append(f.notes, fmt.Sprintf("DEBUGINFOD_URLS: %v; no server is asked", err))
	}
}

func (f *fetchFlags) note(cfg settings.Config) {
	f.notes = append(f.notes, cfg.Warnings...)
	for _, s := range cfg.LeftOut {
		f.notes = append(f.notes, "DEBUGINFOD_URLS: "+s+despite(cfg))
	}
}

// despite returns advice about servers that are left out.
func despite(cfg settings.Config) string {
	if len(cfg.LeftOut) == 0 {
		return ""
	}
	return "; --debuginfod=URL uses the server without checks"
}

// options returns options for corewalk.Open.
func (f *fetchFlags) options(e env) []corewalk.Option {
	if f.via == nil {
		f.begin(e)
	}
	var opts []corewalk.Option
	if f.symbols.path != "" {
		opts = append(opts, corewalk.WithSymbolPath(f.symbols.path))
	}
	files, symbols := f.fetchers()
	if f.via != nil && files != nil {
		files = f.via
	}
	if f.via != nil && symbols != nil {
		symbols = f.via
	}
	if files != nil {
		opts = append(opts, corewalk.WithFetcher(files))
	}
	if symbols != nil {
		opts = append(opts, corewalk.WithSymbolFetcher(symbols))
	}
	return opts
}

// fetchers returns the clients, nil if there are none.
func (f *fetchFlags) fetchers() (files modules.Fetcher, symbols modules.SymbolFetcher) {
	return f.client, f.symbols.client
}

// begin says what is ignored, and prepares to show what is fetched.
func (f *fetchFlags) begin(e env) {
	for _, n := range slices.Concat(f.notes, f.symbols.notes) {
		e.say("%s", n)
	}
	if f.client == nil && f.symbols.client == nil {
		return
	}
	if isTerminal(e.stderr) {
		f.shown.line.out = e.stderr
	} else if _, set := os.LookupEnv("DEBUGINFOD_PROGRESS"); set {
		f.shown.log = e.say
	}
}

// fetching shows what is being fetched: on one line of a terminal or, if there is no
// terminal, with a line at the beginning and at the end of each file.
type fetching struct {
	mu     sync.Mutex
	line   progress
	log    func(format string, args ...any) // nil for no such lines
	active []settings.Progress
}

// report is called by the goroutines that fetch.
func (f *fetching) report(p settings.Progress) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.line.out == nil && f.log == nil {
		return
	}
	n := len(f.active)
	f.active = slices.DeleteFunc(f.active, func(a settings.Progress) bool {
		return a.BuildID == p.BuildID && a.Kind == p.Kind && a.Name == p.Name
	})
	if f.log != nil {
		f.logged(p, len(f.active) == n)
	}
	if !p.Ended {
		f.active = append(f.active, p)
	}
	if f.line.out == nil {
		return
	}
	if len(f.active) == 0 {
		f.line.done()
		return
	}
	p = f.active[len(f.active)-1]
	f.line.show(f.text(), p.Done, p.Total)
}

// logged writes the line for a file that begins (first) or has ended.
func (f *fetching) logged(p settings.Progress, first bool) {
	switch {
	case p.OK:
		f.log("fetched %s from %s: %s", fetched(p), p.Server, megabytes(p.Done))
	case p.Ended:
		f.log("could not fetch %s", fetched(p))
	case first:
		f.log("fetching %s", fetched(p))
	}
}

// fetched returns the name of what is fetched.
func fetched(p settings.Progress) string {
	if p.Name != "" {
		return fmt.Sprintf("%s (%s, %s)", p.Name, p.Kind, p.BuildID)
	}
	return p.Kind + " of " + p.BuildID
}

func (f *fetching) text() string {
	p := f.active[len(f.active)-1]
	s := fmt.Sprintf("fetching %s of %.8s", p.Kind, p.BuildID)
	if p.Name != "" {
		s = "fetching " + p.Name
	}
	if p.Server != "" {
		s += " from " + p.Server
	}
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
