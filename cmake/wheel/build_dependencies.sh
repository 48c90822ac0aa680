#!/usr/bin/env bash
# build_dependencies.sh FOLDER: static, position-independent libraries with hidden symbols into FOLDER/prefix, from the
# source packages of the Debian that this is. Debian's own static libraries of these are not position-independent.
# Once: what is there is not built again. Needs no root; downloads 22 MB.
set -euo pipefail
mkdir -p "$1"
folder=$(readlink -f "$1")
prefix=$folder/prefix

sources() { # PACKAGE...: their upstream parts, unpacked
    local release options
    release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    mkdir -p "$folder/lists/partial" "$folder/source"
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $release main" \
        >"$folder/sources.list"
    options=(-q -o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o Dir::State::lists="$folder/lists" -o Dir::Cache="$folder" -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update
    (cd "$folder/source" && apt-get "${options[@]}" source --download-only "$@")
    for archive in "$folder"/source/*.orig.tar.?z; do tar -C "$folder/source" -xf "$archive"; done
}

with_cmake() { # NAME LIBRARY.a TARGET [OPTION...]
    local name=$1 library=$2 target=$3
    [[ ! -e $prefix/lib/$library ]] || return 0
    cmake -S "$folder/source/$name"-* -B "$folder/$name" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF \
        -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_C_VISIBILITY_PRESET=hidden \
        -DCMAKE_CXX_VISIBILITY_PRESET=hidden -DCMAKE_VISIBILITY_INLINES_HIDDEN=ON "${@:4}"
    cmake --build "$folder/$name" --target "$target"
    [[ $target != all ]] || cmake --install "$folder/$name"
}

# Its lite library and its compiler would take as long again, and are not needed.
protobuf() {
    with_cmake protobuf libprotobuf.a libprotobuf -Dprotobuf_BUILD_TESTS=OFF -Dprotobuf_BUILD_PROTOC_BINARIES=OFF \
        -Dprotobuf_WITH_ZLIB=OFF -Dprotobuf_BUILD_LIBPROTOC=OFF
    cmake --install "$folder/protobuf" --component libprotobuf
    cmake --install "$folder/protobuf" --component protobuf-headers
}

# Its CMake files cannot do without a test that needs to be run; its configure script can.
hdf5() {
    [[ ! -e $prefix/lib/libhdf5.a ]] || return 0
    mkdir -p "$folder/hdf5" && cd "$folder/hdf5"
    "$folder"/source/hdf5-*/configure --prefix="$prefix" --enable-static --disable-shared --with-pic --disable-hl \
        --disable-cxx --disable-fortran --disable-java --disable-tests --disable-tools --without-zlib \
        --without-szlib --enable-threadsafe --enable-build-mode=production CFLAGS='-O2 -fvisibility=hidden'
    make -j"$(nproc)" -C src
    make -C src install
}

zstd() {
    [[ ! -e $prefix/lib/libzstd.a ]] || return 0
    make -j"$(nproc)" -C "$folder"/source/zstd-*/lib libzstd.a ZSTD_LEGACY_SUPPORT=0 \
        CFLAGS='-O3 -fPIC -fvisibility=hidden'
    install -D -m 644 -t "$prefix/lib" "$folder"/source/zstd-*/lib/libzstd.a
    install -D -m 644 -t "$prefix/include" "$folder"/source/zstd-*/lib/{zstd,zdict,zstd_errors}.h
}

# Debian's static library leaves out what chooses the instructions at run time.
xxhash() {
    [[ ! -e $prefix/lib/libxxhash.a ]] || return 0
    local source part
    source=$(echo "$folder"/source/[xX]x[hH]ash-*/)
    for part in xxhash xxh_x86dispatch; do
        cc -O3 -fPIC -fvisibility=hidden -c "$source/$part.c" -o "$folder/$part.o"
    done
    ar rcs "$prefix/lib/libxxhash.a" "$folder"/{xxhash,xxh_x86dispatch}.o
    install -D -m 644 -t "$prefix/include" "$source"/{xxhash,xxh3,xxh_x86dispatch}.h
}

missing=()
for package in hdf5 libzstd protobuf simdjson xxhash; do
    ls "$folder/source/${package}"_*.dsc >/dev/null 2>&1 || missing+=("$package")
done
((${#missing[@]} == 0)) || sources "${missing[@]}"
(hdf5)
zstd
xxhash
with_cmake simdjson libsimdjson.a all -DSIMDJSON_DEVELOPER_MODE=OFF
protobuf
