package report_test

import (
	"os"

	"github.com/corewalk/corewalk/report"
)

func Example() {
	r := &report.Report{
		Dump:  report.Dump{Command: "queue", PID: 4242, Arch: "x86-64", OS: "linux"},
		Crash: &report.Crash{Signal: "SIGSEGV", Reason: "read of 4 bytes at null+0x8", Thread: 4242},
		Threads: []report.Thread{{
			ID: 4242, Name: "queue", Crashed: true, End: report.EndBottom,
			Frames: []report.Frame{
				{Index: 0, Physical: 0, PC: 0x5511c2, Function: "visit", Source: report.Source{File: "/src/queue.c", Line: 15}},
				{Index: 1, Physical: 1, PC: 0x5511f8, Function: "main", Source: report.Source{File: "/src/queue.c", Line: 25}},
			},
		}},
	}
	report.WriteText(os.Stdout, r, report.TextOptions{Width: 80})
	// Output:
	// queue[4242] died of SIGSEGV: read of 4 bytes at null+0x8            x86-64 Linux
	//   visit at queue.c:15, thread 4242 "queue" (1 of 1)
	//
	// Thread 4242 "queue", crashed
	//   #0  visit at queue.c:15
	//   #1  main at queue.c:25
}
