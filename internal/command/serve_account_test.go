package command

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/service/signin"
	"github.com/corewalk/corewalk/internal/service/store/sqlite"
)

// Accounts are made, listed and removed from the command line; a password is a line of standard input, never an argument.
func TestServeAccount(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	account := func(stdin string, args ...string) (int, string, string) {
		t.Helper()
		var out, errs strings.Builder
		status := run(append([]string{"serve", "account", "--dir", dir}, args...), env{ctx: t.Context(), stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs})
		return status, out.String(), errs.String()
	}
	for _, x := range []struct {
		stdin, args string
		status      int
		out, said   string
	}{
		{"", "list", 1, "", "there is no service"},
		{"", "remove ann", 1, "", "there is no service"},
		{"", "add ann", 2, "", "what may the person do? --scope read,triage"},
		{"", "add", 2, "", "add, passwd or remove PERSON"},
		{"", "add --scope read ann secret", 2, "", "add, passwd or remove PERSON"},
		{"", "passwd ann secret", 2, "", "add, passwd or remove PERSON"},
		{"", "add --scope root ann", 1, "", "scope"},
		{"", "add --scope read Ann", 1, "", "a to z"},
		{"", "add --scope read --project ../x ann", 1, "", "project"},
		{"short\n", "add --scope read --ask ann", 1, "", "at least 10 characters"},
		{"\n", "add --scope read --ask ann", 1, "", "standard input has no password"},
		{"correct horse battery\r\nmore\n", "add --scope read,triage --ask ann", 0, "", ""},
		{"", "add --scope admin --project shop ann", 0, "", "ann may do admin in shop now, with the password as it was"},
		{"", "add --scope read --public-url https://crash.example/ ben", 0, "https://crash.example/#/in/ben/", "of use once"},
		{"", "list", 0, "ann   default  read,triage  never       yes", ""},
		{"", "list", 0, "none, a link until", ""},
		{"", "passwd --invite ann", 0, "http://127.0.0.1:8780/#/in/ann/", ""},
		{"another password", "passwd ann", 0, "", ""},
		{"another password", "passwd eve", 1, "", "no account \"eve\" there"},
		{"", "remove --project none ann", 1, "", "no account"},
		{"", "remove --project shop ann", 0, "", ""},
		{"", "remove ben", 0, "", ""},
		{"", "remove ben", 1, "", "no account"},
	} {
		status, out, said := account(x.stdin, strings.Fields(x.args)...)
		if status != x.status || !strings.Contains(out, x.out) || !strings.Contains(said, x.said) || strings.Contains(out+said, "horse") || strings.Contains(out+said, "secret") {
			t.Errorf("%s: %d %q %q, want %d %q %q", x.args, status, out, said, x.status, x.out, x.said)
		}
	}
	db, err := sqlite.Open(t.Context(), dir+"/service.db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if a, err := db.Account(t.Context(), "ann"); err != nil || !signin.SamePassword(a.Password, "another password") || len(a.Projects) != 1 {
		t.Errorf("%+v %v", a, err)
	}
}
