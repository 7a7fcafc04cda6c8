package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/corewalk/corewalk/internal/command/serving"
)

// accountFlags are the flags of corewalk serve account.
type accountFlags struct {
	serveDir
	project, page string
	scopes        []string
	ask, invite   bool
}

func (f *accountFlags) set() *pflag.FlagSet {
	fs := f.own("corewalk serve account")
	f.register(fs)
	return fs
}

// own are the flags that do not say where the accounts are.
func (f *accountFlags) own(name string) *pflag.FlagSet {
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	fs.StringVar(&f.project, "project", "default", "the person has the project `NAME`")
	fs.StringSliceVar(&f.scopes, "scope", nil, "the person may do `SCOPE` in it: upload, symbols, fetch, read, triage, admin (repeatable)")
	fs.BoolVar(&f.ask, "ask", false, "with add: ask for the password at the terminal, or read a line of standard input, in place of a link with which the person chooses it")
	fs.BoolVar(&f.invite, "invite", false, "with passwd: print a link with which the person chooses another password")
	fs.StringVar(&f.page, "public-url", "", "the page is at `URL`, for the link (default: where the service said when it began)")
	return fs
}

func runServeAccount(args []string, e env) int {
	var f accountFlags
	fs := f.set()
	if status, ok := parse(fs, args, serveUsage, e); !ok {
		return status
	}
	return f.run(e, fs, func() (serving.Tokens, error) { return f.tokens(e, fs.Arg(0) == "add", "account") })
}

// run does with the accounts what the command line says.
func (f *accountFlags) run(e env, fs *pflag.FlagSet, open func() (serving.Tokens, error)) int {
	do, name := fs.Arg(0), fs.Arg(1)
	switch {
	case do == "add" && fs.NArg() == 2 && len(f.scopes) == 0:
		return e.usageError("what may the person do? --scope read,triage")
	case (do == "add" || do == "remove" || do == "passwd") && fs.NArg() == 2, do == "list" && fs.NArg() == 1:
	default:
		return e.usageError("corewalk serve account add, passwd or remove PERSON, or list")
	}
	password := ""
	if do == "add" && f.ask || do == "passwd" && !f.invite {
		var err error
		if password, err = askPassword(e, name); err != nil {
			return e.fail(err)
		}
	}
	t, err := open()
	if err != nil {
		return e.fail(err)
	}
	defer t.Close()
	switch do {
	case "add":
		err = f.add(e, t, name, password)
	case "passwd":
		var link string
		if link, err = t.SetPassword(e.ctx, f.page, name, password); err == nil && link != "" {
			err = printLink(e, link)
		}
	case "remove":
		project := ""
		if fs.Changed("project") {
			project = f.project
		}
		err = t.RemoveAccount(e.ctx, name, project)
	case "list":
		var list []serving.Account
		if list, err = t.Accounts(e.ctx); err == nil {
			return e.written(printAccounts(e.stdout, list), exitComplete)
		}
	}
	if err != nil {
		return e.fail(err)
	}
	return exitComplete
}

func (f *accountFlags) add(e env, t serving.Tokens, name, password string) error {
	made, link, err := t.SetAccount(e.ctx, f.page, name, f.project, f.scopes, password)
	switch {
	case err != nil:
	case !made:
		e.say("%s may do %s in %s now, with the password as it was", name, strings.Join(f.scopes, ", "), f.project)
	case link != "":
		err = printLink(e, link)
	}
	return err
}

func printLink(e env, link string) error {
	e.say("the link is of use once, for three days: give it to nobody else")
	_, err := fmt.Fprintln(e.stdout, link)
	return err
}

// maxLine is how much of standard input is read for a password, in bytes.
const maxLine = 4096

// askPassword asks for a password, twice and without showing it, where there is a terminal; else it is the first line of standard input. It is never an argument,
// which others on this machine see.
func askPassword(e env, name string) (string, error) {
	in, ok := e.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		if e.stdin == nil {
			return "", errors.New("a password is read from standard input")
		}
		line, err := bufio.NewReader(io.LimitReader(e.stdin, maxLine)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			err = errors.New("standard input has no password")
		} else {
			err = nil
		}
		return line, err
	}
	first, err := hidden(e, in, "Password of "+name+": ")
	if err != nil {
		return "", err
	}
	again, err := hidden(e, in, "The same again: ")
	if err == nil && first != again {
		err = errors.New("these are two different passwords")
	}
	if err == nil && first == "" {
		err = errors.New("there is no empty password")
	}
	return first, err
}

// hidden reads a line of a terminal that does not show it. Whoever interrupts it has the terminal as it was.
func hidden(e env, in *os.File, prompt string) (string, error) {
	fd := int(in.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	ctx, stop := signal.NotifyContext(e.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	type line struct {
		text []byte
		err  error
	}
	got := make(chan line, 1)
	go func() { // it ends with the process if it is interrupted
		text, err := term.ReadPassword(fd)
		got <- line{text, err}
	}()
	fmt.Fprint(e.stderr, prompt)
	defer fmt.Fprintln(e.stderr)
	select {
	case l := <-got:
		return string(l.text), l.err
	case <-ctx.Done():
		_ = term.Restore(fd, before)
		return "", context.Canceled
	}
}

func printAccounts(w io.Writer, list []serving.Account) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "NAME\tPROJECT\tSCOPES\tLAST LOGIN\tPASSWORD")
	for _, a := range list {
		password := "none"
		if a.Password {
			password = "yes"
		}
		if !a.Invited.IsZero() {
			password += ", a link until " + a.Invited.UTC().Format("2006-01-02 15:04") + " UTC"
		}
		seen := "never"
		if !a.Seen.IsZero() {
			seen = a.Seen.UTC().Format(time.DateOnly)
		}
		for _, project := range slices.Sorted(maps.Keys(a.Projects)) {
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", a.Name, project, strings.Join(a.Projects[project], ","), seen, password)
		}
	}
	return out.Flush()
}
