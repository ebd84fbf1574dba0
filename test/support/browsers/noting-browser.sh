#!/bin/sh
# A browser that opens nothing and writes down what it should have opened, a line each: so a test counts the tabs, and
# signs in at one when its person would.
#
#     sh noting-browser.sh FILE URL
printf '%s\n' "$2" >>"$1"
