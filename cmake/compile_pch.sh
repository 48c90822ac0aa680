#!/bin/sh
# The compiler's launcher for precompiled headers: compiles, then writes NAME.gch.sum, which ccache reads instead of
# hashing the 100 MB of NAME.gch for every file (CCACHE_PCH_EXTSUM).
# By the contents of the headers (depend mode), never by their preprocessed text: GCC keeps the MD5 of each header in
# NAME.gch and reads one whose comments alone have changed a second time, against #pragma once ("redefinition of").
# The namespace leaves behind what older caches hold. An older NAME.gch would count as one of the inputs.
export CCACHE_DEPEND=1 CCACHE_NAMESPACE=pch-by-contents
header=
previous=
for argument; do
  case $previous,$argument in
    -o,*.gch) header=$argument ;;
  esac
  previous=$argument
done
[ -z "$header" ] || rm -f "$header" "$header.sum"
"$@" || exit
[ -z "$header" ] || sha256sum <"$header" >"$header.sum"
