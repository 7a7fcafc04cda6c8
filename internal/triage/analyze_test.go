package triage

import (
	"testing"

	"github.com/corewalk/corewalk/report"
)

func TestReason(t *testing.T) {
	for _, tc := range []struct {
		crash *report.Crash
		want  string
	}{
		{nil, "did not crash"},
		{&report.Crash{Signal: "SIGTERM", Reason: "sent by sigqueue from process 12 of user 1000"}, "sent by sigqueue"},
		{&report.Crash{Signal: "SIGSEGV", Reason: "read of 8 bytes at 0x7ffd0a1b2c3d, on the stack"}, "read of 8 bytes, on the stack"},
		{&report.Crash{Signal: "SIGSEGV", Reason: "read of 8 bytes at 0xdeadbeef"}, "read of 8 bytes at 0xdeadbeef"},
		{&report.Crash{Signal: "SIGTRAP"}, "SIGTRAP"},
		{&report.Crash{Exception: "EXCEPTION_GUARD_PAGE"}, "EXCEPTION_GUARD_PAGE"},
		{&report.Crash{Signal: "SIGABRT", Kind: report.CrashAbort, Reason: "abort called by the program itself"}, "abort called by the program itself"},
		{&report.Crash{Signal: "SIGABRT", Kind: report.CrashAbort, Message: "no route"}, "abort: no route"},
		{&report.Crash{Signal: "SIGABRT", Kind: report.CrashException, Reason: "uncaught exception std::out_of_range: map::at",
			Message: "terminate called after throwing an instance of 'std::out_of_range'\n  what():  map::at"}, "uncaught exception std::out_of_range: map::at"},
	} {
		if got := Reason(tc.crash); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}
