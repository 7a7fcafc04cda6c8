package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk/internal/command/serving"
	"github.com/corewalk/corewalk/internal/triage"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/signature"
	"github.com/corewalk/corewalk/report"
)

const serveUsage = `corewalk serve is a crash service: programs and people send dumps and symbols to it over HTTP, it groups the crashes by bug, and shows
them on a page. It needs nothing else installed, and keeps everything in one directory. For many machines there is the program corewalkd.

Usage:
  corewalk serve [flags]                                       serve until Ctrl-C or SIGTERM
  corewalk serve token add --project NAME --scope SCOPE,...    make a token, and print it
  corewalk serve token list                                    all tokens, without their secrets
  corewalk serve token revoke ID
  corewalk serve account add --project NAME --scope SCOPE,... PERSON    make an account, or give one another project, and print the link for its password
  corewalk serve account list                                  all accounts
  corewalk serve account passwd PERSON                         ask for another password; --invite prints a link for one
  corewalk serve account remove PERSON                         remove it, or with --project from one project
  corewalk serve backup DIR                                    back up everything into DIR while it runs; the next time only what is new
  corewalk serve restore DIR                                   make a service from a backup, where there is none
  corewalk serve import --project NAME DIR                     take the dumps below DIR, as Socorro and Sentry store them, or any

The first start makes a token for everything in the project "default", and prints it and the page's address. Without --dir, tokens, accounts and backups are those
of the service that this user runs.
Scopes: upload (send dumps), symbols (send symbols), fetch (get symbols, as debuggers do), read (see everything), triage (decide
about groups), admin (make tokens, delete dumps).

Examples:
  corewalk serve
  corewalk serve --dir /srv/crashes --listen :8780 --tls-cert cert.pem --tls-key key.pem --keep 90d
  corewalk serve token add --project shop --scope upload --note "the tills"
  curl -H "Authorization: Bearer $TOKEN" --data-binary @core.4242 http://127.0.0.1:8780/api/v1/projects/default/dumps

Exit status: 0 the service was ended; 1 it could not go on; 2 wrong usage.
`

// The values of --log.
const (
	logText = "text"
	logJSON = "json"
)

// serveDir says where a service keeps everything.
type serveDir struct{ dir string }

func (d *serveDir) register(fs *pflag.FlagSet) {
	fs.StringVar(&d.dir, "dir", "", "keep everything in `DIR` (default: corewalk/serve in the user's state directory)")
}

func (d *serveDir) path() (string, error) {
	if d.dir != "" {
		return filepath.Abs(d.dir)
	}
	state, err := stateDir()
	if err != nil {
		return "", fmt.Errorf("where to keep dumps: %w; give a directory with --dir", err)
	}
	return filepath.Join(state, "corewalk", "serve"), nil
}

// A daysFlag is a duration that may also be in days: 90d.
type daysFlag time.Duration

func (d *daysFlag) String() string { return time.Duration(*d).String() }

// Type implements pflag.Value.
func (d *daysFlag) Type() string { return "time" }

