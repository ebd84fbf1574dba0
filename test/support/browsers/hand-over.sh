#!/bin/sh
# A browser that opens nothing: hands its flags and its address to the test's own process (browser-here.ts), as a file
# with a line for each and a last one that tells that the file is whole.
#
#     sh hand-over.sh FOLDER [FLAGS…] URL
folder=$1
shift
printf '%s\n' "$@" whole >"$folder/$$"
