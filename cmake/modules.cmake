# How every library, program and plugin of msdbg is compiled.

# ccache where present: a checkout then builds again in a fraction of the time, also one in another folder.
find_program(MSDBG_CCACHE ccache)
mark_as_advanced(MSDBG_CCACHE)
set(MSDBG_CCACHE_SETTINGS "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1
  CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1) # precompiled headers (ccache's manual)

set(MSDBG_GENERATED_DIR "${CMAKE_BINARY_DIR}/generated")
if(NOT EXISTS "${MSDBG_GENERATED_DIR}/empty.cpp")
  file(WRITE "${MSDBG_GENERATED_DIR}/empty.cpp" "")
endif()

# The compile options of a target of ours. Determinism first (DESIGN.md): no contraction to fused multiply-add, no
# reassociation (so -O2 and -O3 give the same bits); errno and trap handling are dropped, neither changes a value.
# __FILE__ and std::source_location give paths from the repository root: core_engine/models/alexnet.cpp, also where
# ccache gives the compiler paths from the build folder.
file(RELATIVE_PATH MSDBG_ROOT_FROM_BUILD "${CMAKE_BINARY_DIR}" "${CMAKE_SOURCE_DIR}")
string(REGEX REPLACE "/$" "" MSDBG_ROOT_FROM_BUILD "${MSDBG_ROOT_FROM_BUILD}")
function(msdbg_configure_target target)
  set_property(GLOBAL APPEND PROPERTY MSDBG_TARGETS ${target})
  set_target_properties(${target} PROPERTIES CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE
    -fPIC # programs too: a precompiled header serves those with the same options only
    -Wall -Wextra -Wshadow -Wnon-virtual-dtor
    # GCC 12 sees overlaps and overflows in std::string that are not there (GCC PR 105651, 105329)
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
    # and with -O3 also out of bounds; the tests' build, in which warnings are errors, keeps that one
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-array-bounds>
    # and a type of a file's own inside another one as if a header had it, where files are compiled together
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${MSDBG_UNITY}>>:-Wno-subobject-linkage>
    -ffp-contract=off -fno-math-errno -fno-trapping-math
    "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=" "-ffile-prefix-map=${MSDBG_ROOT_FROM_BUILD}/=")
  target_compile_definitions(${target} PRIVATE
    MSDBG_VERSION="${PROJECT_VERSION}" $<$<BOOL:${MSDBG_MPI_FOUND}>:MSDBG_WITH_MPI>)
  target_link_libraries(${target} PRIVATE msdbg_dep::openmp)
  if(MSDBG_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(MSDBG_SANITIZE)
    target_compile_definitions(${target} PRIVATE MSDBG_SANITIZE) # code then leaves out ifunc target_clones
    target_compile_options(${target} PRIVATE -fsanitize=${MSDBG_SANITIZE} -fno-sanitize-recover=all
      -fno-omit-frame-pointer
      $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>) # GCC sees ghosts in instrumented library headers
    target_link_options(${target} PUBLIC $<BUILD_INTERFACE:-fsanitize=${MSDBG_SANITIZE}>)
  endif()
  if(MSDBG_CCACHE)
    set_target_properties(${target} PROPERTIES
      CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND};-E;env;${MSDBG_CCACHE_SETTINGS};${MSDBG_CCACHE}")
  endif()
endfunction()

# msdbg_vectorise(TARGET file.cpp...): -O3 in every build, as -O2 of GCC 12 vectorises next to nothing; the bits are the
# same. Not under sanitizers, where GCC 12 takes minutes or dies of it. Without the precompiled headers, which give clones
# of functions the -O2 that they were compiled with.
function(msdbg_vectorise target)
  if(NOT MSDBG_SANITIZE)
    set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES
      COMPILE_OPTIONS -O3 SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# Precompiled headers: reading the same headers again in each file, and instantiating the same templates, is more than
# half of what compiling costs. KIND is one of the lists below; each is compiled once, by a target of its own. Of our own
# headers they hold what most files of a module include anyway: a change of those compiles little more than it did
# without. Who looks for a missing #include configures with -DMSDBG_PCH=OFF.
set(CMAKE_PCH_PROLOGUE "") # no system_header: warnings in our own headers are told
set(MSDBG_PCH_std <algorithm> <array> <charconv> <chrono> <cmath> <cstdint> <cstring> <filesystem> <fstream> <functional>
  <limits> <map> <memory> <mutex> <optional> <ranges> <set> <source_location> <span> <sstream> <string> <string_view>
  <thread> <utility> <variant> <vector>)
set(MSDBG_PCH_graph ${MSDBG_PCH_std} <core_engine/base/text.h> <core_engine/graph/value.h>)
set(MSDBG_PCH_engine ${MSDBG_PCH_graph} <core_engine/ops/op.h>)
set(MSDBG_PCH_run ${MSDBG_PCH_graph} <watchpoints/condition.h>)
set(MSDBG_PCH_conditions ${MSDBG_PCH_run} <watchpoints/conditions/rows.h> <watchpoints/meaning/meaning.h>)
set(MSDBG_PCH_json ${MSDBG_PCH_run} <nlohmann/json.hpp>)
set(MSDBG_PCH_cli ${MSDBG_PCH_json} <CLI/CLI.hpp> <replay/run.h>)
set(MSDBG_PCH_session ${MSDBG_PCH_run} <dump/session/msdbg.h>)
set(MSDBG_PCH_qt <QApplication> <QComboBox> <QHBoxLayout> <QHeaderView> <QJsonArray> <QJsonObject> <QLabel> <QLineEdit>
  <QPainter> <QTimer> <QToolButton> <QTreeView> <QWidget>)
set(MSDBG_PCH_presenter ${MSDBG_PCH_run} <replay/run.h> <QColor> <QJsonArray> <QJsonObject> <QObject> <QString> <QTimer>)
set(MSDBG_PCH_window ${MSDBG_PCH_run} <replay/run.h> ${MSDBG_PCH_qt})
set(MSDBG_PCH_test ${MSDBG_PCH_run} <catch2/catch.hpp>)
set(MSDBG_PCH_engine_test ${MSDBG_PCH_engine} <catch2/catch.hpp>)
set(MSDBG_PCH_window_test ${MSDBG_PCH_test} <replay/run.h> ${MSDBG_PCH_qt})

# What nothing waits for, the command line's and the window's own code and the tests: MSDBG_FACES_OPTIONS compiles it in
# less time (the tests' build: -O1, a quarter less).
set(MSDBG_FACES cli presenter window test engine_test window_test session)

function(msdbg_precompile target)
  set(kind std ${ARGN})
  list(GET kind -1 kind)
  if(kind IN_LIST MSDBG_FACES)
    target_compile_options(${target} PRIVATE ${MSDBG_FACES_OPTIONS})
  endif()
  if(NOT MSDBG_PCH OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  if(NOT TARGET msdbg_pch_${kind})
    add_library(msdbg_pch_${kind} OBJECT "${MSDBG_GENERATED_DIR}/empty.cpp")
    msdbg_configure_target(msdbg_pch_${kind})
    if(kind IN_LIST MSDBG_FACES)
      target_compile_options(msdbg_pch_${kind} PRIVATE ${MSDBG_FACES_OPTIONS})
    endif()
    target_include_directories(msdbg_pch_${kind} PRIVATE "${CMAKE_SOURCE_DIR}" "${MSDBG_GENERATED_DIR}")
    if(kind MATCHES "json|cli")
      target_link_libraries(msdbg_pch_${kind} PRIVATE msdbg_dep::json msdbg_dep::cli11)
    endif()
    if(kind STREQUAL presenter)
      target_link_libraries(msdbg_pch_${kind} PRIVATE msdbg_dep::qt_gui)
    elseif(kind MATCHES window)
      target_link_libraries(msdbg_pch_${kind} PRIVATE msdbg_dep::qt_widgets)
    endif()
    if(kind MATCHES test)
      target_link_libraries(msdbg_pch_${kind} PRIVATE msdbg_dep::catch2)
    endif()
    target_precompile_headers(msdbg_pch_${kind} PRIVATE ${MSDBG_PCH_${kind}})
    target_compile_options(msdbg_pch_${kind} PRIVATE -fpch-preprocess) # for ccache
    get_target_property(launcher msdbg_pch_${kind} CXX_COMPILER_LAUNCHER)
    if(launcher)
      set_target_properties(msdbg_pch_${kind} PROPERTIES
        CXX_COMPILER_LAUNCHER "${CMAKE_SOURCE_DIR}/cmake/compile_pch.sh;${launcher}")
    endif()
  endif()
  target_compile_options(${target} PRIVATE -fpch-preprocess)
  if(kind MATCHES test) # with a precompiled header GCC 12 takes the standard library's own lines for ours
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overread)
  endif()
  target_precompile_headers(${target} REUSE_FROM msdbg_pch_${kind})
endfunction()

# A module: one static library, includes from the repository root. Its CMakeLists.txt (or those of its subfolders)
# adds the sources: target_sources(NAME PRIVATE a.cpp b.cpp). PRECOMPILED: std unless it is given.
function(msdbg_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" PRECOMPILED "")
  add_library(${name} STATIC "${MSDBG_GENERATED_DIR}/empty.cpp") # a module may have no sources yet
  set_source_files_properties("${MSDBG_GENERATED_DIR}/empty.cpp" PROPERTIES SKIP_AUTOGEN ON)
  msdbg_configure_target(${name})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name}
    PUBLIC "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>"
    PRIVATE "${MSDBG_GENERATED_DIR}")
  msdbg_precompile(${name} ${arg_PRECOMPILED})
endfunction()

# A program; OUTPUT_DIR is relative to the build folder (bin, tests).
function(msdbg_add_executable name outputDir)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" PRECOMPILED "")
  add_executable(${name})
  msdbg_configure_target(${name})
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}" "${MSDBG_GENERATED_DIR}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/${outputDir}")
  msdbg_precompile(${name} ${arg_PRECOMPILED})
endfunction()

# A filter plugin that any HDF5 program loads through HDF5_PLUGIN_PATH. It must not link libhdf5: two copies of that
# library in one process break it. Lies in lib/msdbg/hdf5_plugin, beside bin/, in the build folder as when installed.
function(msdbg_add_hdf5_plugin name)
  add_library(${name} MODULE ${ARGN})
  msdbg_configure_target(${name})
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE msdbg_dep::hdf5_headers msdbg_dep::zstd)
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib/msdbg/hdf5_plugin")
  install(TARGETS ${name} LIBRARY DESTINATION lib/msdbg/hdf5_plugin)
endfunction()

# add_subdirectory for each of the folders.
function(msdbg_add_folders)
  foreach(folder IN LISTS ARGN)
    add_subdirectory(${folder})
  endforeach()
endfunction()
