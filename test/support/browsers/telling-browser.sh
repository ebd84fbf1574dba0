#!/bin/sh
# A browser that first writes down what it was started with, its arguments and its environment:
#
#     sh telling-browser.sh FILE BROWSER… URL
{ printf '%s\n' "$@" && env; } >"$1"
shift
exec "$@"
