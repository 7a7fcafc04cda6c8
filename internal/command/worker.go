package command

import (
	"errors"

	"github.com/spf13/pflag"
)

const workerUsage = `corewalk worker analyses the dumps that corewalk serve --db takes. Start as many as needed, on as many machines; each needs a --dir of its
own. It can be ended and killed at any time: others go on with what it had.

Usage:
  corewalk worker --db URL --objects PLACE [flags]   analyse dumps until Ctrl-C or SIGTERM

The password of the database may be in PGPASSWORD or in ~/.pgpass; the key of the object storage is in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.

Examples:
  corewalk worker --db postgres://corewalk@db/corewalk --objects /srv/crashes
  corewalk worker --db postgres://corewalk@db/corewalk --objects 's3://dumps?endpoint=http://storage:9000' --dir /var/lib/corewalk --listen :8781

Exit status: 0 the worker was ended; 1 it could not go on; 2 wrong usage.
`

// workerFlags are the flags of corewalk worker.
type workerFlags struct{ serveFlags }

func (f *workerFlags) set() *pflag.FlagSet {
	fs := f.common("corewalk worker")
	fs.StringVar(&f.listen, "listen", "127.0.0.1:0", "answer questions about health and metrics at `ADDRESS:PORT`; with port 0 at any")
	return fs
}

func runWorker(args []string, e env) int {
	var f workerFlags
	fs := f.set()
	if status, ok := parse(fs, args, workerUsage, e); !ok {
		return status
	}
	err := f.valid(e, fs)
	if err == nil && f.db == "" {
		err = errors.New("a worker needs --db: the database of corewalk serve --db")
	}
	if err != nil {
		return e.wrong(err)
	}
	if e.parts.Work == nil {
		return e.fail(handOverTo(fleetName, "corewalk worker"))
	}
	return f.run(e, fs, e.parts.Work)
}