// Set implements pflag.Value.
func (d *daysFlag) Set(v string) error {
	t, err := time.ParseDuration(v)
	if days, ok := strings.CutSuffix(v, "d"); ok {
		var n int
		if n, err = strconv.Atoi(days); err == nil && n > 36500 {
			err = errors.New("more than a hundred years")
		}
		t = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || t < 0 {
		return errors.New("must be a time such as 90d or 36h")
	}
	*d = daysFlag(t)
	return nil
}

// serveFlags are the flags of corewalk serve.
type serveFlags struct {
	fileFlags
	serveDir
	listen, cert, key, log string
	maxUpload              sizeFlag
	attachments            sizeOrNone
	rate                   float64
	keepFor                daysFlag
	keepSize               sizeFlag
	keepPerGroup           int
	jobs                   int
	deadline               time.Duration
	memory                 sizeFlag
	verbose                bool
	answer                 string
	versions               versionsFlag
	notify                 notifyFlags
	signIn                 signInFlags
}

// signInFlags say which identity provider lets people in, and whom.
type signInFlags struct {
	issuer, client, secretFile string
	scopes, allow              []string
	session                    time.Duration
}

// clientSecret is the variable with the secret of --oidc-client.
const clientSecret = "OIDC_CLIENT_SECRET"

func (f *signInFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.issuer, "oidc-issuer", "", "let people log in whom the identity provider at `URL` knows, by OpenID Connect; with --public-url")
	fs.StringVar(&f.client, "oidc-client", "", "the provider knows this service as the client `ID`; "+clientSecret+" has its secret")
	fs.StringVar(&f.secretFile, "oidc-secret-file", "", "the client's secret is in `FILE`")
	fs.StringArrayVar(&f.allow, "oidc-allow", nil, "let in who has a claim: `PROJECT:SCOPE,SCOPE:CLAIM=VALUE`, such as shop:read,triage:groups=developers (repeatable)")
	fs.StringArrayVar(&f.scopes, "oidc-scope", nil, "ask the provider for `SCOPE`, too, such as groups (repeatable)")
	fs.DurationVar(&f.session, "oidc-session", 12*time.Hour, "who has logged in so is asked again after `TIME`")
}

// provider returns what lets people in.
func (f *signInFlags) provider(page string) (serving.SignIn, error) {
	s := serving.SignIn{Issuer: f.issuer, Client: f.client, Secret: os.Getenv(clientSecret), Scopes: f.scopes, Allow: f.allow, Session: f.session}
	if f.secretFile != "" {
		text, err := os.ReadFile(f.secretFile)
		if err != nil {
			return s, fmt.Errorf("--oidc-secret-file: %w", err)
		}
		s.Secret = strings.TrimSpace(string(text))
	}
	return s, s.Check(page)
}

// notifyFlags say how people are told of what happens to groups.
type notifyFlags struct {
	smtp, from, page string
	private          bool
}

// smtpPassword is the variable with the password of --smtp. Processes in a sandbox have no variable of this name, as they have those that begin with COREWALK_.
const smtpPassword = "SMTP_PASSWORD"

func (f *notifyFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.smtp, "smtp", "", "send mail through smtp://USER@`HOST`:PORT, or smtps://; "+smtpPassword+" has the password")
	fs.StringVar(&f.from, "mail-from", "", "send mail from `ADDRESS`; with --smtp")
	fs.StringVar(&f.page, "public-url", "", "the page is at `URL`, for links in messages")
	fs.BoolVar(&f.private, "notify-private", false, "let webhooks lead to private networks and to this machine, not only to public addresses")
}

// sender returns what sends messages.
func (f *notifyFlags) sender() (serving.Notify, error) {
	n := serving.Notify{Private: f.private, Page: f.page, SMTP: f.smtp, From: f.from, Password: os.Getenv(smtpPassword)}
	if (f.smtp == "") != (f.from == "") {
		return n, errors.New("--smtp and --mail-from belong together")
	}
	if f.page != "" && !strings.HasPrefix(f.page, "https://") && !strings.HasPrefix(f.page, "http://") {
		return n, fmt.Errorf("--public-url %.80s: must be https://HOST", f.page)
	}
	return n, n.Check()
}

// A versionsFlag has releases by builds: BUILD=RELEASE.
type versionsFlag map[string]string

func (v *versionsFlag) String() string { return "" }

// Type implements pflag.Value.
func (v *versionsFlag) Type() string { return "version" }

// Set implements pflag.Value.
func (v *versionsFlag) Set(text string) error {
	build, release, ok := strings.Cut(text, "=")
	if !ok || build == "" || release == "" || len(text) > 256 {
		return errors.New("must be BUILD=RELEASE, such as ef6ffcc3cd8e7edde65efd40b15dce160e27d896=1.2.3")
	}
	if *v == nil {
		*v = versionsFlag{}
	}
	(*v)[build] = release
	return nil
}

