#!/bin/sh
# After the package's files are there. Nothing is started: systemctl enable --now corewalk-serve, or corewalk-handle.
set -e
[ -z "$DPKG_ROOT" ] || exit 0
if command -v systemd-sysusers >/dev/null; then systemd-sysusers corewalk.conf || :; fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload || :; fi
