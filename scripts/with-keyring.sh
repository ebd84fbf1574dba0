#!/bin/sh
# Runs a command beside a real keyring made for it: a private D-Bus session with an unlocked
# gnome-keyring, both gone afterwards. Exits as the command does. HOME stays; the XDG folders are
# temporary ones, so that neither the keyring nor the command meets the user's own.
#
#   sh scripts/with-keyring.sh npx vitest run test/vault
#
# KEYTURN_TEST_KEYRING=1 tells the tests that they write to this keyring, not to a user's.
set -eu

if [ $# -eq 0 ]; then
  echo 'usage: sh scripts/with-keyring.sh COMMAND [ARGUMENT...]' >&2
  exit 2
fi
for tool in dbus-run-session gnome-keyring-daemon gdbus; do
  command -v "$tool" >/dev/null || {
    echo "with-keyring.sh needs $tool. On Debian: apt-get install dbus gnome-keyring libglib2.0-bin" >&2
    exit 127
  }
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
for kind in CONFIG DATA STATE CACHE; do
  mkdir -m 700 "$folder/$kind"
  export "XDG_${kind}_HOME=$folder/$kind"
done
mkdir -m 700 "$folder/run"
export XDG_RUNTIME_DIR="$folder/run" KEYTURN_TEST_KEYRING=1

status=0
dbus-run-session -- sh -euc '
  # The keyring goes down with this session. Its password unlocks it and creates it first; nobody asks for it again.
  printf throw-away | gnome-keyring-daemon --unlock --components=secrets --daemonize >/dev/null
  gdbus wait --session --timeout 10 org.freedesktop.secrets || {
    echo "with-keyring.sh: no Secret Service came up within 10 s" >&2
    exit 99
  }
  status=0
  "$@" || status=$?
  exit $status
' with-keyring "$@" || status=$?
exit $status