func (f *serveFlags) set() *pflag.FlagSet {
	fs := f.common("corewalk serve")
	fs.StringVar(&f.listen, "listen", "127.0.0.1:8780", "take connections at `ADDRESS:PORT`; :8780 are those of all networks")
	fs.StringVar(&f.cert, "tls-cert", "", "the certificates are in `FILE` (PEM); with --tls-key")
	fs.StringVar(&f.key, "tls-key", "", "the certificate's key is in `FILE` (PEM)")
	f.maxUpload = 2 << 30
	fs.Var(&f.maxUpload, "max-upload", "take no dump and no symbol file of more than `SIZE`, unpacked")
	f.attachments.sizeFlag = serving.DefaultAttachments
	fs.Var(&f.attachments, "max-attachments", "keep files of at most `SIZE` together that come with a dump, such as logs and screenshots; 0 for none")
	fs.Float64Var(&f.rate, "rate", 0, "take at most `N` uploads a second with one token (default: no limit)")
	fs.Var(&f.keepFor, "keep", "remove dumps after `TIME`, such as 90d; what is known of them stays (default: never)")
	fs.Lookup("keep").DefValue = "0s"
	fs.Var(&f.keepSize, "keep-size", "keep the newest dumps of a project, of `SIZE` together (default: all)")
	fs.Lookup("keep-size").DefValue = "0"
	fs.IntVar(&f.keepPerGroup, "keep-per-group", 0, "keep the newest `N` dumps of a group (default: all)")
	fs.Var(&f.versions, "version-of", "dumps of a build are of a release unless they say another: `BUILD=RELEASE` (repeatable)")
	f.notify.register(fs)
	f.signIn.register(fs)
	fs.StringVar(&f.answer, "answer", "", "answer questions about the dump in `FILE`, on standard input and output")
	fs.MarkHidden("answer")
	return fs
}

// common are the flags that corewalkd worker has, too.
func (f *serveFlags) common(name string) *pflag.FlagSet {
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.fileFlags.register(fs, formatText)
	fs.MarkHidden("format")
	fs.MarkHidden("color")
	f.serveDir.register(fs)
	f.sandbox.register(fs, sandboxAuto)
	fs.IntVar(&f.jobs, "jobs", 0, "analyse `N` dumps of a project at a time (default: twice the number of processors)")
	fs.DurationVar(&f.deadline, "deadline", triage.DefaultDeadline, "give up on a dump after this `TIME`")
	f.memory = triage.DefaultMemory
	fs.Var(&f.memory, "memory", "give up on a dump whose analysis takes more than `SIZE` of memory")
	fs.StringVar(&f.log, "log", logText, "log in `FORMAT` on standard error: text or json")
	fs.BoolVar(&f.verbose, "verbose", false, "log each request")
	choose(fs, "log", logText, logJSON)
	return fs
}

// ownFlags are those that the analysis does not have.
func ownFlags() []string {
	return []string{"dir", "db", "objects", "listen", "tls-cert", "tls-key", "max-upload", "max-attachments", "rate", "keep", "keep-size", "keep-per-group", "log", "verbose", "jobs", "answer", "version-of", "smtp", "mail-from", "public-url", "notify-private", "oidc-issuer", "oidc-client", "oidc-secret-file", "oidc-allow", "oidc-scope", "oidc-session"}
}

func runServe(args []string, e env) int {
	if len(args) > 0 {
		switch args[0] {
		case "token":
			return runServeToken(args[1:], e)
		case "account":
			return runServeAccount(args[1:], e)
		case "backup":
			return runServeBackup(args[1:], e)
		case "restore":
			return runServeRestore(args[1:], e)
		case "import":
			return runServeImport(args[1:], e)
		}
	}
	var f serveFlags
	fs := f.set()
	if status, ok := parse(fs, args, serveUsage, e); !ok {
		return status
	}
	if err := f.valid(e, fs); err != nil {
		return e.wrong(err)
	}
	if f.answer != "" {
		return f.answers(e, args)
	}
	return f.run(e, fs, func(ctx context.Context, s serving.Server) error {
		defer announce(s.Dir)()
		return serving.Embedded(ctx, s)
	})
}

