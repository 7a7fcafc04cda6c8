#!/bin/sh
# Makes the pictures of docs/triage.md: a real run of corewalk triage over the cores of
# testdata, as if they had come in over some weeks. The script makes up their dates,
# since a checkout has none; everything else is real. Needs chromium. PAGE=FILE keeps the
# page too.
set -e
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/crashes" "$work/later"
(cd "$here/.." && "${GO:-go}" build -o "$work/" ./cmd/...)

n=0
for dir in "$here"/cores/amd64-*; do
	n=$((n + 1))
	to=crashes
	day=$((1 + n * 17 % 18))
	case $dir in
	# These came up last.
	*-assert | *-cxx-sort | *-cxx-uncaught | *-words-rust) to=later day=$((19 + n % 2)) ;;
	esac
	file=$work/$to/core.$((4000 + n)).zst
	cp "$dir/core.zst" "$file" 2>/dev/null || continue
	TZ=UTC touch -d "2026-11-$day $((n * 5 % 24)):$((n % 60)):00" "$file"
done
: >"$work/later/core.5001"
head -c 3000 "$here/cores/amd64-pie/core.zst" >"$work/later/core.5002.zst"

triage() {
	"$work/corewalk" triage --db "$work/triage.db" --search "$here/cores" "$@" || test $? -eq 3
}
triage "$work/crashes" >"$work/first.txt"
cp -p "$work"/later/* "$work/crashes"
triage --format html -o "$work/page.html" "$work/crashes"
sed -i "s|$work||g" "$work/page.html"
test -z "$PAGE" || cp "$work/page.html" "$PAGE"

mkdir -p "$here/../docs/img"
cd "$here/.."
"${GO:-go}" test -count=1 ./internal/triage/render -run '^TestPictures$' -page "$work/page.html" -pictures "$PWD/docs/img" -open Record::key
ls -l docs/img
