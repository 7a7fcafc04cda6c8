#!/bin/sh
# What action.yml and gitlab.yml do in a job: corewalk-ci.sh install|prepare|report|verdict.
#   install  fetches corewalk, if it is not in PATH, and checks its sum
#   prepare  has programs leave cores, before the tests run
#   report   gathers cores and minidumps, and triages them
#   verdict  fails if there are new groups
# Variables: CRASH_VERSION (of corewalk), CRASH_RELEASES (where releases are), CRASH_DIR (cores are left there), CRASH_PATHS (where else dumps may be,
# one a line), CRASH_SEARCH (where programs and debug files are, one a line), CRASH_OUT (results), CRASH_DB (the ledger: kept from run to run, it says
# what is new), CRASH_FAIL (new or never).
set -eu

: "${CRASH_DIR:=${RUNNER_TEMP:-/tmp}/cores}" "${CRASH_OUT:=corewalk-results}" "${CRASH_FAIL:=new}"
: "${CRASH_DB:=$CRASH_OUT/ledger/triage.db}" "${CRASH_PATHS:=.}" "${CRASH_SEARCH:=.}"
: "${CRASH_RELEASES:=https://github.com/corewalk/corewalk/releases/download}"
tools=${RUNNER_TEMP:-/tmp}/corewalk-tools
PATH=$PATH:$tools

say() { echo "corewalk: $*"; }
warn() { if [ -n "${GITHUB_ACTIONS:-}" ]; then echo "::warning title=corewalk::$*"; else say "$*"; fi; }
output() { if [ -n "${GITHUB_OUTPUT:-}" ]; then echo "$1=$2" >>"$GITHUB_OUTPUT"; fi; }
root() { if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo -n "$@"; else return 1; fi; }

install() {
	if command -v corewalk >/dev/null; then
		say "$(corewalk version) is installed"
		return
	fi
	: "${CRASH_VERSION:?the version of corewalk}"
	case $(uname -m) in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; armv7*) arch=arm ;; i?86) arch=386 ;; *) say "no release for $(uname -m)"; exit 1 ;; esac
	name=corewalk-$CRASH_VERSION-linux-$arch
	mkdir -p "$tools"
	for file in SHA256SUMS "$name.tar.gz"; do
		curl -fsSL --retry 3 -o "$tools/$file" "$CRASH_RELEASES/v$CRASH_VERSION/$file"
	done
	(cd "$tools" && grep " $name.tar.gz\$" SHA256SUMS | sha256sum -c - >/dev/null) || { say "$name.tar.gz is not what SHA256SUMS says"; rm -f "$tools/$name.tar.gz"; exit 1; }
	tar -C "$tools" --strip-components=1 -xzf "$tools/$name.tar.gz" "$name/corewalk"
	say "$("$tools/corewalk" version)"
}

prepare() {
	mkdir -p "$CRASH_DIR"
	chmod 1777 "$CRASH_DIR"
	# The next steps inherit the limits of the shell that started this one, or of what started that.
	runner=$(awk '$1 == "PPid:" { print $2 }' "/proc/$PPID/status")
	{ root prlimit --pid "$PPID" --core=unlimited:unlimited && root prlimit --pid "$runner" --core=unlimited:unlimited; } || warn "the limit of cores cannot be raised: put ulimit -c unlimited before the tests"
	pattern=${CRASH_PATTERN_FILE:-/proc/sys/kernel/core_pattern}
	if ! echo "$CRASH_DIR/core.%e.%p.%t" | root tee "$pattern" >/dev/null; then
		case $(cat "$pattern") in
		\|*) warn "core_pattern is $(cat "$pattern") and cannot be set: cores are with that program" ;;
		*) say "core_pattern stays $(cat "$pattern")" ;;
		esac
	fi
}

# found prints the dumps, one a line.
found() {
	{
		printf '%s\n' "$CRASH_DIR"
		printf '%s\n' "$CRASH_PATHS"
	} | while IFS= read -r dir; do
		if [ -n "$dir" ] && [ -e "$dir" ]; then
			find "$dir" \( -name .git -o -path "$CRASH_OUT" -o -path "./$CRASH_OUT" \) -prune -o -type f \( -name core -o -name 'core.[0-9]*' -o -name 'core.*.[0-9]*' -o -name '*.core' -o -name '*.dmp' -o -name '*.mdmp' \) -size +0 -print
		fi
	done | sort -u
}

report() {
	mkdir -p "$CRASH_OUT" "$(dirname "$CRASH_DB")"
	list=$CRASH_OUT/dumps.txt
	found >"$list"
	dumps=$(wc -l <"$list" | tr -d ' ')
	output dumps "$dumps"
	if [ "$dumps" = 0 ]; then
		say "no cores and no minidumps"
		echo 0 >"$CRASH_OUT/status"
		output new false
		return
	fi
	set -- --db "$CRASH_DB"
	while IFS= read -r dir; do
		if [ -n "$dir" ]; then set -- "$@" --search "$dir"; fi
	done <<END
$CRASH_SEARCH
END
	set -- "$@" --fail-on new --format sarif -o "$CRASH_OUT/crashes.sarif" --
	while IFS= read -r path; do set -- "$@" "$path"; done <"$list"
	status=0
	corewalk triage "$@" || status=$?
	echo "$status" >"$CRASH_OUT/status"
	case $status in
	0 | 4) ;;
	3) warn "some of $dumps dumps could not be read" ;;
	*) warn "the dumps could not be analysed (status $status)" && return "$status" ;;
	esac
	corewalk triage list --db "$CRASH_DB" --format html -o "$CRASH_OUT/crashes.html"
	corewalk triage list --db "$CRASH_DB" >"$CRASH_OUT/crashes.txt"
	if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
		{ echo '### Crashes' && echo && sed 's/^/    /' "$CRASH_OUT/crashes.txt"; } >>"$GITHUB_STEP_SUMMARY"
	else
		cat "$CRASH_OUT/crashes.txt"
	fi
	if [ "$status" = 4 ]; then output new true; else output new false; fi
	output sarif "$CRASH_OUT/crashes.sarif"
	output page "$CRASH_OUT/crashes.html"
}

verdict() {
	status=$(cat "$CRASH_OUT/status" 2>/dev/null) || { say "there is no result"; exit 1; }
	case $status:$CRASH_FAIL in
	4:new) say "there are new groups of crashes: $CRASH_OUT/crashes.html" && exit 4 ;;
	0:* | 3:* | 4:*) ;;
	*) exit "$status" ;;
	esac
}

case ${1:-} in
install | prepare | report | verdict) "$1" ;;
*) echo "usage: $0 install|prepare|report|verdict" >&2 && exit 2 ;;
esac