// valid reports what is wrong with the flags.
func (f *serveFlags) valid(e env, fs *pflag.FlagSet) error {
	err := f.check(e)
	switch {
	case err != nil:
	case fs.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case (f.cert == "") != (f.key == ""):
		err = errors.New("--tls-cert and --tls-key belong together")
	case f.log != logText && f.log != logJSON:
		err = fmt.Errorf("--log %s: must be text or json", f.log)
	case f.jobs < 0 || f.deadline <= 0 || f.memory < minMemory || f.rate < 0 || f.keepPerGroup < 0:
		err = errors.New("--jobs, --rate, --keep-per-group and --deadline are positive, and --memory is at least 32MiB")
	default:
		if _, err = f.notify.sender(); err == nil {
			_, err = f.signIn.provider(f.notify.page)
		}
	}
	return err
}

// run has do work until the process is told to end.
func (f *serveFlags) run(e env, fs *pflag.FlagSet, do func(context.Context, serving.Server) error) int {
	dir, err := f.path()
	if err != nil {
		return e.fail(err)
	}
	exe, err := os.Executable()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return e.fail(err)
	}
	unlock, err := lockDir(dir)
	if err != nil {
		return e.fail(err)
	}
	defer unlock()
	told, err := f.notify.sender()
	if err != nil {
		return e.fail(err)
	}
	known, err := f.signIn.provider(f.notify.page)
	if err != nil {
		return e.fail(err)
	}
	ctx, stop := signal.NotifyContext(e.ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	err = do(ctx, serving.Server{Dir: dir, Jobs: f.jobs, Deadline: f.deadline,
		Listen: f.listen, Cert: f.cert, Key: f.key, MaxUpload: int64(f.maxUpload), Attachments: int64(f.attachments.sizeFlag), Rate: f.rate, Keep: serving.Retention{Age: time.Duration(f.keepFor), PerGroup: f.keepPerGroup, Bytes: int64(f.keepSize)}, Versions: f.versions, Notify: told, SignIn: known,
		JSONLog: f.log == logJSON, Verbose: f.verbose, Version: version(), Log: e.stderr, Terminal: isTerminal(e.stderr), Signatures: signature.Version,
		Run: func(ctx context.Context, symbols serving.Symbols, dumps string, src triage.Source, to ledger.Store, sink triage.Sink) error {
			return f.analyse(ctx, e, exe, fs, symbols, dumps, src, to, sink)
		},
		Report: func(ctx context.Context, symbols serving.Symbols, path, format string, w io.Writer) error {
			return f.report(ctx, exe, fs, symbols, path, format, w)
		},
		Ask: func(_ context.Context, symbols serving.Symbols, path string) (io.ReadWriteCloser, error) {
			return f.ask(exe, fs, symbols, path)
		}})
	if ctx.Err() != nil && errors.Is(err, context.Canceled) { // it was told to end while it began
		err = nil
	}
	if err != nil {
		return e.fail(err)
	}
	return exitComplete
}

