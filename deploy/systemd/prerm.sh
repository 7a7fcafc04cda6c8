#!/bin/sh
# Before the package's files go. The kernel must not be left with a handler that is not there.
set -e
[ -z "$DPKG_ROOT" ] || exit 0
case "$1" in upgrade | 1) exit 0 ;; esac
if [ -d /run/systemd/system ]; then
	for unit in corewalk-serve corewalkd-serve 'corewalkd-worker@*' corewalk-handle; do
		systemctl stop "$unit.service" || :
		case "$unit" in *'*') ;; *) systemctl disable "$unit.service" || : ;; esac
	done
fi
if grep -qs '/usr/bin/corewalk handle' /proc/sys/kernel/core_pattern; then /usr/bin/corewalk handle --uninstall || :; fi
