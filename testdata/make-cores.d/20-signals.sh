# Signals, alternate stacks, and what other processes do to a process.

make_signal-altstack() { simple sigalt -O0 -g; }
make_handler-crash() { simple handler_crash -O0 -g; }
make_again-fault() { simple handler_again -O2 -g; }
make_again-sent() { simple handler_again -O2 -g -DSENT; }
make_fiber() { simple fiber -O0 -g; }
make_vdso() { simple vdso -O0 -g; }
make_deleted() {
	cc deleted.c -O0 -g -o deleted && cp "$dir/deleted" "$dir/kept" &&
		run deleted && ship kept deleted && cp "$dir/kept" "$dir/deleted" && finish deleted
}

# start PROGRAM ARG...: runs $dir/PROGRAM in the background, like run does, and returns
# when all its threads sleep. $pid is its process.
start() {
	local program=$1
	shift
	(
		cd "$dir" || exit 1
		ulimit -c "$core_limit" && ulimit -s "$stack_limit" || exit 1
		echo "$core_filter" >/proc/self/coredump_filter
		exec env -i PATH=/usr/bin LC_ALL=C "$dir/$program" "$@" </dev/null >"$dir/run.log" 2>&1
	) &
	pid=$!
	sleep 1
}

# Another process sends the signal: si_code is SI_USER and there is no address.
make_killed() {
	cc ends.c -O0 -g -o ends && start ends wait || return 1
	kill -SEGV "$pid"
	wait "$pid" 2>/dev/null
	ship ends && finish ends
}

make_gcore() {
	need gcore || return $?
	cc parked.c -O0 -g -pthread -o parked && start parked || return 1
	(cd "$dir" && gcore -o dump "$pid") >"$dir/gcore.log" 2>&1
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	mv "$dir/dump.$pid" "$dir/core" && ship parked && finish parked
}
