#!/bin/sh
# Tests in a real browser and in a real terminal need Chromium and tmux. Where they are missing, install Debian's, which
# needs root.
set -eu
wanted=""
command -v tmux > /dev/null || wanted="tmux"
found=""
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" > /dev/null; then found="$name"; fi
done
[ -n "$found" ] || wanted="$wanted chromium fonts-dejavu-core"
[ -n "$wanted" ] || exit 0
if ! command -v apt-get > /dev/null || [ "$(id -u)" != 0 ]; then
    echo "The tests need these programs on the PATH: $wanted. Install them and call make again" >&2
    exit 2
fi
apt-get update -qq
# shellcheck disable=SC2086 # each word is a package
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $wanted > /dev/null
command -v tmux > /dev/null
