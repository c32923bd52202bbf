#!/bin/sh
# Tests in a real browser need one. Where there is none, install Debian's, which needs root.
set -eu
for name in chromium chromium-browser google-chrome; do
    command -v "$name" > /dev/null && exit 0
done
if ! command -v apt-get > /dev/null || [ "$(id -u)" != 0 ]; then
    echo "The browser tests need Chromium on the PATH; install it and call make again" >&2
    exit 2
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core > /dev/null
command -v chromium > /dev/null
