#!/bin/sh
# The compiler's launcher for precompiled headers: compiles, then writes NAME.gch.sum, which ccache reads instead of
# hashing the 100 MB of NAME.gch for every file (CCACHE_PCH_EXTSUM).
"$@" || exit
previous=
for argument; do
  case $previous,$argument in
    -o,*.gch) sha256sum <"$argument" >"$argument.sum" ;;
  esac
  previous=$argument
done