// shared are the flags of the analysis of a project's dumps.
func shared(fs *pflag.FlagSet, symbols serving.Symbols) []flagValue {
	list := slices.DeleteFunc(given(fs), func(v flagValue) bool { return slices.Contains(ownFlags(), v.Name) })
	add := func(name, value, otherwise string) {
		i := slices.IndexFunc(list, func(v flagValue) bool { return v.Name == name })
		if i < 0 {
			i, list = len(list), append(list, flagValue{Name: name})
			if otherwise != "" { // what the environment has counts without the flag only
				list[i].Values = append(list[i].Values, triage.Exact(otherwise))
			}
		}
		list[i].Values = append(list[i].Values, triage.Exact(value))
	}
	if symbols.Dir != "" {
		add("search", symbols.Dir, "")
	}
	if symbols.URL != "" {
		servers := ""
		if os.Getenv("DEBUGINFOD_URLS") != "" {
			servers = serversOfEnv
		}
		path, _ := symbolPathOfEnv()
		add("debuginfod", symbols.URL, servers)
		add("symbol-path", "srv*"+filepath.Join(symbols.Cache, "symbols")+"*"+symbols.URL, path)
	}
	return list
}

// analyse is triage.Run for the dumps of a project.
func (f *serveFlags) analyse(ctx context.Context, e env, exe string, fs *pflag.FlagSet, symbols serving.Symbols, dumps string, src triage.Source, to ledger.Store, sink triage.Sink) error {
	e.ctx = ctx
	o := triage.Options{Command: []string{exe, "triage", "--worker"}, Settings: shared(fs, symbols), Deadline: f.deadline, Jobs: f.jobs, Args: "serve", Fresh: true, Endless: true}
	if symbols.URL != "" {
		o.Env = []string{cacheVariable + debuginfodCache(symbols)}
	}
	wanted, err := f.sandbox.wanted(e)
	if err != nil {
		return err
	}
	if wanted {
		own, err := f.of(e, fs, symbols)
		if err != nil {
			return err
		}
		c, err := own.confinement([]string{dumps})
		if err != nil {
			return err
		}
		defer c.close()
		own.fetch.begin(e)
		o.Settings = append(shared(fs, symbols), flagValue{"sandbox", []triage.Exact{sandboxInside}})
		o.Confinement, o.Fetch = c, c.server
	}
	run, err := triage.Run(ctx, o, src, to, sink)
	f.keep.also(ctx, run.Unkept)
	return err
}

// cacheVariable says where a process keeps what debuginfod servers have sent.
const cacheVariable = "DEBUGINFOD_CACHE_PATH="

func debuginfodCache(symbols serving.Symbols) string {
	return filepath.Join(symbols.Cache, "debuginfod")
}

// of returns the flags that say where the files of a project's dumps are: this process fetches them for the one in the sandbox.
func (f *serveFlags) of(e env, fs *pflag.FlagSet, symbols serving.Symbols) (*fileFlags, error) {
	var own serveFlags
	set := own.common("corewalk serve")
	for _, flag := range shared(fs, symbols) {
		for _, v := range flag.Values {
			if err := set.Set(flag.Name, string(v)); err != nil {
				return nil, fmt.Errorf("--%s: %w", flag.Name, err)
			}
		}
	}
	if symbols.URL != "" {
		own.fetch.cache = debuginfodCache(symbols)
	}
	return &own.fileFlags, own.check(e)
}

// files are arguments that have a process find the files of a project's dumps as this one does.
func (f *serveFlags) files(fs *pflag.FlagSet, symbols serving.Symbols) []string {
	args := []string{"--sandbox=" + string(f.sandbox.when)}
	for _, flag := range shared(fs, symbols) {
		if slices.Contains([]string{"format", "sandbox", "color"}, flag.Name) {
			continue
		}
		for _, v := range flag.Values {
			args = append(args, "--"+flag.Name+"="+string(v))
		}
	}
	return args
}

// environment is that of such a process; nil for the one of this process.
func environment(symbols serving.Symbols) []string {
	if symbols.URL == "" {
		return nil
	}
	return append(os.Environ(), cacheVariable+debuginfodCache(symbols))
}

