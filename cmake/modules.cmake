# How every library, program and plugin of msdbg is compiled.

# ccache where present: a clean checkout then builds again in a fraction of the time.
find_program(MSDBG_CCACHE ccache)
mark_as_advanced(MSDBG_CCACHE)

set(MSDBG_GENERATED_DIR "${CMAKE_BINARY_DIR}/generated")
if(NOT EXISTS "${MSDBG_GENERATED_DIR}/empty.cpp")
  file(WRITE "${MSDBG_GENERATED_DIR}/empty.cpp" "")
endif()

# The compile options of a target of ours. Determinism first (DESIGN.md): no contraction to fused multiply-add, no
# reassociation (so -O2 and -O3 give the same bits); errno and trap handling are dropped, neither changes a value.
# __FILE__ and std::source_location give paths from the repository root: core_engine/models/alexnet.cpp.
function(msdbg_configure_target target)
  set_target_properties(${target} PROPERTIES
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wshadow -Wnon-virtual-dtor
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> # GCC 12 at -O3 sees overlaps in std::string that are not there (GCC PR 105651)
    -ffp-contract=off -fno-math-errno -fno-trapping-math
    "-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=")
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
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${MSDBG_CCACHE}")
  endif()
endfunction()

# A module: one static library, includes from the repository root. Its CMakeLists.txt (or those of its subfolders)
# adds the sources: target_sources(NAME PRIVATE a.cpp b.cpp).
function(msdbg_add_library name)
  add_library(${name} STATIC "${MSDBG_GENERATED_DIR}/empty.cpp") # a module may have no sources yet
  set_source_files_properties("${MSDBG_GENERATED_DIR}/empty.cpp" PROPERTIES SKIP_AUTOGEN ON)
  msdbg_configure_target(${name})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name}
    PUBLIC "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>"
    PRIVATE "${MSDBG_GENERATED_DIR}")
endfunction()

# A program; OUTPUT_DIR is relative to the build folder (bin, tests).
function(msdbg_add_executable name outputDir)
  add_executable(${name})
  msdbg_configure_target(${name})
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}" "${MSDBG_GENERATED_DIR}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/${outputDir}")
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

# add_subdirectory for those of the folders that have a CMakeLists.txt.
function(msdbg_add_folders)
  foreach(folder IN LISTS ARGN)
    if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt")
      add_subdirectory(${folder})
    endif()
  endforeach()
endfunction()
