# The everyday stacks: recursion, threads, inlines, ways to die.

deep_backtrace=('bt 12' 'bt -6') # gdb is slow and verbose on deep stacks

# simple NAME FLAG... [-- ARG...]: compiles NAME.c, runs it, ships program and core.
simple() {
	local name=$1 flags=()
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		flags+=("$1")
		shift
	done
	shift
	cc "$name.c" "${flags[@]}" -o "$name" && run "$name" "$@" && ship "$name" && finish "$name"
}

make_recursion-O0() { simple recursion -O0 -g -- 12; }

make_recursion-4000() {
	backtrace=("${deep_backtrace[@]}")
	simple recursion -O0 -g -- 4000
}

make_recursion-12000() {
	backtrace=("${deep_backtrace[@]}")
	simple recursion -O0 -g -- 12000
}

# Without address randomisation, so that the same function hits the guard page every
# time.
make_overflow() {
	backtrace=("${deep_backtrace[@]}")
	stack_limit=256 launcher=(setarch -R)
	simple overflow -O0 -g
}

make_threads() { simple threads -O1 -fno-inline -g -pthread; }
make_thread-crash() { simple thread_crash -O0 -g -pthread; }
make_inline-tail-O2() { simple inline_tail -O2 -g; }
make_tail-ambiguous-O2() { simple tail_ambiguous -O2 -g; }
make_bad-jump-O2() { simple bad_jump -O2 -g; }
make_cold-split-O2() { simple cold -O2 -g; }
make_realign-O2() { simple realign -O2 -g; }

# -fno-toplevel-reorder keeps innocent directly after fail_hard.
make_noreturn-last() { simple noreturn -O2 -g -falign-functions=1 -fno-toplevel-reorder -fno-reorder-functions; }

make_merged-size() { simple merged -O2 -g -- size; }
make_merged-text() { simple merged -O2 -g -- text; }
make_merged-odd() { simple merged -O2 -g -- odd; }
make_merged-empty() { simple merged -O2 -g -- empty; }
make_merged-clang() {
	need clang-19 || return $?
	clang merged.c -O2 -g -o merged && run merged text && ship merged && finish merged
}

make_ending() { need clang-19 || return $?; clang ending.c -O1 -g -w -o ending && run ending check && ship ending && finish ending; }

make_abort() { simple ends -O0 -g -- abort; }
make_assert() { simple ends -O0 -g -- assert; }
make_sigfpe() { simple ends -O0 -g -- divide; }
make_sigill() { simple ends -O0 -g -- trap; }
make_sigbus() { simple ends -O0 -g -- bus; }

make_null-call() { simple bad_call -O2 -g -- null; }
make_wild-call() { simple bad_call -O2 -g -- wild; }
make_data-call() { simple bad_call -O2 -g -- data; }
make_noncanonical-call() { simple bad_call -O2 -g -- noncanonical; }

make_smash-canary() { simple smash -O0 -g -fstack-protector-all; }
make_smash-return() { simple smash -O0 -g -fno-stack-protector -- letters; }
make_smash-return-canonical() { simple smash -O0 -g -fno-stack-protector -- address; }