// report writes the report of a dump, which another process makes.
func (f *serveFlags) report(ctx context.Context, exe string, fs *pflag.FlagSet, symbols serving.Symbols, path, format string, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, f.deadline)
	defer cancel()
	args := []string{"report", "--format=" + format}
	if format == formatJSON || format == formatHTML {
		args = append(args, "--locals=all")
	}
	args = append(append(args, f.files(fs, symbols)...), "--", path)
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Env = environment(symbols)
	var said bounded
	cmd.Stdout, cmd.Stderr = w, &said
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == exitIncomplete {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, report.Clean(firstSaid(said.String())))
	}
	return nil
}

// tokenFlags are the flags of corewalk serve token.
type tokenFlags struct {
	serveDir
	project, note string
	scopes        []string
}

func (f *tokenFlags) set() *pflag.FlagSet {
	fs := f.own("corewalk serve token")
	f.register(fs)
	return fs
}

// own are the flags that do not say where the tokens are.
func (f *tokenFlags) own(name string) *pflag.FlagSet {
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	fs.StringVar(&f.project, "project", "default", "the token is for the project `NAME`, which begins to exist with it")
	fs.StringSliceVar(&f.scopes, "scope", nil, "its holder may do `SCOPE`: upload, symbols, fetch, read, triage, admin (repeatable)")
	fs.StringVar(&f.note, "note", "", "remember `TEXT` with it: who or what has it")
	return fs
}

func runServeToken(args []string, e env) int {
	var f tokenFlags
	fs := f.set()
	if status, ok := parse(fs, args, serveUsage, e); !ok {
		return status
	}
	return f.run(e, fs, func() (serving.Tokens, error) { return f.tokens(e, fs.Arg(0) == "add", "token") })
}

// tokens opens the tokens and accounts of the service; what is added may be for one that is to begin.
func (d *serveDir) tokens(e env, adds bool, what string) (serving.Tokens, error) {
	dir, err := d.serviceDir()
	if err == nil && !serving.Exists(dir) {
		if !adds {
			err = fmt.Errorf("%s: %w", dir, errNoService)
		} else if err = os.MkdirAll(dir, 0o700); err == nil {
			e.say("%s has no service yet: the %s is for one that begins there", dir, what)
		}
	}
	if err != nil {
		return nil, err
	}
	return serving.OpenTokens(e.ctx, dir)
}

// run does with the tokens what the command line says.
func (f *tokenFlags) run(e env, fs *pflag.FlagSet, open func() (serving.Tokens, error)) int {
	do, rest := "", []string(nil)
	if fs.NArg() > 0 {
		do, rest = fs.Arg(0), fs.Args()[1:]
	}
	switch {
	case do == "add" && len(rest) == 0 && len(f.scopes) == 0:
		return e.usageError("what may the token's holder do? --scope upload")
	case do == "add" && len(rest) == 0, do == "list" && len(rest) == 0, do == "revoke" && len(rest) == 1:
	default:
		return e.usageError("corewalk serve token add, list or revoke ID")
	}
	t, err := open()
	if err != nil {
		return e.fail(err)
	}
	defer t.Close()
	switch do {
	case "add":
		var text string
		if text, err = t.Add(e.ctx, f.project, f.scopes, f.note); err == nil {
			_, err = fmt.Fprintln(e.stdout, text)
		}
	case "list":
		list, err := t.List(e.ctx)
		if err != nil {
			return e.fail(err)
		}
		return e.written(printTokens(e.stdout, list), exitComplete)
	case "revoke":
		err = t.Revoke(e.ctx, rest[0])
	}
	if err != nil {
		return e.fail(err)
	}
	return exitComplete
}

func printTokens(w io.Writer, list []serving.Token) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "ID\tPROJECT\tSCOPES\tCREATED\tNOTE")
	for _, x := range list {
		if !x.Expires.IsZero() {
			x.Note += " (a session until " + x.Expires.UTC().Format("15:04") + " UTC)"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", x.ID, x.Project, strings.Join(x.Scopes, ","), x.Created.Format(time.DateOnly), report.Clean(x.Note))
	}
	return out.Flush()
}
